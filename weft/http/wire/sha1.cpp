#include "weft/http/wire/sha1.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace weft::http::wire {
namespace {

constexpr std::size_t kBlockBytes = 64;
using State = std::array<std::uint32_t, 5>;

std::uint32_t big_endian(const std::byte* bytes) {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) word = word << 8 | std::to_integer<std::uint32_t>(bytes[i]);
    return word;
}

// FIPS 180-4 §6.1.2.
void add_block(State& state, const std::byte* block) {
    std::array<std::uint32_t, 80> w;
    for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(block + 4 * t);
    for (std::size_t t = 16; t < 80; ++t) {
        w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    }
    auto [a, b, c, d, e] = state;
    for (std::size_t t = 0; t < 80; ++t) {
        std::uint32_t f = 0;
        if (t < 20) {
            f = ((b & c) | (~b & d)) + 0x5a827999;
        } else if (t < 40) {
            f = (b ^ c ^ d) + 0x6ed9eba1;
        } else if (t < 60) {
            f = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
        } else {
            f = (b ^ c ^ d) + 0xca62c1d6;
        }
        std::uint32_t next = std::rotl(a, 5) + f + e + w[t];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

std::array<std::byte, 20> sha1(Bytes bytes) {
    State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
    for (; bytes.size() >= kBlockBytes; bytes = bytes.subspan(kBlockBytes)) {
        add_block(state, bytes.data());
    }
    // FIPS 180-4 §5.1.1: a one bit, zeros, and the length in the last 64 bits of a block.
    std::array<std::byte, 2 * kBlockBytes> tail{};
    if (!bytes.empty()) std::memcpy(tail.data(), bytes.data(), bytes.size());
    tail[bytes.size()] = std::byte{0x80};
    std::size_t tail_bytes = bytes.size() + 9 <= kBlockBytes ? kBlockBytes : 2 * kBlockBytes;
    for (std::size_t i = 1; i <= 8; ++i, bits >>= 8) {
        tail[tail_bytes - i] = static_cast<std::byte>(bits);
    }
    for (std::size_t i = 0; i < tail_bytes; i += kBlockBytes) add_block(state, tail.data() + i);

    std::array<std::byte, 20> digest;
    for (std::size_t i = 0; i < digest.size(); ++i) {
        digest[i] = static_cast<std::byte>(state[i / 4] >> (24 - 8 * (i % 4)));
    }
    return digest;
}

}  // namespace weft::http::wire
