// The tool that makes the snapshot is linked without one.
    .section .rodata
    .global weft_snapshot_begin
    .global weft_snapshot_end
weft_snapshot_begin:
weft_snapshot_end:
    .section .note.GNU-stack,"",@progbits
