#include "weft/api/crypto/sign.h"

#include <openssl/ec.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <utility>

namespace weft::crypto {
namespace {

using Signature = std::unique_ptr<ECDSA_SIG, FreeBy<ECDSA_SIG_free>>;

std::size_t field_bytes(EVP_PKEY* key) {
    return static_cast<std::size_t>(EVP_PKEY_get_bits(key) + 7) / 8;
}

Result<Octets> pair_of_der(Bytes der, std::size_t field) {
    const unsigned char* at = data_of(der);
    Signature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
    Octets pair(2 * field);
    if (!signature ||
        BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), mutable_data_of(pair),
                     static_cast<int>(field)) < 0 ||
        BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), mutable_data_of(pair) + field,
                     static_cast<int>(field)) < 0)
        return failed("ecdsa");
    return pair;
}

Result<Octets> der_of_pair(Bytes pair, std::size_t field) {
    Signature signature(ECDSA_SIG_new());
    Bytes r = pair.first(field);
    Bytes s = pair.subspan(field);
    ECDSA_SIG_set0(signature.get(), BN_bin2bn(data_of(r), static_cast<int>(field), nullptr),
                   BN_bin2bn(data_of(s), static_cast<int>(field), nullptr));
    unsigned char* bytes = nullptr;
    int length = i2d_ECDSA_SIG(signature.get(), &bytes);
    if (length < 0) return failed("ecdsa");
    const auto* from = reinterpret_cast<const std::byte*>(bytes);
    Octets der(from, from + length);
    OPENSSL_free(bytes);
    return der;
}

bool set_padding(const Signing& signing, EVP_PKEY_CTX* context) {
    if (signing.scheme == Scheme::RsaPkcs1)
        return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1;
    if (signing.scheme != Scheme::RsaPss) return true;
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(context, static_cast<int>(signing.salt_bytes)) == 1;
}

// RFC 8032 §5.1.7 and §5.2.7: with some points of small order a signature verifies for any message.
// Such points are refused as keys and as R, as Web Cryptography requires. The encoding of a point
// is its y; the highest bit of the last byte is the sign of x.
bool is_one_of(std::span<const Octets> points, Bytes point) {
    Octets y(point.begin(), point.end());
    y.back() &= std::byte{0x7f};
    return std::ranges::find(points, y) != points.end();
}

Octets octets(std::initializer_list<unsigned char> bytes, std::size_t length) {
    Octets made(length);
    std::ranges::transform(bytes, made.begin(), [](unsigned char byte) { return std::byte{byte}; });
    return made;
}

bool is_small_order_25519(Bytes point) {
    static const std::array<Octets, 5> kPoints = {
        octets({0x01}, 32),
        octets({0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
               32),
        octets({}, 32),
        octets({0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b,
                0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39,
                0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a},
               32),
        octets({0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4,
                0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6,
                0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05},
               32),
    };
    return is_one_of(kPoints, point);
}

// The y of these points is 1, -1 or, for the two points of order 4, 0. -1 is p - 1 with p = 2^448 -
// 2^224 - 1.
bool is_small_order_448(Bytes point) {
    static const std::array<Octets, 3> kPoints = [] {
        Octets minus_one(57, std::byte{0xff});
        minus_one[0] = minus_one[28] = std::byte{0xfe};
        minus_one[56] = std::byte{0};
        return std::array<Octets, 3>{octets({0x01}, 57), std::move(minus_one), octets({}, 57)};
    }();
    return is_one_of(kPoints, point);
}

bool may_verify_edwards(EVP_PKEY* key, Bytes signature) {
    std::size_t length = 0;
    if (EVP_PKEY_get_raw_public_key(key, nullptr, &length) != 1) return false;
    Octets point(length);
    if (signature.size() != 2 * length ||
        EVP_PKEY_get_raw_public_key(key, mutable_data_of(point), &length) != 1)
        return false;
    auto is_small = length == 32 ? is_small_order_25519 : is_small_order_448;
    return !is_small(point) && !is_small(signature.first(length));
}

Result<Octets> oaep(bool encrypts, std::string_view hash, KeyHandle key, Bytes label, Bytes data) {
    KeyContext context(EVP_PKEY_CTX_new(key.get(), nullptr));
    auto begin = encrypts ? EVP_PKEY_encrypt_init : EVP_PKEY_decrypt_init;
    if (begin(context.get()) != 1 ||
        EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_OAEP_PADDING) != 1 ||
        EVP_PKEY_CTX_set_rsa_oaep_md(context.get(), hash_of(hash)) != 1 ||
        EVP_PKEY_CTX_set_rsa_mgf1_md(context.get(), hash_of(hash)) != 1)
        return failed("rsa-oaep");
    if (!label.empty()) {
        void* copy = OPENSSL_memdup(label.data(), label.size());
        if (EVP_PKEY_CTX_set0_rsa_oaep_label(context.get(), copy, static_cast<int>(label.size())) !=
            1)
            return failed("rsa-oaep");
    }
    auto act = encrypts ? EVP_PKEY_encrypt : EVP_PKEY_decrypt;
    std::size_t length = static_cast<std::size_t>(EVP_PKEY_get_size(key.get()));
    Octets out(length);
    if (act(context.get(), mutable_data_of(out), &length, data_of(data), data.size()) != 1)
        return failed("rsa-oaep");
    out.resize(length);
    return out;
}

}  // namespace

