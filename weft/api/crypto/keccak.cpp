#include "weft/api/crypto/keccak.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "weft/api/crypto/sponge.h"
#include "weft/base/assert.h"

namespace weft::crypto {
namespace {

constexpr int kTurboRounds = 12;

std::size_t rate_of(Strength strength) {
    return strength == Strength::Bits128 ? Sponge::kRateShake128 : Sponge::kRateShake256;
}

// The number big-endian, without leading zeros.
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

// bytepad() of the strings, each after encode_string().
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
    Sponge sponge(rate_of(strength));
    bool is_plain = function_name.empty() && customization.empty();
    if (!is_plain) absorb_padded(sponge, {function_name, customization});
    sponge.absorb(data);
    sponge.finish(is_plain ? Sponge::kDomainShake : 0x04);
    return squeeze_bits(sponge, output_bits);
}

Octets kmac(Strength strength, Bytes key, Bytes customization, Bytes data,
            std::size_t output_bits) {
    static constexpr std::byte kName[] = {std::byte{'K'}, std::byte{'M'}, std::byte{'A'},
                                          std::byte{'C'}};
    Sponge sponge(rate_of(strength));
    absorb_padded(sponge, {kName, customization});
    absorb_padded(sponge, {key});
    sponge.absorb(data);
    sponge.absorb(right_encode(output_bits));
    sponge.finish(0x04);
    return squeeze_bits(sponge, output_bits);
}

Octets turbo_shake(Strength strength, unsigned char domain, Bytes data, std::size_t output_bytes) {
    WEFT_ASSERT(domain >= 0x01 && domain <= 0x7f, "RFC 9861 §2.2: the domain separation");
    Sponge sponge(rate_of(strength), kTurboRounds);
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
    static constexpr std::byte kFirst[8] = {std::byte{3}};
    static constexpr std::byte kLast[] = {std::byte{0xff}, std::byte{0xff}};
    std::size_t value_bytes = strength == Strength::Bits128 ? 32 : 64;
    Sponge node(rate_of(strength), kTurboRounds);
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
