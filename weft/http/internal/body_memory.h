// BodyMemory: bounds how much memory the bodies of all requests of a server hold together. Any
// thread.
#pragma once

#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"

namespace weft::http {

class BodyMemory {
public:
    // A body takes its memory in such parts. Its first bytes are not counted, so that small bodies
    // do not write the shared counter.
    static constexpr std::uint64_t kPartBytes = 64 * 1024;
    static constexpr std::uint64_t kUncountedBytes = 16 * 1024;

    explicit constexpr BodyMemory(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

    std::uint64_t bytes_max() const { return bytes_max_; }
    std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }

    // Relaxed, both: a bound; nothing is read through it.
    bool take_part() {
        if (taken_.fetch_add(kPartBytes, std::memory_order_relaxed) + kPartBytes <= bytes_max_)
            return true;
        give_back(kPartBytes);
        return false;
    }
    void give_back(std::uint64_t bytes) {
        std::uint64_t before = taken_.fetch_sub(bytes, std::memory_order_relaxed);
        WEFT_ASSERT(before >= bytes, "what is given back was taken");
    }

private:
    const std::uint64_t bytes_max_;
    Atomic<std::uint64_t> taken_{0};
};

}  // namespace weft::http
