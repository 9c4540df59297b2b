#include "weft/api/crypto/argon2.h"
#include "weft/api/crypto/bindings.h"
#include "weft/api/crypto/cipher.h"
#include "weft/api/crypto/digest.h"
#include "weft/api/crypto/keccak.h"
#include "weft/api/crypto/sign.h"
#include "weft/base/function.h"
#include "weft/fiber/blocking.h"
#include "weft/js/isolate.h"
#include "weft/js/task.h"

namespace weft::api {
namespace {

using crypto::KeyType;
using crypto::Octets;

// Gives undefined for a failure: the script knows which exception to throw.
void give(js::Call& call, Result<Octets>&& result) {
    if (result) call.give_bytes(std::move(*result));
}

void give_list(js::Call& call, Result<std::vector<Octets>>&& result) {
    if (!result) return;
    std::vector<v8::Local<v8::Value>> values;
    for (Octets& octets : *result)
        values.push_back(js::new_array_buffer(call.v8(), std::move(octets)));
    call.give(call.array(values));
}

v8::Local<v8::Array> array_of(v8::Isolate* isolate, crypto::KeyPair&& pair) {
    v8::Local<v8::Value> both[] = {
        js::new_array_buffer(isolate, std::move(pair.private_key)),
        js::new_array_buffer(isolate, std::move(pair.public_key)),
    };
    return v8::Array::New(isolate, both, std::size(both));
}

void give_pair(js::Call& call, Result<crypto::KeyPair>&& result) {
    if (result) call.give(array_of(call.v8(), std::move(*result)));
}

KeyType key_type(const js::Call& call, int at) {
    return call.flag(at) ? KeyType::Private : KeyType::Public;
}

crypto::Direction direction(const js::Call& call, int at) {
    return call.flag(at) ? crypto::Direction::Encrypt : crypto::Direction::Decrypt;
}

std::size_t size(const js::Call& call, int at) {
    return static_cast<std::size_t>(call.integer(at));
}

// ---- randomness and hashes

void random(js::Call& call) {
    if (!crypto::fill_random(call.bytes(0))) call.throw_error("there is no randomness");
}

void uuid(js::Call& call) {
    std::byte bytes[16];
    if (!crypto::fill_random(bytes)) return call.throw_error("there is no randomness");
    // RFC 9562 §5.4: the version and the variant.
    bytes[6] = (bytes[6] & std::byte{0x0f}) | std::byte{0x40};
    bytes[8] = (bytes[8] & std::byte{0x3f}) | std::byte{0x80};
    constexpr char kDigits[] = "0123456789abcdef";
    char text[36];
    char* at = text;
    for (std::size_t i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
        *at++ = kDigits[std::to_integer<unsigned>(bytes[i]) >> 4];
        *at++ = kDigits[std::to_integer<unsigned>(bytes[i]) & 15];
    }
    call.give_latin1({text, sizeof text});
}

void digest(js::Call& call) { give(call, crypto::digest(call.text(0), call.bytes(1))); }

void hmac(js::Call& call) { give(call, crypto::hmac(call.text(0), call.bytes(1), call.bytes(2))); }

void equal(js::Call& call) { call.give(crypto::equal(call.bytes(0), call.bytes(1))); }

void hkdf(js::Call& call) {
    give(call,
         crypto::hkdf(call.text(0), call.bytes(1), call.bytes(2), call.bytes(3), size(call, 4)));
}

void pbkdf2(js::Call& call) {
    give(call, crypto::pbkdf2(call.text(0), call.bytes(1), call.bytes(2),
                              static_cast<unsigned>(call.integer(3)), size(call, 4)));
}

crypto::ScryptCost scrypt_cost(const js::Call& call, int at) {
    return {size(call, at), size(call, at + 1), size(call, at + 2), size(call, at + 3)};
}

// (password, salt, lengthBytes, n, r, p, memoryBytesMax)
void scrypt(js::Call& call) {
    give(call, crypto::scrypt(call.bytes(0), call.bytes(1), scrypt_cost(call, 3), size(call, 2)));
}

Octets copied(js::Call& call, int at) {
    ByteSpace bytes = call.bytes(at);
    return {bytes.begin(), bytes.end()};
}

// Runs the function on a thread of the blocking pool and gives a promise.
void bytes_later(js::Call& call, std::string_view name,
                 std::move_only_function<Result<Octets>()> make) {
    js::start_task(call, name, [make = std::move(make)]() mutable -> Result<js::Settled> {
        Octets octets = WEFT_TRY(blocking([&] { return make(); }));
        return js::settled(std::move(octets));
    });
}

// The purpose of these functions is to be slow.
void derive_later(js::Call& call, std::move_only_function<Result<Octets>()> derive) {
    bytes_later(call, "derive a key", std::move(derive));
}

void scrypt_later(js::Call& call) {
    derive_later(call,
                 [password = copied(call, 0), salt = copied(call, 1), cost = scrypt_cost(call, 3),
                  length = size(call, 2)] { return crypto::scrypt(password, salt, cost, length); });
}

void pbkdf2_later(js::Call& call) {
    derive_later(call,
                 [hash = call.text(0), password = copied(call, 1), salt = copied(call, 2),
                  iterations = static_cast<unsigned>(call.integer(3)), length = size(call, 4)] {
                     return crypto::pbkdf2(hash, password, salt, iterations, length);
                 });
}

// (type, password, nonce, secret, associated, lanes, kibibytes, passes, lengthBytes)
void argon2_later(js::Call& call) {
    auto number = [&](int at) { return static_cast<std::uint32_t>(call.integer(at)); };
    derive_later(
        call, [type = static_cast<crypto::Argon2Type>(call.integer(0)), password = copied(call, 1),
               nonce = copied(call, 2), secret = copied(call, 3), associated = copied(call, 4),
               lanes = number(5), kibibytes = number(6), passes = number(7), length = number(8)] {
            return crypto::argon2(
                {type, password, nonce, secret, associated, lanes, kibibytes, passes}, length);
        });
}

// ---- functions of any output length

crypto::Strength strength(const js::Call& call) {
    return call.integer(0) == 128 ? crypto::Strength::Bits128 : crypto::Strength::Bits256;
}

// (strength, functionName, customization, outputBits, data)
void cshake(js::Call& call) {
    call.give_bytes(
        crypto::cshake(strength(call), call.bytes(1), call.bytes(2), call.bytes(4), size(call, 3)));
}

// (strength, key, customization, outputBits, data)
void kmac(js::Call& call) {
    call.give_bytes(
        crypto::kmac(strength(call), call.bytes(1), call.bytes(2), call.bytes(4), size(call, 3)));
}

// (strength, domain, outputBytes, data)
void turbo_shake(js::Call& call) {
    call.give_bytes(crypto::turbo_shake(strength(call), static_cast<unsigned char>(call.integer(1)),
                                        call.bytes(3), size(call, 2)));
}

// (strength, customization, outputBytes, data)
void kangaroo_twelve(js::Call& call) {
    call.give_bytes(
        crypto::kangaroo_twelve(strength(call), call.bytes(1), call.bytes(3), size(call, 2)));
}

// ---- AES and ChaCha20

void aes_cbc(js::Call& call) {
    give(call, crypto::aes_cbc(direction(call, 0), call.bytes(1), call.bytes(2), call.bytes(3)));
}

void aes_ctr(js::Call& call) {
    give(call, crypto::aes_ctr(call.bytes(0), call.bytes(1), static_cast<unsigned>(call.integer(2)),
                               call.bytes(3)));
}

crypto::Aead aead_named(std::string_view name) {
    if (name == "AES-GCM") return crypto::Aead::AesGcm;
    return name == "AES-OCB" ? crypto::Aead::AesOcb : crypto::Aead::ChaCha20Poly1305;
}

// (name, encrypts, key, iv, additional, tagBytes, data)
void aead(js::Call& call) {
    crypto::Sealing sealing{call.bytes(2), call.bytes(3), call.bytes(4), size(call, 5)};
    give(call, crypto::aead(aead_named(call.text(0)), direction(call, 1), sealing, call.bytes(6)));
}

void aes_kw(js::Call& call) {
    give(call, crypto::aes_key_wrap(direction(call, 0), call.bytes(1), call.bytes(2)));
}

// ---- keys

void public_of(js::Call& call) { give(call, crypto::public_of(call.bytes(0))); }

void key_details(js::Call& call) {
    auto details = crypto::details_of(key_type(call, 0), call.bytes(1));
    if (!details) return;
    v8::Local<v8::Value> parts[] = {
        call.string(details->kind),
        call.string(details->curve),
        v8::Number::New(call.v8(), details->bits),
        js::new_array_buffer(call.v8(), std::move(details->exponent)),
        js::new_array_buffer(call.v8(), std::move(details->der)),
    };
    call.give(call.array(parts));
}

void rsa_generate(js::Call& call) {
    auto generate = [bits = static_cast<unsigned>(call.integer(0)),
                     exponent = copied(call, 1)]() -> Result<js::Settled> {
        crypto::KeyPair pair =
            WEFT_TRY(blocking([&] { return crypto::generate_rsa(bits, exponent); }));
        return js::Settled(
            [pair = std::move(pair)](js::Isolate& isolate) mutable -> v8::MaybeLocal<v8::Value> {
                return array_of(isolate.v8(), std::move(pair)).As<v8::Value>();
            });
    };
    js::start_task(call, "RSA key", std::move(generate));
}

void ec_generate(js::Call& call) { give_pair(call, crypto::generate_ec(call.text(0))); }

void edwards_generate(js::Call& call) { give_pair(call, crypto::generate_edwards(call.text(0))); }

void rsa_numbers(js::Call& call) {
    give_list(call, crypto::rsa_numbers(key_type(call, 0), call.bytes(1)));
}

// The numbers are the arguments after the first one.
void rsa_of_numbers(js::Call& call) {
    std::vector<Bytes> numbers;
    for (int at = 1; at < call.count(); ++at) numbers.push_back(call.bytes(at));
    give(call, crypto::rsa_of_numbers(key_type(call, 0), numbers));
}

void ec_numbers(js::Call& call) {
    give_list(call, crypto::ec_numbers(key_type(call, 0), call.bytes(1)));
}

void ec_of_point(js::Call& call) { give(call, crypto::ec_of_point(call.text(0), call.bytes(1))); }

void ec_of_numbers(js::Call& call) {
    Bytes secret;
    if (call.has(3)) secret = call.bytes(3);
    give(call, crypto::ec_of_numbers(call.text(0), call.bytes(1), call.bytes(2), secret));
}

void edwards_numbers(js::Call& call) {
    give_list(call, crypto::edwards_numbers(key_type(call, 0), call.bytes(1)));
}

void edwards_of_number(js::Call& call) {
    give(call, crypto::edwards_of_number(call.text(0), key_type(call, 1), call.bytes(2)));
}

// ---- signatures, encryption, agreement

crypto::Scheme scheme_named(std::string_view name) {
    if (name == "RSASSA-PKCS1-v1_5") return crypto::Scheme::RsaPkcs1;
    if (name == "RSA-PSS") return crypto::Scheme::RsaPss;
    return name == "ECDSA" ? crypto::Scheme::Ecdsa : crypto::Scheme::Edwards;
}

// (scheme, hash, saltBytes, key, data)
void sign(js::Call& call) {
    std::string hash = call.text(1);
    crypto::Signing signing{scheme_named(call.text(0)), hash, size(call, 2)};
    give(call, crypto::sign(signing, call.bytes(3), call.bytes(4)));
}

// (scheme, hash, saltBytes, key, signature, data)
void verify(js::Call& call) {
    std::string hash = call.text(1);
    crypto::Signing signing{scheme_named(call.text(0)), hash, size(call, 2)};
    Result<bool> good = crypto::verify(signing, call.bytes(3), call.bytes(4), call.bytes(5));
    if (good) call.give(*good);
}

// (hash, key, label, data)
void rsa_oaep_encrypt(js::Call& call) {
    give(call, crypto::rsa_oaep_encrypt(call.text(0), call.bytes(1), call.bytes(2), call.bytes(3)));
}

// An RSA operation with the private key takes milliseconds, so these functions run on another
// thread.

// The arguments are those of sign().
void sign_later(js::Call& call) {
    bytes_later(call, "sign",
                [scheme = scheme_named(call.text(0)), hash = call.text(1), salt = size(call, 2),
                 key = copied(call, 3),
                 data = copied(call, 4)] { return crypto::sign({scheme, hash, salt}, key, data); });
}

// (hash, key, label, data)
void rsa_oaep_decrypt_later(js::Call& call) {
    bytes_later(
        call, "decrypt",
        [hash = call.text(0), key = copied(call, 1), label = copied(call, 2),
         data = copied(call, 3)] { return crypto::rsa_oaep_decrypt(hash, key, label, data); });
}

void agree(js::Call& call) { give(call, crypto::agree(call.bytes(0), call.bytes(1))); }

constexpr js::Binding kBindings[] = {
    js::bind<random>("cryptoRandom", "(space: ArrayBufferView): void"),
    js::bind<uuid>("cryptoUuid", "(): string"),
    js::bind<digest>("cryptoDigest", "(hash: string, data: BufferSource): ArrayBuffer | undefined"),
    js::bind<hmac>(
        "cryptoHmac",
        "(hash: string, key: BufferSource, data: BufferSource): ArrayBuffer | undefined"),
    js::bind<equal>("cryptoEqual", "(a: BufferSource, b: BufferSource): boolean"),
    js::bind<hkdf>("cryptoHkdf",
                   "(hash: string, key: BufferSource, salt: BufferSource, info: BufferSource, "
                   "lengthBytes: number): ArrayBuffer | undefined"),
    js::bind<pbkdf2>("cryptoPbkdf2",
                     "(hash: string, password: BufferSource, salt: BufferSource, iterations: "
                     "number, lengthBytes: number): ArrayBuffer | undefined"),
    js::bind<scrypt>("cryptoScrypt",
                     "(password: BufferSource, salt: BufferSource, lengthBytes: number, n: number, "
                     "r: number, p: number, memoryBytesMax: number): ArrayBuffer | undefined"),
    js::bind<scrypt_later>("cryptoScryptLater",
                           "(password: BufferSource, salt: BufferSource, lengthBytes: number, n: "
                           "number, r: number, p: number, memoryBytesMax: number): "
                           "Promise<ArrayBuffer>",
                           js::Awaits::Cancellable),
    js::bind<pbkdf2_later>("cryptoPbkdf2Later",
                           "(hash: string, password: BufferSource, salt: BufferSource, "
                           "iterations: number, lengthBytes: number): Promise<ArrayBuffer>",
                           js::Awaits::Cancellable),
    js::bind<argon2_later>("cryptoArgon2Later",
                           "(type: number, password: BufferSource, nonce: BufferSource, secret: "
                           "BufferSource, associated: BufferSource, lanes: number, kibibytes: "
                           "number, passes: number, lengthBytes: number): Promise<ArrayBuffer>",
                           js::Awaits::Cancellable),
    js::bind<cshake>("cryptoCshake",
                     "(strength: number, functionName: BufferSource, customization: BufferSource, "
                     "outputBits: number, data: BufferSource): ArrayBuffer"),
    js::bind<kmac>("cryptoKmac",
                   "(strength: number, key: BufferSource, customization: BufferSource, "
                   "outputBits: number, data: BufferSource): ArrayBuffer"),
    js::bind<turbo_shake>("cryptoTurboShake",
                          "(strength: number, domain: number, outputBytes: number, data: "
                          "BufferSource): ArrayBuffer"),
    js::bind<kangaroo_twelve>("cryptoKangarooTwelve",
                              "(strength: number, customization: BufferSource, outputBytes: "
                              "number, data: BufferSource): ArrayBuffer"),
    js::bind<aes_cbc>("cryptoAesCbc",
                      "(encrypts: boolean, key: BufferSource, iv: BufferSource, data: "
                      "BufferSource): ArrayBuffer | undefined"),
    js::bind<aes_ctr>("cryptoAesCtr",
                      "(key: BufferSource, counter: BufferSource, counterBits: number, data: "
                      "BufferSource): ArrayBuffer | undefined"),
    js::bind<aead>("cryptoAead",
                   "(name: string, encrypts: boolean, key: BufferSource, iv: BufferSource, "
                   "additional: BufferSource, tagBytes: number, data: BufferSource): ArrayBuffer "
                   "| undefined"),
    js::bind<aes_kw>("cryptoAesKw",
                     "(encrypts: boolean, key: BufferSource, data: BufferSource): ArrayBuffer | "
                     "undefined"),
    js::bind<key_details>("cryptoKeyDetails",
                          "(isPrivate: boolean, der: BufferSource): [kind: string, curve: string, "
                          "bits: number, exponent: ArrayBuffer, der: ArrayBuffer] | undefined"),
    js::bind<public_of>("cryptoPublicOf", "(privateDer: BufferSource): ArrayBuffer | undefined"),
    js::bind<rsa_generate>("cryptoRsaGenerate",
                           "(bits: number, exponent: BufferSource): Promise<ArrayBuffer[]>",
                           js::Awaits::Cancellable),
    js::bind<ec_generate>("cryptoEcGenerate", "(curve: string): ArrayBuffer[] | undefined"),
    js::bind<edwards_generate>("cryptoEdwardsGenerate",
                               "(kind: string): ArrayBuffer[] | undefined"),
    js::bind<rsa_numbers>("cryptoRsaNumbers",
                          "(isPrivate: boolean, der: BufferSource): ArrayBuffer[] | undefined"),
    js::bind<rsa_of_numbers>("cryptoRsaOfNumbers",
                             "(isPrivate: boolean, ...numbers: BufferSource[]): ArrayBuffer | "
                             "undefined"),
    js::bind<ec_numbers>("cryptoEcNumbers",
                         "(isPrivate: boolean, der: BufferSource): ArrayBuffer[] | undefined"),
    js::bind<ec_of_point>("cryptoEcOfPoint",
                          "(curve: string, point: BufferSource): ArrayBuffer | undefined"),
    js::bind<ec_of_numbers>("cryptoEcOfNumbers",
                            "(curve: string, x: BufferSource, y: BufferSource, d?: BufferSource): "
                            "ArrayBuffer | undefined"),
    js::bind<edwards_numbers>("cryptoEdwardsNumbers",
                              "(isPrivate: boolean, der: BufferSource): ArrayBuffer[] | undefined"),
    js::bind<edwards_of_number>("cryptoEdwardsOfNumber",
                                "(kind: string, isPrivate: boolean, number: BufferSource): "
                                "ArrayBuffer | undefined"),
    js::bind<sign>("cryptoSign",
                   "(scheme: string, hash: string, saltBytes: number, key: BufferSource, data: "
                   "BufferSource): ArrayBuffer | undefined"),
    js::bind<verify>("cryptoVerify",
                     "(scheme: string, hash: string, saltBytes: number, key: BufferSource, "
                     "signature: BufferSource, data: BufferSource): boolean | undefined"),
    js::bind<sign_later>("cryptoSignLater",
                         "(scheme: string, hash: string, saltBytes: number, key: BufferSource, "
                         "data: BufferSource): Promise<ArrayBuffer>",
                         js::Awaits::Cancellable),
    js::bind<rsa_oaep_encrypt>("cryptoRsaOaepEncrypt",
                               "(hash: string, key: BufferSource, label: BufferSource, data: "
                               "BufferSource): ArrayBuffer | undefined"),
    js::bind<rsa_oaep_decrypt_later>("cryptoRsaOaepDecryptLater",
                                     "(hash: string, key: BufferSource, label: BufferSource, "
                                     "data: BufferSource): Promise<ArrayBuffer>",
                                     js::Awaits::Cancellable),
    js::bind<agree>("cryptoAgree",
                    "(privateKey: BufferSource, publicKey: BufferSource): ArrayBuffer | undefined"),
};

}  // namespace

std::span<const js::Binding> crypto_bindings() { return kBindings; }

}  // namespace weft::api
