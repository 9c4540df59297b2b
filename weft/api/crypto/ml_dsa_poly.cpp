#include "weft/api/crypto/ml_dsa_poly.h"

#include <algorithm>
#include <utility>

namespace weft::crypto::dsa {
namespace {

constexpr std::array<std::uint32_t, 256> kZetas = [] {
    std::array<std::uint32_t, 256> zetas{};
    for (unsigned i = 0; i < 256; ++i) zetas[i] = Mod::power(1753, reversed(i, 8));
    return zetas;
}();

}  // namespace

// ---- §7.5

void transform(Poly& w) {
    std::size_t m = 0;
    for (std::size_t length = 128; length >= 1; length /= 2) {
        for (std::size_t start = 0; start < kCoefficients; start += 2 * length) {
            std::uint32_t zeta = kZetas[++m];
            for (std::size_t j = start; j < start + length; ++j) {
                std::uint32_t t = Mod::multiply(zeta, w.at[j + length]);
                w.at[j + length] = Mod::subtract(w.at[j], t);
                w.at[j] = Mod::add(w.at[j], t);
            }
        }
    }
}

void transform_back(Poly& w) {
    std::size_t m = 256;
    for (std::size_t length = 1; length < kCoefficients; length *= 2) {
        for (std::size_t start = 0; start < kCoefficients; start += 2 * length) {
            std::uint32_t zeta = kZetas[--m];
            for (std::size_t j = start; j < start + length; ++j) {
                std::uint32_t t = w.at[j];
                w.at[j] = Mod::add(t, w.at[j + length]);
                // The standard multiplies by -zeta.
                w.at[j + length] = Mod::multiply(zeta, Mod::subtract(w.at[j + length], t));
            }
        }
    }
    for (std::uint32_t& value : w.at) value = Mod::multiply(value, 8347681);
}

void add_product(Poly& sum, const Poly& f, const Poly& g) {
    for (std::size_t i = 0; i < kCoefficients; ++i)
        sum.at[i] = Mod::add(sum.at[i], Mod::multiply(f.at[i], g.at[i]));
}

Poly product(const Poly& f, const Poly& g) {
    Poly result;
    add_product(result, f, g);
    transform_back(result);
    return result;
}

// ---- §7.3

Poly sample_uniform(Bytes rho, std::size_t column, std::size_t row) {
    AbsorbedSponge sponge(Sponge::kRateShake128, Sponge::kDomainShake,
                          {rho, byte_of(column), byte_of(row)});
    Poly poly;
    for (std::size_t j = 0; j < kCoefficients;) {
        std::array<std::byte, 3> bytes;
        sponge.squeeze(ByteSpace(bytes));
        std::uint32_t value = std::to_integer<std::uint32_t>(bytes[0]) |
                              std::to_integer<std::uint32_t>(bytes[1]) << 8 |
                              (std::to_integer<std::uint32_t>(bytes[2]) & 0x7f) << 16;
        if (value < kPrime) poly.at[j++] = value;
    }
    return poly;
}

Poly sample_bounded(std::uint32_t eta, Bytes seed, std::size_t nonce) {
    AbsorbedSponge sponge(Sponge::kRateShake256, Sponge::kDomainShake, {seed, bytes_of(nonce)});
    Poly poly;
    // Which half bytes are skipped is independent of the values that are used.
    std::uint32_t limit = eta == 2 ? 15 : 9;
    for (std::size_t j = 0; j < kCoefficients;) {
        std::array<std::byte, 1> byte;
        sponge.squeeze(ByteSpace(byte));
        auto both = std::to_integer<std::uint32_t>(byte[0]);
        for (std::uint32_t half : {both & 15, both >> 4}) {
            if (half >= limit || j == kCoefficients) continue;
            // half mod 5, without a division; half is less than 15.
            std::uint32_t value = eta == 2 ? half - 5 * (half * 205 >> 10) : half;
            poly.at[j++] = Mod::subtract(eta, value);
        }
    }
    return poly;
}

Poly sample_mask(const Set& set, Bytes seed, std::size_t nonce) {
    Octets bytes = shake256({seed, bytes_of(nonce)}, set.z_bytes());
    Poly poly = unpack_around(bytes, set.gamma1(), set.gamma1_bits + 1);
    OPENSSL_cleanse(bytes.data(), bytes.size());
    return poly;
}

Poly sample_in_ball(const Set& set, Bytes challenge) {
    AbsorbedSponge sponge(Sponge::kRateShake256, Sponge::kDomainShake, {challenge});
    std::array<std::byte, 8> signs;
    sponge.squeeze(ByteSpace(signs));
    Poly poly;
    std::size_t bit = 0;
    for (std::size_t i = kCoefficients - set.tau; i < kCoefficients; ++i, ++bit) {
        std::array<std::byte, 1> byte;
        do sponge.squeeze(ByteSpace(byte));
        while (std::to_integer<std::size_t>(byte[0]) > i);
        auto j = std::to_integer<std::size_t>(byte[0]);
        poly.at[i] = poly.at[j];
        bool is_negative = (std::to_integer<unsigned>(signs[bit / 8]) >> (bit % 8) & 1) != 0;
        poly.at[j] = is_negative ? kPrime - 1 : 1;
    }
    return poly;
}

// ---- §7.1

void pack_around(Octets& out, const Poly& poly, std::uint32_t span, unsigned bits) {
    Poly shifted;
    for (std::size_t i = 0; i < kCoefficients; ++i) shifted.at[i] = Mod::subtract(span, poly.at[i]);
    pack(out, shifted, bits);
}

Poly unpack_around(Bytes from, std::uint32_t span, unsigned bits) {
    Poly poly = unpack(from, bits);
    for (std::uint32_t& value : poly.at) value = Mod::subtract(span, value);
    return poly;
}

// ---- §7.4

Parts power2_round(std::uint32_t value) {
    std::uint32_t high = (value + (1U << 12) - 1) >> 13;
    return {high, Mod::from_signed(static_cast<std::int32_t>(value - (high << 13)))};
}

Parts decompose(const Set& set, std::uint32_t value) {
    // Division by 2 * gamma2 with rounding, as a multiplication and a shift. The last step turns
    // the result for the highest values back to 0.
    auto high = static_cast<std::int32_t>((value + 127) >> 7);
    if (set.gamma2 == (kPrime - 1) / 32) {
        high = (high * 1025 + (1 << 21)) >> 22 & 15;
    } else {
        high = (high * 11275 + (1 << 23)) >> 24;
        high ^= ((43 - high) >> 31) & high;
    }
    std::int32_t low =
        static_cast<std::int32_t>(value) - high * 2 * static_cast<std::int32_t>(set.gamma2);
    constexpr auto kHalf = static_cast<std::int32_t>((kPrime - 1) / 2);
    low -= ((kHalf - low) >> 31) & static_cast<std::int32_t>(kPrime);
    return {static_cast<std::uint32_t>(high), Mod::from_signed(low)};
}

std::uint32_t use_hint(const Set& set, bool hint, std::uint32_t value) {
    auto [high, low] = decompose(set, value);
    if (!hint) return high;
    std::uint32_t count = (kPrime - 1) / (2 * set.gamma2);
    bool is_positive = low > 0 && low <= (kPrime - 1) / 2;
    return (high + (is_positive ? 1 : count - 1)) % count;
}

std::uint32_t norm(const Poly& poly) {
    std::uint32_t largest = 0;
    for (std::uint32_t value : poly.at) {
        std::uint32_t other = kPrime - value;
        std::uint32_t smaller = value ^ ((value ^ other) & sign_mask(other - value));
        largest = smaller ^ ((smaller ^ largest) & sign_mask(smaller - largest));
    }
    return largest;
}

}  // namespace weft::crypto::dsa
