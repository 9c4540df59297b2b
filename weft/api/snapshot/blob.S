// The start-up snapshot as a part of the library.
    .section .rodata
    .global weft_snapshot_begin
    .global weft_snapshot_end
    .balign 16
weft_snapshot_begin:
    .incbin WEFT_SNAPSHOT
weft_snapshot_end:
    .section .note.GNU-stack,"",@progbits
