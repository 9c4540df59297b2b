// What a run did, for people: each operation of a fiber or thread with its object, its value where
// that is short, and the line of the program that asked for it; in between, who took over and what
// failed. Kept only where somebody is going to read it. Owning thread only.
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
    // `operation` is "kind.verb"; called by whoever does it.
    void tell_operation(std::uint64_t step, std::string_view thread, const char* operation,
                        const void* object, std::string_view value);
    // The fiber parks.
    void tell_wait(std::uint64_t step, std::string_view thread, std::string_view reason);
    // Of the operation that comes next.
    void keep_value(std::string_view text) { value_ = text; }
    std::string take_value() { return std::exchange(value_, {}); }
    // The running thread was interrupted for another.
    void tell_preemption(std::uint64_t step, std::string_view thread, std::string_view next);
    void tell_event(std::uint64_t step, std::string_view thread, std::string_view event);

    // Outside a simulation: it reads the program's symbols.
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
    // Numbers in the order of their first appearance: addresses would differ from run to run.
    std::map<std::pair<const void*, std::uint64_t>, unsigned> fibers_;
    std::map<std::pair<std::string, const void*>, unsigned> objects_;
    std::map<std::string, unsigned> counts_;
};

// Of the calling function, innermost first, each inside the call that it stands for.
std::vector<std::uintptr_t> frames_here();

// The first place in `frames` (texts of symbols::describe, innermost first) that is neither Weft's
// own nor the standard library's; empty if there is none. With their addresses, where known, it is
// certain what belongs to a shared library of Weft.
std::string place_in_program(std::span<const std::string> frames,
                             std::span<const std::uintptr_t> addresses = {});

// A line for each fiber of the machine that runs; with backtraces also where in the program it is.
std::string describe_fibers(Backtraces backtraces);

}  // namespace weft::sim
