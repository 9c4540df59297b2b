// What a program tells the simulation that it runs in, and what it asks. In shipped code too: it
// needs libweft alone, and costs a branch on the real machine, where nothing follows from it.
#pragma once

#include <cstdint>
#include <source_location>

#include "weft/base/env.h"

namespace weft::sim {

// Coverage: something that should happen in some runs, though not in all: a retry, a full queue, a
// cache that is missed. The tool and the macro of gtest.h name those that never happened in a whole
// campaign, for then the scenario does not test what it seems to. `name` is a literal.
//
//     sim::sometimes(queue.is_full(), "the queue was full");
inline void sometimes(bool condition, const char* name) {
    if (Env* simulated = env::current()) [[unlikely]]
        simulated->sometimes(condition, name);
}

// True now and then, at places that the seed has switched on: where the program may do what is
// allowed but rare. False on the real machine, and where Faults::buggify is off.
//
//     if (sim::buggify()) batch_size = 1;
inline bool buggify(std::source_location here = std::source_location::current()) {
    Env* simulated = env::current();
    if (!simulated) [[likely]]
        return false;
    std::uint64_t site = here.line() * 0x9e3779b97f4a7c15U;
    // The name of the file, without the folders that lead to it.
    for (const char* c = here.file_name(); *c; ++c) site = *c == '/' ? here.line() : site * 31 + *c;
    return simulated->buggify(site);
}

}  // namespace weft::sim
