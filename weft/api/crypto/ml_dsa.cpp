#include "weft/api/crypto/ml_dsa.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/api/crypto/ml_dsa_poly.h"
#include "weft/base/assert.h"

namespace weft::crypto {
namespace {

using namespace dsa;

constexpr std::size_t kDigestBytes = 64;

const Set& set_of(DsaSet set) {
    static constexpr Set kSets[] = {
        {4, 4, 2, 39, 128, 17, (kPrime - 1) / 88, 80},
        {6, 5, 4, 49, 192, 19, (kPrime - 1) / 32, 55},
        {8, 7, 2, 60, 256, 19, (kPrime - 1) / 32, 75},
    };
    return kSets[static_cast<std::size_t>(set)];
}

// ---- §6.1

struct Keys {
    Octets public_key;
    Octets digest;  // of the public key
    Octets secret;  // K in the standard
    // The following three are transformed.
    PolyVector s1;
    PolyVector s2;
    PolyVector t0;
    PolyVector matrix;  // row by row

    Keys() = default;
    Keys(Keys&&) = default;
    ~Keys() { OPENSSL_cleanse(secret.data(), secret.size()); }
};

PolyVector matrix_of(const Set& set, Bytes rho) {
    PolyVector matrix;
    matrix.reserve(set.k * set.l);
    for (std::size_t row = 0; row < set.k; ++row)
        for (std::size_t column = 0; column < set.l; ++column)
            matrix.push_back(sample_uniform(rho, column, row));
    return matrix;
}

// A row of the matrix times the vector; both are transformed, and so is the result.
Poly row_times(const Set& set, const PolyVector& matrix, std::size_t row, const PolyVector& v) {
    Poly sum;
    for (std::size_t column = 0; column < set.l; ++column)
        add_product(sum, matrix[row * set.l + column], v[column]);
    return sum;
}

Keys make_keys(const Set& set, Bytes seed) {
    Octets expanded = shake256({seed, byte_of(set.k), byte_of(set.l)}, 128);
    Bytes rho = Bytes(expanded).first(32);
    Bytes drawn = Bytes(expanded).subspan(32, 64);
    Keys keys;
    keys.secret.assign(expanded.begin() + 96, expanded.end());
    keys.public_key.assign(rho.begin(), rho.end());
    keys.matrix = matrix_of(set, rho);
    for (std::size_t i = 0; i < set.l; ++i) {
        keys.s1.push_back(sample_bounded(set.eta, drawn, i));
        transform(keys.s1.back());
    }
    for (std::size_t i = 0; i < set.k; ++i) {
        keys.s2.push_back(sample_bounded(set.eta, drawn, set.l + i));
        Poly t = row_times(set, keys.matrix, i, keys.s1);
        transform_back(t);
        Mod::add(t, keys.s2.back());
        Poly high;
        Poly low;
        for (std::size_t j = 0; j < kCoefficients; ++j) {
            Parts parts = power2_round(t.at[j]);
            high.at[j] = parts.high;
            low.at[j] = parts.low;
        }
        pack(keys.public_key, high, 10);
        transform(low);
        keys.t0.push_back(low);
        transform(keys.s2.back());
    }
    keys.digest = shake256({keys.public_key}, kDigestBytes);
    OPENSSL_cleanse(expanded.data(), expanded.size());
    return keys;
}

// mu, the representative of the message, §5.2 and §6.2. The zero byte means that the message was
// not hashed before.
Octets represented(Bytes key_digest, Bytes context, Bytes data) {
    return shake256({key_digest, byte_of(0), byte_of(context.size()), context, data}, kDigestBytes);
}

Octets challenge_of(const Set& set, Bytes mu, const PolyVector& high) {
    Octets packed;
    for (const Poly& poly : high) pack(packed, poly, set.high_bits());
    return shake256({mu, packed}, set.challenge_bytes());
}

// ---- §6.2: signing

struct Attempt {
    PolyVector z;
    PolyVector hints;
};

// The commitment to a mask: w and its high part.
struct Commitment {
    PolyVector y;
    PolyVector w;
    PolyVector high;
};

Commitment commit(const Set& set, const Keys& keys, Bytes mask_seed, std::size_t kappa) {
    Commitment made;
    PolyVector transformed;
    for (std::size_t i = 0; i < set.l; ++i) {
        made.y.push_back(sample_mask(set, mask_seed, kappa + i));
        transformed.push_back(made.y.back());
        transform(transformed.back());
    }
    for (std::size_t i = 0; i < set.k; ++i) {
        made.w.push_back(row_times(set, keys.matrix, i, transformed));
        transform_back(made.w.back());
        Poly high;
        for (std::size_t j = 0; j < kCoefficients; ++j)
            high.at[j] = decompose(set, made.w.back().at[j]).high;
        made.high.push_back(high);
    }
    return made;
}

// Gives nothing if the answer would reveal something about the key; another mask must be tried
// then.
std::optional<Attempt> answer(const Set& set, const Keys& keys, Commitment&& made, const Poly& c) {
    Attempt attempt;
    for (std::size_t i = 0; i < set.l; ++i) {
        Poly z = product(c, keys.s1[i]);
        Mod::add(z, made.y[i]);
        if (norm(z) >= set.gamma1() - set.beta()) return std::nullopt;
        attempt.z.push_back(z);
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < set.k; ++i) {
        Poly& w = made.w[i];
        Mod::subtract(w, product(c, keys.s2[i]));
        Poly low;
        Poly hint;
        for (std::size_t j = 0; j < kCoefficients; ++j) low.at[j] = decompose(set, w.at[j]).low;
        if (norm(low) >= set.gamma2 - set.beta()) return std::nullopt;
        Poly t = product(c, keys.t0[i]);
        if (norm(t) >= set.gamma2) return std::nullopt;
        for (std::size_t j = 0; j < kCoefficients; ++j) {
            std::uint32_t moved = Mod::add(w.at[j], t.at[j]);
            hint.at[j] = decompose(set, moved).high != decompose(set, w.at[j]).high;
            count += hint.at[j];
        }
        attempt.hints.push_back(hint);
    }
    if (count > set.omega) return std::nullopt;
    return attempt;
}

// ---- §7.1: hints are encoded as the positions of the ones, and their number up to each row

void pack_hints(const Set& set, Octets& out, const PolyVector& hints) {
    Octets packed(set.omega + set.k);
    std::size_t index = 0;
    for (std::size_t i = 0; i < set.k; ++i) {
        for (std::size_t j = 0; j < kCoefficients; ++j)
            if (hints[i].at[j] != 0) packed[index++] = static_cast<std::byte>(j);
        packed[set.omega + i] = static_cast<std::byte>(index);
    }
    out.insert(out.end(), packed.begin(), packed.end());
}

// Gives nothing for an encoding other than the canonical one, which would make a second valid
// signature.
std::optional<PolyVector> unpack_hints(const Set& set, Bytes packed) {
    PolyVector hints(set.k);
    std::size_t index = 0;
    for (std::size_t i = 0; i < set.k; ++i) {
        auto end = std::to_integer<std::size_t>(packed[set.omega + i]);
        if (end < index || end > set.omega) return std::nullopt;
        for (std::size_t first = index; index < end; ++index) {
            if (index > first && packed[index - 1] >= packed[index]) return std::nullopt;
            hints[i].at[std::to_integer<std::size_t>(packed[index])] = 1;
        }
    }
    for (; index < set.omega; ++index)
        if (packed[index] != std::byte{0}) return std::nullopt;
    return hints;
}

}  // namespace

std::size_t ml_dsa_public_bytes(DsaSet set) { return set_of(set).public_bytes(); }

Octets ml_dsa_public_of(DsaSet set, Bytes seed) {
    WEFT_ASSERT(seed.size() == kDsaSeedBytes, "the scripts check the length");
    Octets key = make_keys(set_of(set), seed).public_key;
    WEFT_ASSERT(key.size() == ml_dsa_public_bytes(set), "FIPS 204 §4, table 2");
    return key;
}

Octets ml_dsa_sign(DsaSet which, Bytes seed, Bytes context, Bytes random, Bytes data) {
    WEFT_ASSERT(
        seed.size() == kDsaSeedBytes && random.size() == kDsaRandomBytes && context.size() <= 255,
        "the scripts check the lengths");
    const Set& set = set_of(which);
    Keys keys = make_keys(set, seed);
    Octets mu = represented(keys.digest, context, data);
    Octets mask_seed = shake256({keys.secret, random, mu}, 64);
    for (std::size_t kappa = 0;; kappa += set.l) {
        Commitment made = commit(set, keys, mask_seed, kappa);
        Octets signature = challenge_of(set, mu, made.high);
        Poly c = sample_in_ball(set, signature);
        transform(c);
        auto attempt = answer(set, keys, std::move(made), c);
        if (!attempt) continue;
        for (const Poly& z : attempt->z)
            pack_around(signature, z, set.gamma1(), set.gamma1_bits + 1);
        pack_hints(set, signature, attempt->hints);
        WEFT_ASSERT(signature.size() == set.signature_bytes(), "FIPS 204 §4, table 2");
        OPENSSL_cleanse(mask_seed.data(), mask_seed.size());
        return signature;
    }
}

bool ml_dsa_verify(DsaSet which, Bytes public_key, Bytes context, Bytes signature, Bytes data) {
    const Set& set = set_of(which);
    if (public_key.size() != set.public_bytes() || signature.size() != set.signature_bytes())
        return false;
    Bytes challenge = signature.first(set.challenge_bytes());
    auto hints = unpack_hints(set, signature.last(set.omega + set.k));
    if (!hints) return false;
    PolyVector z;
    for (std::size_t i = 0; i < set.l; ++i) {
        Bytes packed = signature.subspan(set.challenge_bytes() + i * set.z_bytes());
        z.push_back(unpack_around(packed, set.gamma1(), set.gamma1_bits + 1));
        if (norm(z.back()) >= set.gamma1() - set.beta()) return false;
        transform(z.back());
    }
    Poly c = sample_in_ball(set, challenge);
    transform(c);
    PolyVector matrix = matrix_of(set, public_key.first(32));
    PolyVector high(set.k);
    for (std::size_t i = 0; i < set.k; ++i) {
        Poly t = unpack(public_key.subspan(32 + 320 * i), 10);
        for (std::uint32_t& value : t.at) value <<= 13;
        transform(t);
        Poly shift;
        add_product(shift, c, t);
        Poly w = row_times(set, matrix, i, z);
        Mod::subtract(w, shift);
        transform_back(w);
        for (std::size_t j = 0; j < kCoefficients; ++j)
            high[i].at[j] = use_hint(set, (*hints)[i].at[j] != 0, w.at[j]);
    }
    Octets mu = represented(shake256({public_key}, kDigestBytes), context, data);
    return std::ranges::equal(challenge_of(set, mu, high), challenge);
}

}  // namespace weft::crypto
