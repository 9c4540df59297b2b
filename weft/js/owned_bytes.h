// OwnedBytes: memory that becomes an ArrayBuffer. It is not initialized; the part that was not
// filled is returned by shrink(). A value with one owner; any thread.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "weft/base/assert.h"
#include "weft/base/bytes.h"

namespace weft::js {

class OwnedBytes {
public:
    explicit OwnedBytes(std::size_t size)
        : memory_(static_cast<std::byte*>(std::malloc(size > 0 ? size : 1))), size_(size) {
        WEFT_ASSERT(memory_ != nullptr, "there is memory for what was read");
    }

    ByteSpace space() {
        WEFT_DASSERT(memory_, "the memory was released or moved");
        return {memory_.get(), size_};
    }
    std::size_t size() const { return size_; }
    // Frees what lies beyond `size`, which is at most size().
    void shrink(std::size_t size) {
        WEFT_ASSERT(size <= size_, "shrink() does not grow");
        WEFT_DASSERT(memory_, "the memory was released or moved");
        size_ = size;
        void* smaller = size > 0 ? std::realloc(memory_.get(), size) : nullptr;
        if (!smaller) return;
        static_cast<void>(memory_.release());
        memory_.reset(static_cast<std::byte*>(smaller));
    }
    // The caller frees the memory with std::free(). Afterwards only destruction is allowed.
    std::byte* release() {
        WEFT_ASSERT(memory_, "the memory has been released already");
        return memory_.release();
    }

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::size_t size_;
};

}  // namespace weft::js
