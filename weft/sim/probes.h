// Functions by which a program reports to the simulation that it runs in, and asks it. Also for
// shipped code: they need libweft alone, and on the real machine they cost a branch and do nothing.
#pragma once

#include <cstdint>
#include <source_location>

#include "weft/base/env.h"

namespace weft::sim {

// Coverage: something that should happen in some runs, though not in all: a retry, a full queue, a
// cache miss. The tool and the macro of gtest.h report what never happened in a whole campaign,
// because then the scenario does not test what it seems to. `name` is a literal.
//
//     sim::sometimes(queue.is_full(), "the queue was full");
inline void sometimes(bool condition, const char* name) {
    if (Env* simulated = env::current()) [[unlikely]]
        simulated->sometimes(condition, name);
}

// True now and then, at places in the source that the seed has switched on: there the program does
// what is allowed but rare. False on the real machine, and where Faults::buggify is off.
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
