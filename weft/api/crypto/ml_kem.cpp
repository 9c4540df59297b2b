#include "weft/api/crypto/ml_kem.h"

#include <algorithm>

#include "weft/api/crypto/lattice.h"
#include "weft/base/assert.h"

namespace weft::crypto {
namespace {

constexpr std::uint32_t kPrime = 3329;
using Mod = Modulo<kPrime>;

// §8, table 2
struct Kem {
    std::size_t k;
    unsigned eta1;
    unsigned eta2;
    unsigned du;
    unsigned dv;

    [[nodiscard]] std::size_t public_bytes() const { return 384 * k + 32; }
    [[nodiscard]] std::size_t ciphertext_bytes() const { return 32 * (du * k + dv); }
};

const Kem& kem_of(KemSet set) {
    static constexpr Kem kSets[] = {{2, 3, 2, 10, 4}, {3, 2, 2, 10, 4}, {4, 2, 2, 11, 5}};
    return kSets[static_cast<std::size_t>(set)];
}

// ---- §4.3: the number-theoretic transform

struct Zetas {
    std::array<std::uint32_t, 128> transform{};
    std::array<std::uint32_t, 128> product{};
};
constexpr Zetas kZetas = [] {
    Zetas zetas;
    for (unsigned i = 0; i < 128; ++i) {
        zetas.transform[i] = Mod::power(17, reversed(i, 7));
        zetas.product[i] = Mod::power(17, 2 * reversed(i, 7) + 1);
    }
    return zetas;
}();

void transform(Poly& f) {
    std::size_t i = 1;
    for (std::size_t length = 128; length >= 2; length /= 2) {
        for (std::size_t start = 0; start < kCoefficients; start += 2 * length) {
            std::uint32_t zeta = kZetas.transform[i++];
            for (std::size_t j = start; j < start + length; ++j) {
                std::uint32_t t = Mod::multiply(zeta, f.at[j + length]);
                f.at[j + length] = Mod::subtract(f.at[j], t);
                f.at[j] = Mod::add(f.at[j], t);
            }
        }
    }
}

void transform_back(Poly& f) {
    std::size_t i = 127;
    for (std::size_t length = 2; length <= 128; length *= 2) {
        for (std::size_t start = 0; start < kCoefficients; start += 2 * length) {
            std::uint32_t zeta = kZetas.transform[i--];
            for (std::size_t j = start; j < start + length; ++j) {
                std::uint32_t t = f.at[j];
                f.at[j] = Mod::add(t, f.at[j + length]);
                f.at[j + length] = Mod::multiply(zeta, Mod::subtract(f.at[j + length], t));
            }
        }
    }
    for (std::uint32_t& value : f.at) value = Mod::multiply(value, 3303);
}

void add_product(Poly& sum, const Poly& f, const Poly& g) {
    for (std::size_t i = 0; i < 128; ++i) {
        std::uint32_t a0 = f.at[2 * i];
        std::uint32_t a1 = f.at[2 * i + 1];
        std::uint32_t b0 = g.at[2 * i];
        std::uint32_t b1 = g.at[2 * i + 1];
        std::uint32_t high = Mod::multiply(Mod::multiply(a1, b1), kZetas.product[i]);
        sum.at[2 * i] = Mod::add(sum.at[2 * i], Mod::add(Mod::multiply(a0, b0), high));
        sum.at[2 * i + 1] =
            Mod::add(sum.at[2 * i + 1], Mod::add(Mod::multiply(a0, b1), Mod::multiply(a1, b0)));
    }
}

// ---- §4.2.1: compression. Rounded division by the prime, as a multiplication.

void compress(Poly& poly, unsigned bits) {
    constexpr std::uint64_t kInverse = (std::uint64_t{1} << 42) / kPrime + 1;
    for (std::uint32_t& value : poly.at) {
        std::uint64_t scaled = (std::uint64_t{value} << bits) + kPrime / 2;
        value = static_cast<std::uint32_t>(scaled * kInverse >> 42) & ((1U << bits) - 1);
    }
}

void decompress(Poly& poly, unsigned bits) {
    for (std::uint32_t& value : poly.at) value = (value * kPrime + (1U << (bits - 1))) >> bits;
}

// ---- §4.2.2: drawing polynomials

Poly sample_uniform(Bytes rho, std::size_t column, std::size_t row) {
    AbsorbedSponge sponge(Sponge::kRateShake128, Sponge::kDomainShake,
                          {rho, byte_of(column), byte_of(row)});
    Poly poly;
    for (std::size_t j = 0; j < kCoefficients;) {
        std::array<std::byte, 3> bytes;
        sponge.squeeze(ByteSpace(bytes));
        auto low = std::to_integer<std::uint32_t>(bytes[0]);
        auto middle = std::to_integer<std::uint32_t>(bytes[1]);
        auto high = std::to_integer<std::uint32_t>(bytes[2]);
        std::uint32_t first = low | (middle & 15) << 8;
        std::uint32_t second = middle >> 4 | high << 4;
        if (first < kPrime) poly.at[j++] = first;
        if (second < kPrime && j < kCoefficients) poly.at[j++] = second;
    }
    return poly;
}

Poly sample_small(unsigned eta, Bytes seed, std::size_t nonce) {
    Octets bytes = shake256({seed, byte_of(nonce)}, 64 * eta);
    Poly poly;
    std::size_t bit = 0;
    auto count = [&] {
        std::int32_t ones = 0;
        for (unsigned i = 0; i < eta; ++i, ++bit)
            ones += std::to_integer<std::int32_t>(bytes[bit / 8] >> (bit % 8)) & 1;
        return ones;
    };
    for (std::uint32_t& value : poly.at) {
        std::int32_t first = count();
        value = Mod::from_signed(first - count());
    }
    OPENSSL_cleanse(bytes.data(), bytes.size());
    return poly;
}

// ---- hashes: G and H of §4.1

std::pair<Octets, Octets> hash_g(std::initializer_list<Bytes> parts) {
    AbsorbedSponge sponge(Sponge::kRateSha3_512, Sponge::kDomainSha3, parts);
    Octets first = sponge.squeeze(32);
    return {std::move(first), sponge.squeeze(32)};
}

Octets hash_h(Bytes data) {
    return AbsorbedSponge(Sponge::kRateShake256, Sponge::kDomainSha3, {data}).squeeze(32);
}

// ---- §5: the encryption that the encapsulation is made of

struct KemKeys {
    Octets public_key;
    PolyVector secret;  // transformed
};

KemKeys make_keys(const Kem& kem, Bytes d) {
    auto [rho, sigma] = hash_g({d, byte_of(kem.k)});
    KemKeys keys;
    std::size_t nonce = 0;
    for (std::size_t i = 0; i < kem.k; ++i) {
        keys.secret.push_back(sample_small(kem.eta1, sigma, nonce++));
        transform(keys.secret.back());
    }
    for (std::size_t i = 0; i < kem.k; ++i) {
        Poly sum = sample_small(kem.eta1, sigma, nonce++);
        transform(sum);
        for (std::size_t j = 0; j < kem.k; ++j)
            add_product(sum, sample_uniform(rho, j, i), keys.secret[j]);
        pack(keys.public_key, sum, 12);
    }
    keys.public_key.insert(keys.public_key.end(), rho.begin(), rho.end());
    OPENSSL_cleanse(sigma.data(), sigma.size());
    return keys;
}

Octets encrypt(const Kem& kem, Bytes public_key, Bytes message, Bytes random) {
    Bytes rho = public_key.last(32);
    PolyVector y;
    std::size_t nonce = 0;
    for (std::size_t i = 0; i < kem.k; ++i) {
        y.push_back(sample_small(kem.eta1, random, nonce++));
        transform(y.back());
    }
    Octets ciphertext;
    for (std::size_t i = 0; i < kem.k; ++i) {
        Poly u;
        for (std::size_t j = 0; j < kem.k; ++j) add_product(u, sample_uniform(rho, i, j), y[j]);
        transform_back(u);
        Mod::add(u, sample_small(kem.eta2, random, nonce++));
        compress(u, kem.du);
        pack(ciphertext, u, kem.du);
    }
    Poly v;
    for (std::size_t i = 0; i < kem.k; ++i)
        add_product(v, unpack(public_key.subspan(384 * i), 12), y[i]);
    transform_back(v);
    Mod::add(v, sample_small(kem.eta2, random, nonce));
    Poly carried = unpack(message, 1);
    decompress(carried, 1);
    Mod::add(v, carried);
    compress(v, kem.dv);
    pack(ciphertext, v, kem.dv);
    return ciphertext;
}

Octets decrypt(const Kem& kem, const PolyVector& secret, Bytes ciphertext) {
    Poly product;
    for (std::size_t i = 0; i < kem.k; ++i) {
        Poly u = unpack(ciphertext.subspan(32 * kem.du * i), kem.du);
        decompress(u, kem.du);
        transform(u);
        add_product(product, u, secret[i]);
    }
    transform_back(product);
    Poly v = unpack(ciphertext.subspan(32 * kem.du * kem.k), kem.dv);
    decompress(v, kem.dv);
    Mod::subtract(v, product);
    compress(v, 1);
    Octets message;
    pack(message, v, 1);
    return message;
}

}  // namespace

Octets ml_kem_public_of(KemSet set, Bytes seed) {
    WEFT_ASSERT(seed.size() == kKemSeedBytes, "the scripts check the length");
    Octets key = make_keys(kem_of(set), seed.first(32)).public_key;
    WEFT_ASSERT(key.size() == kem_of(set).public_bytes(), "FIPS 203 §8, table 3");
    return key;
}

bool ml_kem_is_public(KemSet set, Bytes public_key) {
    const Kem& kem = kem_of(set);
    if (public_key.size() != kem.public_bytes()) return false;
    for (std::size_t i = 0; i < kem.k; ++i) {
        Poly poly = unpack(public_key.subspan(384 * i), 12);
        if (std::ranges::any_of(poly.at, [](std::uint32_t value) { return value >= kPrime; }))
            return false;
    }
    return true;
}

Encapsulated ml_kem_encapsulate(KemSet set, Bytes public_key, Bytes random) {
    WEFT_ASSERT(public_key.size() == kem_of(set).public_bytes() && random.size() == kKemRandomBytes,
                "the key has passed ml_kem_is_public()");
    auto [shared, coins] = hash_g({random, hash_h(public_key)});
    Octets ciphertext = encrypt(kem_of(set), public_key, random, coins);
    OPENSSL_cleanse(coins.data(), coins.size());
    return {std::move(shared), std::move(ciphertext)};
}

Result<Octets> ml_kem_decapsulate(KemSet set, Bytes seed, Bytes ciphertext) {
    WEFT_ASSERT(seed.size() == kKemSeedBytes, "the scripts check the length");
    const Kem& kem = kem_of(set);
    if (ciphertext.size() != kem.ciphertext_bytes())
        return Error(ErrorKind::Other, "ml-kem: not a ciphertext");
    KemKeys keys = make_keys(kem, seed.first(32));
    Octets message = decrypt(kem, keys.secret, ciphertext);
    auto [shared, coins] = hash_g({message, hash_h(keys.public_key)});
    Octets refused = shake256({seed.last(32), ciphertext}, shared.size());
    Octets again = encrypt(kem, keys.public_key, message, coins);
    WEFT_ASSERT(again.size() == ciphertext.size() && refused.size() == shared.size(),
                "the comparison and the choice read both to their ends");
    // The comparison must take the same time whether or not they are equal.
    auto same = static_cast<unsigned>(
        CRYPTO_memcmp(again.data(), ciphertext.data(), ciphertext.size()) == 0);
    auto mask = static_cast<std::byte>(0U - same);
    for (std::size_t i = 0; i < shared.size(); ++i)
        shared[i] = (shared[i] & mask) | (refused[i] & ~mask);
    OPENSSL_cleanse(message.data(), message.size());
    OPENSSL_cleanse(coins.data(), coins.size());
    return std::move(shared);
}

}  // namespace weft::crypto
