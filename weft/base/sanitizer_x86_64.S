// weft_report_acquire(address), weft_report_release(address) call the thread sanitizer's functions
// and preserve every register. Few processes have that sanitizer; because these calls change no
// register, the compiler keeps values in registers across them.
#if defined(__x86_64__) && !defined(__ILP32__) && defined(__ELF__)

    .macro  report name, function
    .weak   \function
    .globl  \name
    .type   \name, @function
\name:
    .cfi_startproc
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq   %rax
    pushq   %rcx
    pushq   %rdx
    pushq   %rsi
    pushq   %rdi
    pushq   %r8
    pushq   %r9
    pushq   %r10
    pushq   %r11
    subq    $(16 * 16), %rsp
    andq    $-16, %rsp
    .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps  %xmm\n, (16 * \n)(%rsp)
    .endr
    call    *\function@GOTPCREL(%rip)
    .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps  (16 * \n)(%rsp), %xmm\n
    .endr
    movq    -72(%rbp), %r11
    movq    -64(%rbp), %r10
    movq    -56(%rbp), %r9
    movq    -48(%rbp), %r8
    movq    -40(%rbp), %rdi
    movq    -32(%rbp), %rsi
    movq    -24(%rbp), %rdx
    movq    -16(%rbp), %rcx
    movq    -8(%rbp), %rax
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size   \name, . - \name
    .endm

    .text
    report  weft_report_acquire, __tsan_acquire
    report  weft_report_release, __tsan_release

#endif
    .section .note.GNU-stack, "", %progbits
