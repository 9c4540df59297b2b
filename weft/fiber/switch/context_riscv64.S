// LP64D: ra, s0-s11 and fs0-fs11 belong to the callee.
#if defined(__riscv) && __riscv_xlen == 64 && !defined(WEFT_UCONTEXT)

    .text
    .globl weft_context_switch
    .type weft_context_switch, @function
    .p2align 2
weft_context_switch:
    .cfi_startproc
    addi sp, sp, -208
    sd ra, 0(sp)
    sd s0, 8(sp)
    sd s1, 16(sp)
    sd s2, 24(sp)
    sd s3, 32(sp)
    sd s4, 40(sp)
    sd s5, 48(sp)
    sd s6, 56(sp)
    sd s7, 64(sp)
    sd s8, 72(sp)
    sd s9, 80(sp)
    sd s10, 88(sp)
    sd s11, 96(sp)
    fsd fs0, 112(sp)
    fsd fs1, 120(sp)
    fsd fs2, 128(sp)
    fsd fs3, 136(sp)
    fsd fs4, 144(sp)
    fsd fs5, 152(sp)
    fsd fs6, 160(sp)
    fsd fs7, 168(sp)
    fsd fs8, 176(sp)
    fsd fs9, 184(sp)
    fsd fs10, 192(sp)
    fsd fs11, 200(sp)
    sd sp, 0(a0)
    mv sp, a1
    ld ra, 0(sp)
    ld s0, 8(sp)
    ld s1, 16(sp)
    ld s2, 24(sp)
    ld s3, 32(sp)
    ld s4, 40(sp)
    ld s5, 48(sp)
    ld s6, 56(sp)
    ld s7, 64(sp)
    ld s8, 72(sp)
    ld s9, 80(sp)
    ld s10, 88(sp)
    ld s11, 96(sp)
    fld fs0, 112(sp)
    fld fs1, 120(sp)
    fld fs2, 128(sp)
    fld fs3, 136(sp)
    fld fs4, 144(sp)
    fld fs5, 152(sp)
    fld fs6, 160(sp)
    fld fs7, 168(sp)
    fld fs8, 176(sp)
    fld fs9, 184(sp)
    fld fs10, 192(sp)
    fld fs11, 200(sp)
    addi sp, sp, 208
    jr ra
    .cfi_endproc
    .size weft_context_switch, . - weft_context_switch

// s1 = argument, s2 = entry. The chain of frames ends here.
    .globl weft_context_start
    .type weft_context_start, @function
    .p2align 2
weft_context_start:
    .cfi_startproc
    .cfi_undefined ra
    li s0, 0
    mv a0, s1
    jalr s2
    ebreak
    .cfi_endproc
    .size weft_context_start, . - weft_context_start

#endif

    .section .note.GNU-stack, "", %progbits
