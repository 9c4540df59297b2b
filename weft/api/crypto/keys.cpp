#include "weft/api/crypto/keys.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace weft::crypto {
namespace {

using Pkcs8 = std::unique_ptr<PKCS8_PRIV_KEY_INFO, FreeBy<PKCS8_PRIV_KEY_INFO_free>>;
using ParamBuild = std::unique_ptr<OSSL_PARAM_BLD, FreeBy<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, FreeBy<OSSL_PARAM_free>>;
using Group = std::unique_ptr<EC_GROUP, FreeBy<EC_GROUP_free>>;
using Point = std::unique_ptr<EC_POINT, FreeBy<EC_POINT_free>>;

struct Curve {
    std::string_view name;
    const char* openssl_name;
    int nid;
    std::size_t field_bytes;
};
constexpr Curve kCurves[] = {
    {"P-256", "prime256v1", NID_X9_62_prime256v1, 32},
    {"P-384", "secp384r1", NID_secp384r1, 48},
    {"P-521", "secp521r1", NID_secp521r1, 66},
};

const Curve* curve_named(std::string_view name) {
    for (const Curve& curve : kCurves)
        if (curve.name == name || curve.openssl_name == name) return &curve;
    return nullptr;
}

const Curve* curve_of(EVP_PKEY* key) {
    char name[64];
    std::size_t length = 0;
    if (EVP_PKEY_get_group_name(key, name, sizeof name, &length) != 1) return nullptr;
    return curve_named({name, length});
}

Number number_of(Bytes bytes) {
    return Number(BN_bin2bn(data_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

Number number_of(EVP_PKEY* key, const char* name) {
    BIGNUM* number = nullptr;
    EVP_PKEY_get_bn_param(key, name, &number);
    return Number(number);
}

Octets octets_of(const BIGNUM* number) {
    Octets octets(static_cast<std::size_t>(BN_num_bytes(number)));
    BN_bn2bin(number, mutable_data_of(octets));
    return octets;
}

Result<Octets> padded(const BIGNUM* number, std::size_t length) {
    Octets octets(length);
    if (!number || BN_bn2binpad(number, mutable_data_of(octets), static_cast<int>(length)) < 0)
        return failed("key");
    return octets;
}

Result<KeyHandle> key_from(const char* type, int selection, OSSL_PARAM* params) {
    KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
    EVP_PKEY* key = nullptr;
    if (!context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
        EVP_PKEY_fromdata(context.get(), &key, selection, params) != 1)
        return failed("key");
    return KeyHandle(key);
}

// The DER encoding that one of OpenSSL's i2d functions writes.
template <auto write, class T>
Result<Octets> written(T* thing) {
    unsigned char* bytes = nullptr;
    int length = write(thing, &bytes);
    if (length < 0) return failed("key");
    const auto* from = reinterpret_cast<const std::byte*>(bytes);
    Octets der(from, from + length);
    OPENSSL_clear_free(bytes, static_cast<std::size_t>(length));
    return der;
}

// The curves of RFC 7748 and RFC 8032.
struct Edwards {
    std::string_view name;
    const char* openssl_name;
    int nid;
};
constexpr Edwards kEdwards[] = {
    {"Ed25519", "ED25519", EVP_PKEY_ED25519},
    {"X25519", "X25519", EVP_PKEY_X25519},
    {"Ed448", "ED448", EVP_PKEY_ED448},
    {"X448", "X448", EVP_PKEY_X448},
};

const Edwards* edwards_where(auto fits) {
    const Edwards* found = std::ranges::find_if(kEdwards, fits);
    return found == std::end(kEdwards) ? nullptr : found;
}

// The kind must be one that the scripts know.
const char* edwards_name(std::string_view kind) {
    return edwards_where([&](const Edwards& one) { return one.name == kind; })->openssl_name;
}

}  // namespace

Result<KeyHandle> parse_key(KeyType key_type, Bytes der) {
    const unsigned char* at = data_of(der);
    const unsigned char* end = at + der.size();
    auto length = static_cast<long>(der.size());
    KeyHandle key;
    if (key_type == KeyType::Public) {
        key.reset(d2i_PUBKEY(nullptr, &at, length));
    } else {
        Pkcs8 form(d2i_PKCS8_PRIV_KEY_INFO(nullptr, &at, length));
        if (form) key.reset(EVP_PKCS82PKEY(form.get()));
    }
    if (!key || at != end) return failed("key");
    return key;
}

Result<Octets> encode_key(KeyType key_type, EVP_PKEY* key) {
    if (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC)
        EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                       "uncompressed");
    if (key_type == KeyType::Public) return written<i2d_PUBKEY>(key);
    Pkcs8 form(EVP_PKEY2PKCS8(key));
    if (!form) return failed("key");
    return written<i2d_PKCS8_PRIV_KEY_INFO>(form.get());
}

Result<KeyPair> encode_pair(EVP_PKEY* key) {
    KeyPair pair;
    pair.private_key = WEFT_TRY(encode_key(KeyType::Private, key));
    pair.public_key = WEFT_TRY(encode_key(KeyType::Public, key));
    return pair;
}

Result<Octets> public_of(Bytes private_der) {
    KeyHandle key = WEFT_TRY(parse_key(KeyType::Private, private_der));
    return encode_key(KeyType::Public, key.get());
}

Result<KeyDetails> details_of(KeyType key_type, Bytes der) {
    KeyHandle key = WEFT_TRY(parse_key(key_type, der));
    KeyDetails details;
    switch (EVP_PKEY_get_base_id(key.get())) {
    case EVP_PKEY_RSA: {
        details.kind = "RSA";
        details.bits = static_cast<unsigned>(EVP_PKEY_get_bits(key.get()));
        Number exponent = number_of(key.get(), OSSL_PKEY_PARAM_RSA_E);
        if (!exponent) return failed("key");
        details.exponent = octets_of(exponent.get());
        break;
    }
    case EVP_PKEY_EC: {
        const Curve* curve = curve_of(key.get());
        if (!curve) return failed("key: of another curve");
        details.kind = "EC";
        details.curve = curve->name;
        KeyContext context(EVP_PKEY_CTX_new(key.get(), nullptr));
        if (EVP_PKEY_public_check(context.get()) != 1) return failed("key");
        break;
    }
    default: {
        int id = EVP_PKEY_get_base_id(key.get());
        const Edwards* edwards = edwards_where([&](const Edwards& one) { return one.nid == id; });
        if (!edwards) return failed("key: of another kind");
        details.kind = edwards->name;
        break;
    }
    }
    details.der = WEFT_TRY(encode_key(key_type, key.get()));
    return details;
}

// ---- generation

Result<KeyPair> generate_rsa(unsigned bits, Bytes exponent) {
    KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
    Number e = number_of(exponent);
    EVP_PKEY* key = nullptr;
    if (EVP_PKEY_keygen_init(context.get()) != 1 ||
        EVP_PKEY_CTX_set_rsa_keygen_bits(context.get(), static_cast<int>(bits)) != 1 ||
        EVP_PKEY_CTX_set1_rsa_keygen_pubexp(context.get(), e.get()) != 1 ||
        EVP_PKEY_keygen(context.get(), &key) != 1)
        return failed("key");
    return encode_pair(KeyHandle(key).get());
}

Result<KeyPair> generate_ec(std::string_view curve) {
    KeyHandle key(EVP_EC_gen(curve_named(curve)->openssl_name));
    if (!key) return failed("key");
    return encode_pair(key.get());
}

Result<KeyPair> generate_edwards(std::string_view kind) {
    KeyHandle key(EVP_PKEY_Q_keygen(nullptr, nullptr, edwards_name(kind)));
    if (!key) return failed("key");
    return encode_pair(key.get());
}

// ---- RSA

namespace {
constexpr std::array<const char*, 8> kRsaNames = {
    OSSL_PKEY_PARAM_RSA_N,         OSSL_PKEY_PARAM_RSA_E,
    OSSL_PKEY_PARAM_RSA_D,         OSSL_PKEY_PARAM_RSA_FACTOR1,
    OSSL_PKEY_PARAM_RSA_FACTOR2,   OSSL_PKEY_PARAM_RSA_EXPONENT1,
    OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
};
}  // namespace

Result<std::vector<Octets>> rsa_numbers(KeyType key_type, Bytes der) {
    KeyHandle key = WEFT_TRY(parse_key(key_type, der));
    std::vector<Octets> numbers;
    std::size_t count = key_type == KeyType::Public ? 2 : kRsaNames.size();
    for (std::size_t at = 0; at < count; ++at) {
        Number number = number_of(key.get(), kRsaNames[at]);
        if (!number) return failed("key");
        numbers.push_back(octets_of(number.get()));
    }
    return numbers;
}

Result<Octets> rsa_of_numbers(KeyType key_type, const std::vector<Bytes>& numbers) {
    ParamBuild build(OSSL_PARAM_BLD_new());
    std::vector<Number> kept;
    for (std::size_t at = 0; at < numbers.size() && at < kRsaNames.size(); ++at) {
        kept.push_back(number_of(numbers[at]));
        OSSL_PARAM_BLD_push_BN(build.get(), kRsaNames[at], kept.back().get());
    }
    Params params(OSSL_PARAM_BLD_to_param(build.get()));
    int selection = key_type == KeyType::Public ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR;
    KeyHandle key = WEFT_TRY(key_from("RSA", selection, params.get()));
    if (key_type == KeyType::Private) {
        KeyContext context(EVP_PKEY_CTX_new(key.get(), nullptr));
        if (EVP_PKEY_pairwise_check(context.get()) != 1) return failed("key");
    }
    return encode_key(key_type, key.get());
}

// ---- elliptic curves

Result<std::vector<Octets>> ec_numbers(KeyType key_type, Bytes der) {
    KeyHandle key = WEFT_TRY(parse_key(key_type, der));
    const Curve* curve = curve_of(key.get());
    if (!curve) return failed("key: of another curve");
    std::vector<Octets> numbers;
    Number x = number_of(key.get(), OSSL_PKEY_PARAM_EC_PUB_X);
    Number y = number_of(key.get(), OSSL_PKEY_PARAM_EC_PUB_Y);
    numbers.push_back(WEFT_TRY(padded(x.get(), curve->field_bytes)));
    numbers.push_back(WEFT_TRY(padded(y.get(), curve->field_bytes)));
    if (key_type == KeyType::Private) {
        Number d = number_of(key.get(), OSSL_PKEY_PARAM_PRIV_KEY);
        numbers.push_back(WEFT_TRY(padded(d.get(), curve->field_bytes)));
    }
    return numbers;
}

Result<Octets> ec_of_point(std::string_view name, Bytes bytes) {
    const Curve* curve = curve_named(name);
    Group group(EC_GROUP_new_by_curve_name(curve->nid));
    Point point(EC_POINT_new(group.get()));
    // EC_POINT_oct2point refuses points that are not on the curve. The hybrid form and the point at
    // infinity are refused here.
    if (bytes.empty() || static_cast<unsigned>(bytes[0]) < 2 ||
        static_cast<unsigned>(bytes[0]) > 4 ||
        EC_POINT_oct2point(group.get(), point.get(), data_of(bytes), bytes.size(), nullptr) != 1)
        return failed("key");
    Octets whole(1 + 2 * curve->field_bytes);
    EC_POINT_point2oct(group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED,
                       mutable_data_of(whole), whole.size(), nullptr);
    ParamBuild build(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve->openssl_name,
                                    0);
    OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, whole.data(),
                                     whole.size());
    Params params(OSSL_PARAM_BLD_to_param(build.get()));
    KeyHandle key = WEFT_TRY(key_from("EC", EVP_PKEY_PUBLIC_KEY, params.get()));
    return encode_key(KeyType::Public, key.get());
}

Result<Octets> ec_of_numbers(std::string_view name, Bytes x, Bytes y, Bytes d) {
    const Curve* curve = curve_named(name);
    Octets point(1, std::byte{4});
    point.insert(point.end(), x.begin(), x.end());
    point.insert(point.end(), y.begin(), y.end());
    // Also checks the point.
    Octets public_key = WEFT_TRY(ec_of_point(name, point));
    if (d.empty()) return public_key;
    Number secret = number_of(d);
    Group group(EC_GROUP_new_by_curve_name(curve->nid));
    Point expected(EC_POINT_new(group.get()));
    Point given(EC_POINT_new(group.get()));
    if (BN_is_zero(secret.get()) ||
        EC_POINT_mul(group.get(), expected.get(), secret.get(), nullptr, nullptr, nullptr) != 1 ||
        EC_POINT_oct2point(group.get(), given.get(), mutable_data_of(point), point.size(),
                           nullptr) != 1 ||
        EC_POINT_cmp(group.get(), expected.get(), given.get(), nullptr) != 0)
        return failed("key");
    ParamBuild build(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve->openssl_name,
                                    0);
    OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                     point.size());
    OSSL_PARAM_BLD_push_BN_pad(build.get(), OSSL_PKEY_PARAM_PRIV_KEY, secret.get(),
                               curve->field_bytes);
    Params params(OSSL_PARAM_BLD_to_param(build.get()));
    KeyHandle key = WEFT_TRY(key_from("EC", EVP_PKEY_KEYPAIR, params.get()));
    return encode_key(KeyType::Private, key.get());
}

