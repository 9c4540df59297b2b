// Arena: memory that is given back all at once.
//
//     std::pmr::vector<Row> rows(&arena);
//
// Allocating moves a pointer; freeing a single piece does nothing. It is a memory_resource, so
// the containers of std::pmr live in it. It runs no destructors: Scope::make() sees to those.
// Allocating: any fiber, any thread. release(): one, when nobody uses what lies in here.
#pragma once

#include <cstddef>
#include <memory_resource>

#include "weft/base/spin_lock.h"

namespace weft::async {

class Arena final : public std::pmr::memory_resource {
public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() override { release(); }

    // Gives everything back. The arena can be used again.
    void release() noexcept;
    // What it holds of the system's memory.
    std::size_t reserved_bytes() const;

private:
    struct Chunk;

    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    void* take(std::size_t bytes, std::size_t alignment);
    void add(Chunk& chunk);

    mutable SpinLock lock_;
    std::byte* free_ = nullptr;  // the rest of the newest shared chunk
    std::byte* end_ = nullptr;
    Chunk* chunks_ = nullptr;  // newest first
    std::size_t reserved_bytes_ = 0;
};

}  // namespace weft::async
