// ReadBuffer: the bytes that a connection has received and that are not consumed yet.
//
// Bytes are added at the back and consumed at the front. While a head is held, its bytes stay where
// they are, because the views of a request point to them; what is received later goes behind it, or
// into new memory. Owned by one fiber or loop at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/base/bytes.h"
#include "weft/http/limits.h"

namespace weft::http {

class ReadBuffer {
public:
    std::string_view view() const { return {begin(), end_ - begin_}; }
    bool empty() const { return begin_ == end_; }
    void consume(std::size_t count) {
        WEFT_DASSERT(count <= end_ - begin_, "what is consumed was received");
        begin_ += count;
    }
    // Makes the bytes that were consumed last unread again. Only if space() was not called since.
    void give_back(std::size_t count) {
        WEFT_ASSERT(count <= begin_, "what is given back was consumed");
        begin_ -= count;
    }

    // Where the next bytes go: room for at least one. Unread bytes may be moved to the front, or
    // into larger memory. Empty without memory.
    ByteSpace space();
    void filled(std::size_t count) {
        WEFT_DASSERT(count <= capacity_ - end_, "a stream gives no more than there is room for");
        end_ += count;
    }

    // What was consumed so far stays where it is until release().
    void hold() {
        is_held_ = true;
        held_end_ = begin_;
    }
    void release() {
        is_held_ = false;
        held_end_ = 0;
        if (held_memory_) held_memory_.reset();
    }
    void clear();

private:
    const char* begin() const { return memory_.get() + begin_; }
    bool move_to(std::size_t capacity);

    std::unique_ptr<char[]> memory_;
    std::unique_ptr<char[]> held_memory_;
    std::size_t capacity_ = 0;
    std::size_t held_end_ = 0;  // the bytes before it are held
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    bool is_held_ = false;
};

}  // namespace weft::http
