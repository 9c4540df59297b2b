// Arena: memory that is freed all at once.
//
//     std::pmr::vector<Row> rows(&arena);
//
// Allocation advances a pointer; deallocation of a single object does nothing. It is a
// memory_resource, so the containers of std::pmr can use it. It runs no destructors; Scope::make()
// registers them. Allocation: any fiber, any thread. release() and the destructor: one fiber or
// thread, when nothing in the arena is used any more.
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

    // Frees everything. The arena can be used again.
    void release() noexcept;
    // The memory that it has allocated from the system.
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
    std::byte* free_ = nullptr;  // to end_: what is left of the newest chunk
    std::byte* end_ = nullptr;
    Chunk* chunks_ = nullptr;  // newest first
    std::size_t reserved_bytes_ = 0;
};

}  // namespace weft::async
