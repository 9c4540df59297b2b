// System V x86_64: where a prepared context starts. The switch itself is in context_switch.h.
#if defined(__x86_64__) && !defined(WEFT_UCONTEXT)

// On the stack: the entry, its argument, and then an aligned top. A jump instead of a call, so
// that the return predictor holds nothing of a fiber that never returns; the null return address
// ends the chain of frames.
    .text
    .globl weft_context_start
    .type weft_context_start, @function
    .p2align 4
weft_context_start:
    .cfi_startproc
    .cfi_undefined rip
    endbr64
    popq %rax
    popq %rdi
    xorl %ebp, %ebp
    pushq $0
    jmp *%rax
    .cfi_endproc
    .size weft_context_start, . - weft_context_start

#endif

    .section .note.GNU-stack, "", %progbits
