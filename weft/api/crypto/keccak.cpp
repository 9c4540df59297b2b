#include "weft/api/crypto/keccak.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace weft::crypto {
namespace {

constexpr std::size_t kLanes = 25;
constexpr std::size_t kLaneBytes = 8;
constexpr int kAllRounds = 24;
constexpr int kTurboRounds = 12;

// FIPS 202 §3.2.5, Algorithm 5.
constexpr std::uint64_t kRoundConstants[kAllRounds] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

// §3.2.2 and §3.2.3: the lanes in the order in which rho and pi together walk them.
struct Step {
    std::size_t lane;
    int rotation;
};
constexpr Step kWalk[] = {
    {10, 1},  {7, 3},   {11, 6},  {17, 10}, {18, 15}, {3, 21},  {5, 28},  {16, 36},
    {8, 45},  {21, 55}, {24, 2},  {4, 14},  {15, 27}, {23, 41}, {19, 56}, {13, 8},
    {12, 25}, {2, 43},  {20, 62}, {14, 18}, {22, 39}, {9, 61},  {6, 20},  {1, 44},
};

class Sponge {
public:
    Sponge(Strength strength, int rounds)
        : rate_bytes_(strength == Strength::Bits128 ? 168 : 136), rounds_(rounds) {}
    ~Sponge() { OPENSSL_cleanse(lanes_, sizeof lanes_); }
    Sponge(const Sponge&) = delete;
    Sponge& operator=(const Sponge&) = delete;

    void absorb(Bytes data) {
        while (!data.empty()) {
            if (at_ % kLaneBytes == 0 && data.size() >= kLaneBytes) {
                lanes_[at_ / kLaneBytes] ^= lane_of(data);
                data = data.subspan(kLaneBytes);
                advance(kLaneBytes);
            } else {
                add(std::to_integer<unsigned char>(data.front()));
                data = data.subspan(1);
                advance(1);
            }
        }
    }

    // The byte holds the bits of the domain and the first one of the padding.
    void finish(unsigned char domain) {
        add(domain);
        lanes_[rate_bytes_ / kLaneBytes - 1] ^= std::uint64_t{0x80} << 56;
        permute();
        at_ = 0;
    }

    Octets squeeze(std::size_t length_bytes) {
        Octets out(length_bytes);
        for (std::byte& byte : out) {
            if (at_ == rate_bytes_) {
                permute();
                at_ = 0;
            }
            byte = static_cast<std::byte>(lanes_[at_ / kLaneBytes] >> (8 * (at_ % kLaneBytes)));
            ++at_;
        }
        return out;
    }

    [[nodiscard]] std::size_t rate_bytes() const { return rate_bytes_; }

private:
    static std::uint64_t lane_of(Bytes data) {
        std::uint64_t lane = 0;
        for (std::size_t at = kLaneBytes; at-- > 0;)
            lane = lane << 8 | std::to_integer<std::uint64_t>(data[at]);
        return lane;
    }

    void add(unsigned char byte) {
        lanes_[at_ / kLaneBytes] ^= std::uint64_t{byte} << (8 * (at_ % kLaneBytes));
    }

    void advance(std::size_t bytes) {
        at_ += bytes;
        if (at_ < rate_bytes_) return;
        permute();
        at_ = 0;
    }

    // RFC 9861 §2.1: fewer rounds are the last ones.
    void permute() {
        for (int round = kAllRounds - rounds_; round < kAllRounds; ++round) {
            std::uint64_t columns[5];
            for (std::size_t x = 0; x < 5; ++x)
                columns[x] =
                    lanes_[x] ^ lanes_[x + 5] ^ lanes_[x + 10] ^ lanes_[x + 15] ^ lanes_[x + 20];
            for (std::size_t x = 0; x < 5; ++x) {
                std::uint64_t mixed = columns[(x + 4) % 5] ^ std::rotl(columns[(x + 1) % 5], 1);
                for (std::size_t y = 0; y < kLanes; y += 5) lanes_[y + x] ^= mixed;
            }
            std::uint64_t carried = lanes_[1];
            for (const Step& step : kWalk)
                carried = std::exchange(lanes_[step.lane], std::rotl(carried, step.rotation));
            for (std::size_t y = 0; y < kLanes; y += 5) {
                std::copy_n(lanes_ + y, 5, columns);
                for (std::size_t x = 0; x < 5; ++x)
                    lanes_[y + x] ^= ~columns[(x + 1) % 5] & columns[(x + 2) % 5];
            }
            lanes_[0] ^= kRoundConstants[round];
        }
    }

