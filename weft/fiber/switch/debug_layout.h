// For debuggers: where the fibers of the process are, and the layout of a block in memory.
//
// The script for gdb (tools/gdb) finds weft_debug_layout by its name and needs nothing else: no
// debug information of the library, and no running process. Whoever changes the order of the
// members increases `version`.
#pragma once

#include <cstdint>

namespace weft {

// A name for each WaitReason, of fixed size so that a debugger needs no pointers.
inline constexpr unsigned kReasonNameBytes = 16;
extern const char kWaitReasonNames[][kReasonNameBytes];

struct DebugLayout {
    std::uint32_t version;
    std::uint32_t fiber_bytes;
    // The slab: chunks, from the newest to the oldest.
    std::uint32_t chunk_older;
    std::uint32_t chunk_used;
    std::uint32_t chunk_begin;
    // Offsets in a fiber's block.
    std::uint32_t word;
    std::uint32_t reason;
    std::uint32_t object;
    std::uint32_t busy;
    std::uint32_t scheduler;  // null: the block is free
    std::uint32_t context;    // the saved stack pointer
    std::uint32_t stack;
    std::uint32_t stack_bottom;  // in the stack's header
    std::uint32_t extra;         // the address of the locals; or that of the label or null, with
    std::uint32_t labelled;      // this bit
    std::uint32_t name;          // in the locals: a std::string
    std::uint32_t label;         // in the locals: the address of the label, an address and a count
    // Of the word.
    std::uint32_t state_mask;
    std::uint32_t waiting_first;
    std::uint32_t waiting_last;
    const void* newest_chunk;  // where the pointer to it is
    const char (*reasons)[kReasonNameBytes];
    std::uint64_t reason_count;
};

}  // namespace weft

extern "C" const weft::DebugLayout weft_debug_layout;