// ---- Edwards and Montgomery curves

Result<std::vector<Octets>> edwards_numbers(KeyType key_type, Bytes der) {
    KeyHandle key = WEFT_TRY(parse_key(key_type, der));
    std::vector<Octets> numbers(key_type == KeyType::Public ? 1 : 2);
    // Both keys have the same length, which OpenSSL returns when no buffer is given.
    std::size_t length = 0;
    if (EVP_PKEY_get_raw_public_key(key.get(), nullptr, &length) != 1) return failed("key");
    for (Octets& number : numbers) number.resize(length);
    if (EVP_PKEY_get_raw_public_key(key.get(), mutable_data_of(numbers[0]), &length) != 1)
        return failed("key");
    if (key_type == KeyType::Private &&
        EVP_PKEY_get_raw_private_key(key.get(), mutable_data_of(numbers[1]), &length) != 1)
        return failed("key");
    return numbers;
}

Result<Octets> edwards_of_number(std::string_view kind, KeyType key_type, Bytes number) {
    auto make = key_type == KeyType::Public ? EVP_PKEY_new_raw_public_key_ex
                                            : EVP_PKEY_new_raw_private_key_ex;
    KeyHandle key(make(nullptr, edwards_name(kind), nullptr, data_of(number), number.size()));
    if (!key) return failed("key");
    return encode_key(key_type, key.get());
}

}  // namespace weft::crypto