    std::uint64_t lanes_[kLanes] = {};
    std::size_t rate_bytes_;
    std::size_t at_ = 0;
    int rounds_;
};

// Big-endian, without leading zeros.
Octets minimal(std::uint64_t number) {
    Octets bytes;
    for (; number != 0; number >>= 8) bytes.insert(bytes.begin(), static_cast<std::byte>(number));
    return bytes;
}

// ---- SP 800-185 §2.3

Octets encoded(std::uint64_t number) {
    Octets bytes = minimal(number);
    if (bytes.empty()) bytes.push_back(std::byte{0});
    return bytes;
}

Octets left_encode(std::uint64_t number) {
    Octets bytes = encoded(number);
    bytes.insert(bytes.begin(), static_cast<std::byte>(bytes.size()));
    return bytes;
}

Octets right_encode(std::uint64_t number) {
    Octets bytes = encoded(number);
    bytes.push_back(static_cast<std::byte>(bytes.size()));
    return bytes;
}

// bytepad of the strings, each encoded.
void absorb_padded(Sponge& sponge, std::initializer_list<Bytes> strings) {
    Octets head = left_encode(sponge.rate_bytes());
    std::size_t length = head.size();
    sponge.absorb(head);
    for (Bytes string : strings) {
        Octets prefix = left_encode(std::uint64_t{string.size()} * 8);
        sponge.absorb(prefix);
        sponge.absorb(string);
        length += prefix.size() + string.size();
    }
    std::size_t rest = length % sponge.rate_bytes();
    if (rest != 0) sponge.absorb(Octets(sponge.rate_bytes() - rest));
}

Octets squeeze_bits(Sponge& sponge, std::size_t bits) {
    Octets out = sponge.squeeze((bits + 7) / 8);
    if (bits % 8 != 0) out.back() &= static_cast<std::byte>((1U << (bits % 8)) - 1);
    return out;
}

// ---- RFC 9861 §3.3

constexpr std::size_t kChunkBytes = 8192;

Octets length_encode(std::size_t number) {
    Octets bytes = minimal(number);
    bytes.push_back(static_cast<std::byte>(bytes.size()));
    return bytes;
}

}  // namespace

Octets cshake(Strength strength, Bytes function_name, Bytes customization, Bytes data,
              std::size_t output_bits) {
    Sponge sponge(strength, kAllRounds);
    bool is_plain = function_name.empty() && customization.empty();
    if (!is_plain) absorb_padded(sponge, {function_name, customization});
    sponge.absorb(data);
    sponge.finish(is_plain ? 0x1f : 0x04);
    return squeeze_bits(sponge, output_bits);
}

Octets kmac(Strength strength, Bytes key, Bytes customization, Bytes data,
            std::size_t output_bits) {
    static constexpr std::byte kName[] = {std::byte{'K'}, std::byte{'M'}, std::byte{'A'},
                                          std::byte{'C'}};
    Sponge sponge(strength, kAllRounds);
    absorb_padded(sponge, {kName, customization});
    absorb_padded(sponge, {key});
    sponge.absorb(data);
    sponge.absorb(right_encode(output_bits));
    sponge.finish(0x04);
    return squeeze_bits(sponge, output_bits);
}

Octets turbo_shake(Strength strength, unsigned char domain, Bytes data, std::size_t output_bytes) {
    Sponge sponge(strength, kTurboRounds);
    sponge.absorb(data);
    sponge.finish(domain);
    return sponge.squeeze(output_bytes);
}

Octets kangaroo_twelve(Strength strength, Bytes customization, Bytes data,
                       std::size_t output_bytes) {
    Octets input(data.begin(), data.end());
    input.insert(input.end(), customization.begin(), customization.end());
    Octets suffix = length_encode(customization.size());
    input.insert(input.end(), suffix.begin(), suffix.end());
    Bytes left = input;
    if (left.size() <= kChunkBytes) return turbo_shake(strength, 0x07, left, output_bytes);
    static constexpr std::byte kFirst[kLaneBytes] = {std::byte{3}};
    static constexpr std::byte kLast[] = {std::byte{0xff}, std::byte{0xff}};
    std::size_t value_bytes = strength == Strength::Bits128 ? 32 : 64;
    Sponge node(strength, kTurboRounds);
    node.absorb(left.first(kChunkBytes));
    node.absorb(kFirst);
    std::size_t chunks = 0;
    for (left = left.subspan(kChunkBytes); !left.empty(); ++chunks) {
        Bytes chunk = left.first(std::min(left.size(), kChunkBytes));
        node.absorb(turbo_shake(strength, 0x0b, chunk, value_bytes));
        left = left.subspan(chunk.size());
    }
    node.absorb(length_encode(chunks));
    node.absorb(kLast);
    node.finish(0x06);
    return node.squeeze(output_bytes);
}

}  // namespace weft::crypto
