// The switch between two stacks: pushes the callee-saved registers on the present stack, stores the
// stack pointer to *save, and goes on where `to` was left.
#pragma once

namespace weft {

// The registers of a context that was left, on top of its stack, lowest address first.
struct SavedRegisters {
#if defined(__x86_64__)
    void *rip, *rbp;
#elif defined(__aarch64__)
    void *x19, *x20, *x21, *x22, *x23, *x24, *x25, *x26, *x27, *x28, *x29, *x30;
    double d[8];
#elif defined(__riscv) && __riscv_xlen == 64
    void *ra, *s[12], *padding;
    double fs[12];
#endif
};

}  // namespace weft

// Where a prepared context starts: calls the entry that SavedContext::prepare() left there.
extern "C" void weft_context_start();

#if defined(__x86_64__) && !defined(WEFT_UCONTEXT)

// Inline, with a jump in place of a call and a return: the return predictor stays in step with the
// frames, and the compiler saves only the registers that are live. Every register is a clobber; rbp
// cannot be one and is saved by hand. The caller must not be a leaf function (red zone).
[[gnu::always_inline]] inline void weft_context_switch(void** save, void* to) {
    asm volatile(
        "pushq %%rbp\n\t"
        "leaq 1f(%%rip), %%rax\n\t"
        "pushq %%rax\n\t"
        "movq %%rsp, (%%rdi)\n\t"
        "movq %%rsi, %%rsp\n\t"
        "popq %%rax\n\t"
        "popq %%rbp\n\t"
        "jmp *%%rax\n"
        "1:\n\t"
        "endbr64"
        : "+D"(save), "+S"(to)
        :
        : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
          "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
          "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

#else

extern "C" void weft_context_switch(void** save, void* to);

#endif