Result<Octets> sign(const Signing& signing, Bytes private_key, Bytes data) {
    KeyHandle key = WEFT_TRY(parse_key(KeyType::Private, private_key));
    DigestContext context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* inner = nullptr;
    const EVP_MD* hash = signing.scheme == Scheme::Edwards ? nullptr : hash_of(signing.hash);
    if (EVP_DigestSignInit(context.get(), &inner, hash, nullptr, key.get()) != 1 ||
        !set_padding(signing, inner))
        return failed("sign");
    std::size_t length = 0;
    if (EVP_DigestSign(context.get(), nullptr, &length, data_of(data), data.size()) != 1)
        return failed("sign");
    Octets signature(length);
    if (EVP_DigestSign(context.get(), mutable_data_of(signature), &length, data_of(data),
                       data.size()) != 1)
        return failed("sign");
    signature.resize(length);
    if (signing.scheme != Scheme::Ecdsa) return signature;
    return pair_of_der(signature, field_bytes(key.get()));
}

Result<bool> verify(const Signing& signing, Bytes public_key, Bytes signature, Bytes data) {
    KeyHandle key = WEFT_TRY(parse_key(KeyType::Public, public_key));
    Octets der;
    if (signing.scheme == Scheme::Ecdsa) {
        if (signature.size() != 2 * field_bytes(key.get())) return false;
        der = WEFT_TRY(der_of_pair(signature, field_bytes(key.get())));
        signature = der;
    }
    if (signing.scheme == Scheme::Edwards && !may_verify_edwards(key.get(), signature)) {
        ERR_clear_error();
        return false;
    }
    DigestContext context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* inner = nullptr;
    const EVP_MD* hash = signing.scheme == Scheme::Edwards ? nullptr : hash_of(signing.hash);
    if (EVP_DigestVerifyInit(context.get(), &inner, hash, nullptr, key.get()) != 1 ||
        !set_padding(signing, inner))
        return failed("verify");
    bool good = EVP_DigestVerify(context.get(), data_of(signature), signature.size(), data_of(data),
                                 data.size()) == 1;
    ERR_clear_error();
    return good;
}

Result<Octets> rsa_oaep_encrypt(std::string_view hash, Bytes public_key, Bytes label, Bytes data) {
    KeyHandle key = WEFT_TRY(parse_key(KeyType::Public, public_key));
    return oaep(true, hash, std::move(key), label, data);
}

Result<Octets> rsa_oaep_decrypt(std::string_view hash, Bytes private_key, Bytes label, Bytes data) {
    KeyHandle key = WEFT_TRY(parse_key(KeyType::Private, private_key));
    return oaep(false, hash, std::move(key), label, data);
}

Result<Octets> agree(Bytes private_key, Bytes public_key) {
    KeyHandle own = WEFT_TRY(parse_key(KeyType::Private, private_key));
    KeyHandle other = WEFT_TRY(parse_key(KeyType::Public, public_key));
    KeyContext context(EVP_PKEY_CTX_new(own.get(), nullptr));
    std::size_t length = 0;
    if (EVP_PKEY_derive_init(context.get()) != 1 ||
        EVP_PKEY_derive_set_peer(context.get(), other.get()) != 1 ||
        EVP_PKEY_derive(context.get(), nullptr, &length) != 1)
        return failed("agree");
    Octets secret(length);
    if (EVP_PKEY_derive(context.get(), mutable_data_of(secret), &length) != 1)
        return failed("agree");
    secret.resize(length);
    return secret;
}

}  // namespace weft::crypto
