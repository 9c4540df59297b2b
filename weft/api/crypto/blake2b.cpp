#include "weft/api/crypto/blake2b.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <bit>

#include "weft/base/assert.h"

namespace weft::crypto {
namespace {

// §2.6 and §2.7
constexpr std::array<std::uint64_t, 8> kStart = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};
constexpr unsigned char kOrder[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

}  // namespace

Blake2b::Blake2b(std::size_t length_bytes) : state_(kStart), length_bytes_(length_bytes) {
    WEFT_ASSERT(length_bytes >= 1 && length_bytes <= sizeof state_, "§2.1: 1 to 64 bytes");
    state_[0] ^= 0x01010000 ^ length_bytes;
}

Blake2b::~Blake2b() {
    OPENSSL_cleanse(state_.data(), sizeof state_);
    OPENSSL_cleanse(block_.data(), sizeof block_);
}

void Blake2b::add(Bytes data) {
    while (!data.empty()) {
        // A complete block is kept until more data shows that it is not the last one.
        if (held_ == kBlockBytes) {
            count_ += kBlockBytes;
            compress(false);
            held_ = 0;
        }
        Bytes part = data.first(std::min(data.size(), kBlockBytes - held_));
        std::ranges::copy(part, block_.begin() + static_cast<std::ptrdiff_t>(held_));
        held_ += part.size();
        WEFT_DASSERT(held_ <= kBlockBytes, "a block is compressed before it overflows");
        data = data.subspan(part.size());
    }
}

Octets Blake2b::finish() {
    count_ += held_;
    std::fill(block_.begin() + static_cast<std::ptrdiff_t>(held_), block_.end(), std::byte{0});
    compress(true);
    Octets out(length_bytes_);
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::byte>(state_[i / 8] >> (8 * (i % 8)));
    return out;
}

// §3.1 and §3.2
void Blake2b::compress(bool is_last) {
    std::array<std::uint64_t, 16> words = {};
    for (std::size_t i = 0; i < kBlockBytes; ++i)
        words[i / 8] |= std::to_integer<std::uint64_t>(block_[i]) << (8 * (i % 8));
    std::array<std::uint64_t, 16> v;
    std::ranges::copy(state_, v.begin());
    std::ranges::copy(kStart, v.begin() + 8);
    v[12] ^= count_;
    if (is_last) v[14] = ~v[14];
    auto mix = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d, std::uint64_t x,
                   std::uint64_t y) {
        v[a] += v[b] + x;
        v[d] = std::rotr(v[d] ^ v[a], 32);
        v[c] += v[d];
        v[b] = std::rotr(v[b] ^ v[c], 24);
        v[a] += v[b] + y;
        v[d] = std::rotr(v[d] ^ v[a], 16);
        v[c] += v[d];
        v[b] = std::rotr(v[b] ^ v[c], 63);
    };
    for (std::size_t round = 0; round < 12; ++round) {
        const auto& order = kOrder[round % 10];
        for (std::size_t i = 0; i < 4; ++i)
            mix(i, i + 4, i + 8, i + 12, words[order[2 * i]], words[order[2 * i + 1]]);
        for (std::size_t i = 0; i < 4; ++i)
            mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, words[order[8 + 2 * i]],
                words[order[9 + 2 * i]]);
    }
    for (std::size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
    OPENSSL_cleanse(words.data(), sizeof words);
    OPENSSL_cleanse(v.data(), sizeof v);
}

}  // namespace weft::crypto
