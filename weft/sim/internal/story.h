// The story of a run, for people to read: each operation of a fiber or thread with its object, its
// value if that is short, and the line of the program that called it; in between, which thread took
// over and what failed. Recorded only on request (Options::tell_story). Owning thread only.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/fiber/report/dump.h"

namespace weft::sim {

class Story {
public:
    // `operation` is "kind.verb"; called by the thread or fiber that performs it.
    void add_operation(std::uint64_t step, std::string_view thread, const char* operation,
                       const void* object, std::string_view value);
    // The fiber parks.
    void add_wait(std::uint64_t step, std::string_view thread, std::string_view reason);
    // The value of the operation that is recorded next.
    void keep_value(std::string_view text) { value_ = text; }
    std::string take_value() { return std::exchange(value_, {}); }
    // The running thread was interrupted for another.
    void add_preemption(std::uint64_t step, std::string_view thread, std::string_view next);
    void add_event(std::uint64_t step, std::string_view thread, std::string_view event);

    // Called outside a simulation, because it reads the program's symbols.
    std::vector<std::string> lines() const;

private:
    struct Entry {
        std::uint64_t step = 0;
        std::string who;
        std::string what;
        std::vector<std::uintptr_t> frames;  // innermost first
    };

    std::string who(std::string_view thread);
    std::string name_of(std::string_view kind, const void* object);

    std::vector<Entry> entries_;
    std::string value_;
    // Fibers and objects are numbered in the order of their first appearance: addresses would
    // differ from run to run.
    std::map<std::pair<const void*, std::uint64_t>, unsigned> fibers_;
    std::map<std::pair<std::string, const void*>, unsigned> objects_;
    std::map<std::string, unsigned> counts_;
};

// The addresses of the calling function's frames, innermost first, each within its call
// instruction.
std::vector<std::uintptr_t> frames_here();

// The first place in `frames` (texts of symbols::describe, innermost first) that is neither Weft's
// nor the standard library's; empty if there is none. Given their addresses as well, it tells for
// certain which frames are in a shared library of Weft.
std::string place_in_program(std::span<const std::string> frames,
                             std::span<const std::uintptr_t> addresses = {});

// A line for each fiber of the running machine; with backtraces also its place in the program.
std::string describe_fibers(Backtraces backtraces);

}  // namespace weft::sim
