// The polynomials of ML-DSA: FIPS 204 §7.1 and §7.3 to §7.5. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/api/crypto/lattice.h"

namespace weft::crypto::dsa {

inline constexpr std::uint32_t kPrime = 8380417;
using Mod = Modulo<kPrime>;

// The parameters of FIPS 204 §4, table 1.
struct Set {
    std::size_t k;
    std::size_t l;
    std::uint32_t eta;
    std::size_t tau;
    std::size_t lambda;
    unsigned gamma1_bits;  // gamma1 is 2 to this power
    std::uint32_t gamma2;
    std::size_t omega;

    [[nodiscard]] std::uint32_t gamma1() const { return std::uint32_t{1} << gamma1_bits; }
    [[nodiscard]] std::uint32_t beta() const { return static_cast<std::uint32_t>(tau) * eta; }
    [[nodiscard]] std::size_t challenge_bytes() const { return lambda / 4; }
    [[nodiscard]] std::size_t z_bytes() const { return 32 * (gamma1_bits + 1); }
    [[nodiscard]] std::size_t public_bytes() const { return 32 + 320 * k; }
    [[nodiscard]] std::size_t signature_bytes() const {
        return challenge_bytes() + l * z_bytes() + omega + k;
    }
    // Number of bits of the high part of a coefficient.
    [[nodiscard]] unsigned high_bits() const { return gamma2 == (kPrime - 1) / 32 ? 4 : 6; }
};

void transform(Poly& w);
void transform_back(Poly& w);
void add_product(Poly& sum, const Poly& f, const Poly& g);
// The product, transformed back from the NTT domain.
Poly product(const Poly& f, const Poly& g);

Poly sample_uniform(Bytes rho, std::size_t column, std::size_t row);
Poly sample_bounded(std::uint32_t eta, Bytes seed, std::size_t nonce);
Poly sample_mask(const Set& set, Bytes seed, std::size_t nonce);
Poly sample_in_ball(const Set& set, Bytes challenge);

// For coefficients between -span + 1 and span, each stored as span minus the coefficient.
void pack_around(Octets& out, const Poly& poly, std::uint32_t span, unsigned bits);
Poly unpack_around(Bytes from, std::uint32_t span, unsigned bits);

struct Parts {
    std::uint32_t high;
    std::uint32_t low;
};
// FIPS 204 §7.4: divides by 2^13 with rounding.
Parts power2_round(std::uint32_t value);
// Divides by 2 * gamma2 with rounding.
Parts decompose(const Set& set, std::uint32_t value);
std::uint32_t use_hint(const Set& set, bool hint, std::uint32_t value);

// The largest absolute value of a coefficient.
std::uint32_t norm(const Poly& poly);

}  // namespace weft::crypto::dsa
