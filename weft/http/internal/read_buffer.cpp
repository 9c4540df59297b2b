#include "weft/http/internal/read_buffer.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"

namespace weft::http {
namespace {

// With less room than this behind a held head the unread bytes are moved, because a read of so few
// bytes is not worth a system call.
constexpr std::size_t kRoomMin = 2 * 1024;

}  // namespace

ByteSpace ReadBuffer::space() {
    WEFT_DASSERT(held_end_ <= begin_ && begin_ <= end_ && end_ <= capacity_);
    if (begin_ == end_) begin_ = end_ = held_end_;
    std::size_t wanted = is_held_ ? kRoomMin : 1;
    if (capacity_ - end_ < wanted && begin_ > held_end_) {
        std::memmove(memory_.get() + held_end_, begin(), end_ - begin_);
        end_ -= begin_ - held_end_;
        begin_ = held_end_;
    }
    if (capacity_ - end_ < wanted) {
        std::size_t unread = end_ - begin_;
        std::size_t capacity = std::max(kReadBufferBytes, unread + unread);
        if (!move_to(capacity)) return {};
    }
    WEFT_DASSERT(end_ < capacity_, "there is room for at least one byte");
    return {reinterpret_cast<std::byte*>(memory_.get()) + end_, capacity_ - end_};
}

bool ReadBuffer::move_to(std::size_t capacity) {
    if (env::fails(Allocation::Buffer)) return false;
    // tidy: allow new: memory that is not there is an error here, not an exception
    std::unique_ptr<char[]> memory(new (std::nothrow) char[capacity]);
    if (!memory) return false;
    std::size_t unread = end_ - begin_;
    WEFT_ASSERT(unread < capacity, "the new memory has room for more");
    if (unread) std::memcpy(memory.get(), begin(), unread);
    memory_.swap(memory);
    // The first memory that is replaced has the head in it.
    if (is_held_ && !held_memory_) held_memory_ = std::move(memory);
    capacity_ = capacity;
    held_end_ = begin_ = 0;
    end_ = unread;
    return true;
}

void ReadBuffer::clear() {
    release();
    begin_ = end_ = 0;
    // Memory that had to grow is not kept for the next connection.
    if (capacity_ > kReadBufferBytes) {
        memory_.reset();
        capacity_ = 0;
    }
}

}  // namespace weft::http
