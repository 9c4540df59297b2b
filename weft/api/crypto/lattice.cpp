#include "weft/api/crypto/lattice.h"

#include "weft/base/assert.h"

namespace weft::crypto {

void pack(Octets& out, const Poly& poly, unsigned bits) {
    std::uint64_t held = 0;
    unsigned count = 0;
    WEFT_DASSERT(bits >= 1 && bits <= 24, "a coefficient has less than 24 bits");
    for (std::uint32_t value : poly.at) {
        held |= std::uint64_t{value} << count;
        for (count += bits; count >= 8; count -= 8) {
            out.push_back(static_cast<std::byte>(held));
            held >>= 8;
        }
    }
}

Poly unpack(Bytes from, unsigned bits) {
    WEFT_ASSERT(bits >= 1 && bits <= 24 && from.size() >= kCoefficients / 8 * bits,
                "256 coefficients of this many bits are there");
    Poly poly;
    std::uint64_t held = 0;
    unsigned count = 0;
    std::size_t at = 0;
    std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
    for (std::uint32_t& value : poly.at) {
        for (; count < bits; count += 8)
            held |= std::to_integer<std::uint64_t>(from[at++]) << count;
        value = static_cast<std::uint32_t>(held) & mask;
        held >>= bits;
        count -= bits;
    }
    return poly;
}

AbsorbedSponge::AbsorbedSponge(std::size_t rate_bytes, unsigned char domain,
                               std::initializer_list<Bytes> parts)
    : Sponge(rate_bytes) {
    for (Bytes part : parts) absorb(part);
    finish(domain);
}

Octets shake256(std::initializer_list<Bytes> parts, std::size_t length_bytes) {
    return AbsorbedSponge(Sponge::kRateShake256, Sponge::kDomainShake, parts).squeeze(length_bytes);
}

Octets joined(std::initializer_list<Bytes> parts) {
    Octets all;
    for (Bytes part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

std::array<std::byte, 1> byte_of(std::size_t number) {
    WEFT_ASSERT(number <= 0xff, "it fits into a byte");
    return {static_cast<std::byte>(number)};
}

std::array<std::byte, 2> bytes_of(std::size_t number) {
    return {static_cast<std::byte>(number), static_cast<std::byte>(number >> 8)};
}

}  // namespace weft::crypto
