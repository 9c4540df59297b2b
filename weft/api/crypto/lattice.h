// What ML-KEM and ML-DSA share: polynomials of 256 coefficients modulo a prime, their encoding as
// bytes, and the seeded hash functions that they are sampled from. Pure functions, any thread.
//
// NB: Neither this file nor what is built on it branches on a secret, uses one as an index or
// divides by one, except where the standards reveal the value anyway.
#pragma once

#include <openssl/crypto.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "weft/api/crypto/sponge.h"

namespace weft::crypto {

inline constexpr std::size_t kCoefficients = 256;

// Every coefficient is at least 0 and less than the modulus. The memory is wiped on destruction.
struct Poly {
    std::array<std::uint32_t, kCoefficients> at = {};

    Poly() = default;
    Poly(const Poly&) = default;
    Poly& operator=(const Poly&) = default;
    ~Poly() { OPENSSL_cleanse(at.data(), sizeof at); }
};
using PolyVector = std::vector<Poly>;

// All bits set if the number, read as signed, is negative; otherwise 0.
constexpr std::uint32_t sign_mask(std::uint32_t number) { return 0U - (number >> 31); }

template <std::uint32_t kPrime>
struct Modulo {
    // Barrett reduction: the quotient is at most one too small.
    static constexpr std::uint32_t reduce(std::uint64_t number) {
        __extension__ typedef unsigned __int128 Wide;
        constexpr std::uint64_t kInverse = ~std::uint64_t{0} / kPrime;
        auto quotient = static_cast<std::uint64_t>((Wide{number} * kInverse) >> 64);
        return once(static_cast<std::uint32_t>(number - quotient * kPrime));
    }
    static constexpr std::uint32_t add(std::uint32_t a, std::uint32_t b) { return once(a + b); }
    static constexpr std::uint32_t subtract(std::uint32_t a, std::uint32_t b) {
        return once(a + kPrime - b);
    }
    static constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
        return reduce(std::uint64_t{a} * b);
    }
    static constexpr std::uint32_t power(std::uint32_t base, unsigned exponent) {
        std::uint32_t result = 1;
        for (; exponent != 0; exponent >>= 1) {
            if (exponent & 1) result = multiply(result, base);
            base = multiply(base, base);
        }
        return result;
    }
    // Requires -kPrime <= number < kPrime.
    static constexpr std::uint32_t from_signed(std::int32_t number) {
        return once(static_cast<std::uint32_t>(number) + kPrime);
    }

    static void add(Poly& sum, const Poly& other) {
        for (std::size_t i = 0; i < kCoefficients; ++i) sum.at[i] = add(sum.at[i], other.at[i]);
    }
    static void subtract(Poly& difference, const Poly& other) {
        for (std::size_t i = 0; i < kCoefficients; ++i)
            difference.at[i] = subtract(difference.at[i], other.at[i]);
    }

private:
    // Subtracts the prime at most once. Requires number < 2 * kPrime.
    static constexpr std::uint32_t once(std::uint32_t number) {
        std::uint32_t less = number - kPrime;
        return less + (sign_mask(less) & kPrime);
    }
};

// The number with its lowest `bits` bits in reverse order.
constexpr unsigned reversed(unsigned number, unsigned bits) {
    unsigned result = 0;
    for (unsigned bit = 0; bit < bits; ++bit) result |= (number >> bit & 1) << (bits - 1 - bit);
    return result;
}

// Appends the coefficients with a fixed number of bits each, the lowest bit first: BitsToBytes of
// FIPS 203 and FIPS 204.
void pack(Octets& out, const Poly& poly, unsigned bits);
// Reads the first 32 * bits bytes.
Poly unpack(Bytes from, unsigned bits);

// A sponge that has absorbed the parts, so that squeeze() can be called at once.
class AbsorbedSponge : public Sponge {
public:
    AbsorbedSponge(std::size_t rate_bytes, unsigned char domain,
                   std::initializer_list<Bytes> parts);
};
// SHAKE256 of the concatenated parts.
Octets shake256(std::initializer_list<Bytes> parts, std::size_t length_bytes);

Octets joined(std::initializer_list<Bytes> parts);

// A number as one or two bytes, little-endian.
std::array<std::byte, 1> byte_of(std::size_t number);
std::array<std::byte, 2> bytes_of(std::size_t number);

}  // namespace weft::crypto
