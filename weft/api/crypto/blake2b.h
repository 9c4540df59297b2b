// BLAKE2b of RFC 7693 without a key, for digests of 1 to 64 bytes; OpenSSL offers 64 bytes only. A
// value for one thread: add() any number of times, then finish() once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

class Blake2b {
public:
    explicit Blake2b(std::size_t length_bytes);
    ~Blake2b();
    Blake2b(const Blake2b&) = delete;
    Blake2b& operator=(const Blake2b&) = delete;

    void add(Bytes data);
    Octets finish();

private:
    static constexpr std::size_t kBlockBytes = 128;

    void compress(bool is_last);

    std::array<std::uint64_t, 8> state_;
    std::array<std::byte, kBlockBytes> block_ = {};
    std::size_t held_ = 0;
    std::uint64_t count_ = 0;  // bytes hashed so far, of the complete blocks
    std::size_t length_bytes_;
};

}  // namespace weft::crypto
