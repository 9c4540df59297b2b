#include "weft/api/crypto/bindings.h"
#include "weft/api/crypto/digest.h"
#include "weft/api/crypto/lattice_keys.h"
#include "weft/api/crypto/ml_dsa.h"
#include "weft/api/crypto/ml_kem.h"
#include "weft/fiber/blocking.h"
#include "weft/js/isolate.h"
#include "weft/js/task.h"

namespace weft::api {
namespace {

using crypto::Octets;

// Gives undefined for a failure: the script knows which exception to throw.
void give(js::Call& call, Result<Octets>&& result) {
    if (result) call.give_bytes(std::move(*result));
}

// Scripts number the parameter sets from the smallest one.
crypto::KemSet kem_set(const js::Call& call) {
    return static_cast<crypto::KemSet>(call.integer(0));
}
crypto::DsaSet dsa_set(const js::Call& call) {
    return static_cast<crypto::DsaSet>(call.integer(0));
}

Octets copied(js::Call& call, int at) {
    ByteSpace bytes = call.bytes(at);
    return {bytes.begin(), bytes.end()};
}

Result<Octets> random_bytes(std::size_t length) {
    Octets random(length);
    WEFT_TRY(crypto::fill_random(random));
    return random;
}

void kem_public_of(js::Call& call) {
    call.give_bytes(crypto::ml_kem_public_of(kem_set(call), call.bytes(1)));
}

void kem_is_public(js::Call& call) {
    call.give(crypto::ml_kem_is_public(kem_set(call), call.bytes(1)));
}

void kem_encapsulate(js::Call& call) {
    Result<Octets> random = random_bytes(crypto::kKemRandomBytes);
    if (!random) return;
    auto made = crypto::ml_kem_encapsulate(kem_set(call), call.bytes(1), *random);
    v8::Local<v8::Value> both[] = {
        js::new_array_buffer(call.v8(), std::move(made.shared)),
        js::new_array_buffer(call.v8(), std::move(made.ciphertext)),
    };
    call.give(call.array(both));
}

void kem_decapsulate(js::Call& call) {
    give(call, crypto::ml_kem_decapsulate(kem_set(call), call.bytes(1), call.bytes(2)));
}

void dsa_public_bytes(js::Call& call) {
    call.give(static_cast<double>(crypto::ml_dsa_public_bytes(dsa_set(call))));
}

void dsa_public_of(js::Call& call) {
    call.give_bytes(crypto::ml_dsa_public_of(dsa_set(call), call.bytes(1)));
}

// (set, seed, context, data). The number of attempts is random, so signing runs on a thread of the
// blocking pool.
void dsa_sign_later(js::Call& call) {
    auto sign = [set = dsa_set(call), seed = copied(call, 1), context = copied(call, 2),
                 data = copied(call, 3)]() -> Result<js::Settled> {
        Octets random = WEFT_TRY(random_bytes(crypto::kDsaRandomBytes));
        Octets signature = WEFT_TRY(
            blocking([&] { return crypto::ml_dsa_sign(set, seed, context, random, data); }));
        return js::settled(std::move(signature));
    };
    js::start_task(call, "sign", std::move(sign));
}

// (set, key, context, signature, data)
void dsa_verify(js::Call& call) {
    call.give(crypto::ml_dsa_verify(dsa_set(call), call.bytes(1), call.bytes(2), call.bytes(3),
                                    call.bytes(4)));
}

crypto::KeyType key_type(const js::Call& call) {
    return call.flag(0) ? crypto::KeyType::Private : crypto::KeyType::Public;
}

void unwrap(js::Call& call) {
    give(call, crypto::unwrap_lattice_key(key_type(call), call.text(1), call.bytes(2)));
}

void wrap(js::Call& call) {
    give(call, crypto::wrap_lattice_key(key_type(call), call.text(1), call.bytes(2)));
}

constexpr js::Binding kBindings[] = {
    js::bind<kem_public_of>("cryptoKemPublicOf", "(set: number, seed: BufferSource): ArrayBuffer"),
    js::bind<kem_is_public>("cryptoKemIsPublic", "(set: number, key: BufferSource): boolean"),
    js::bind<kem_encapsulate>("cryptoKemEncapsulate",
                              "(set: number, key: BufferSource): [shared: ArrayBuffer, "
                              "ciphertext: ArrayBuffer] | undefined"),
    js::bind<kem_decapsulate>("cryptoKemDecapsulate",
                              "(set: number, seed: BufferSource, ciphertext: BufferSource): "
                              "ArrayBuffer | undefined"),
    js::bind<dsa_public_bytes>("cryptoDsaPublicBytes", "(set: number): number"),
    js::bind<dsa_public_of>("cryptoDsaPublicOf", "(set: number, seed: BufferSource): ArrayBuffer"),
    js::bind<dsa_sign_later>("cryptoDsaSignLater",
                             "(set: number, seed: BufferSource, context: BufferSource, data: "
                             "BufferSource): Promise<ArrayBuffer>",
                             js::Awaits::Cancellable),
    js::bind<dsa_verify>("cryptoDsaVerify",
                         "(set: number, key: BufferSource, context: BufferSource, signature: "
                         "BufferSource, data: BufferSource): boolean"),
    js::bind<unwrap>("cryptoLatticeUnwrap",
                     "(isPrivate: boolean, name: string, der: BufferSource): ArrayBuffer | "
                     "undefined"),
    js::bind<wrap>("cryptoLatticeWrap",
                   "(isPrivate: boolean, name: string, inner: BufferSource): ArrayBuffer | "
                   "undefined"),
};

}  // namespace

std::span<const js::Binding> lattice_bindings() { return kBindings; }

}  // namespace weft::api
