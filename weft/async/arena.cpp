#include "weft/async/arena.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <utility>

#include "weft/base/assert.h"

namespace weft::async {

struct Arena::Chunk {
    Chunk* next;
    std::size_t bytes;  // with this header
};

namespace {

constexpr std::size_t kChunkBytesMin = 2 * 1024;
constexpr std::size_t kChunkBytesMax = 64 * 1024;

}  // namespace

// Lock held. Null when what is left of the chunk is too small.
void* Arena::take(std::size_t bytes, std::size_t alignment) {
    WEFT_DASSERT(lock_.is_locked());
    WEFT_DASSERT(std::has_single_bit(alignment), "an alignment is a power of two");
    auto address = reinterpret_cast<std::uintptr_t>(free_);
    std::size_t padding = (alignment - address % alignment) % alignment;
    auto room = static_cast<std::size_t>(end_ - free_);
    if (!free_ || padding > room || bytes > room - padding) return nullptr;
    void* taken = free_ + padding;
    free_ += padding + bytes;
    WEFT_DASSERT(free_ <= end_, "an object would reach beyond its chunk");
    return taken;
}

// Lock held.
void Arena::add(Chunk& chunk) {
    WEFT_DASSERT(lock_.is_locked());
    WEFT_DASSERT(chunk.bytes > sizeof(Chunk), "a chunk has room behind its header");
    chunk.next = chunks_;
    chunks_ = &chunk;
    reserved_bytes_ += chunk.bytes;
    free_ = reinterpret_cast<std::byte*>(&chunk) + sizeof(Chunk);
    end_ = reinterpret_cast<std::byte*>(&chunk) + chunk.bytes;
}

void* Arena::do_allocate(std::size_t bytes, std::size_t alignment) {
    std::size_t chunk_bytes = 0;
    {
        SpinGuard guard(lock_);
        if (void* taken = take(bytes, alignment)) return taken;
        // As large as all chunks together, so that a large arena has few of them.
        chunk_bytes = std::clamp(reserved_bytes_, kChunkBytesMin, kChunkBytesMax);
    }
    std::size_t needed = 0;
    if (__builtin_add_overflow(bytes, sizeof(Chunk) + alignment, &needed)) needed = SIZE_MAX;
    chunk_bytes = std::max(chunk_bytes, needed);
    // Without the lock: the allocation may take long.
    auto* chunk = static_cast<Chunk*>(::operator new(chunk_bytes));
    chunk->bytes = chunk_bytes;
    SpinGuard guard(lock_);
    add(*chunk);
    void* taken = take(bytes, alignment);
    WEFT_ASSERT(taken, "a new chunk has room for the object that it was made for");
    return taken;
}

void Arena::release() noexcept {
    Chunk* chunk = chunks_;
    chunks_ = nullptr;
    free_ = end_ = nullptr;
    std::size_t reserved = std::exchange(reserved_bytes_, 0);
    while (Chunk* freed = chunk) {
        chunk = freed->next;
        WEFT_ASSERT(freed->bytes <= reserved, "the chunks are those that were counted");
        reserved -= freed->bytes;
        ::operator delete(freed, freed->bytes);
    }
    WEFT_ASSERT(reserved == 0, "the chunks are those that were counted");
}

std::size_t Arena::reserved_bytes() const {
    SpinGuard guard(lock_);
    return reserved_bytes_;
}

}  // namespace weft::async
