#include "weft/net/tls/internal/tickets.h"

#include <openssl/core_names.h>
#include <openssl/rand.h>

#include <algorithm>
#include <utility>

namespace weft::net::tls {
namespace {

bool use_hash_key(const TicketKey& key, EVP_MAC_CTX* hash) {
    char digest[] = "SHA256";
    auto* bytes = const_cast<unsigned char*>(key.hash_key.data());
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, bytes, key.hash_key.size()),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end()};
    return EVP_MAC_CTX_set_params(hash, parameters) == 1;
}

Result<TicketKey> make_key() {
    TicketKey key;
    ERR_clear_error();
    if (RAND_bytes(key.name.data(), static_cast<int>(key.name.size())) != 1 ||
        RAND_priv_bytes(key.cipher_key.data(), static_cast<int>(key.cipher_key.size())) != 1 ||
        RAND_priv_bytes(key.hash_key.data(), static_cast<int>(key.hash_key.size())) != 1) {
        return openssl_error("no random bytes for a ticket key");
    }
    return key;
}

}  // namespace

int TicketKeys::seal(unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                     EVP_MAC_CTX* hash) const {
    std::ranges::copy(current.name, name);
    const EVP_CIPHER* kind = EVP_aes_256_cbc();
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(kind)) != 1) return -1;
    if (EVP_EncryptInit_ex(cipher, kind, nullptr, current.cipher_key.data(), iv) != 1) return -1;
    return use_hash_key(current, hash) ? 1 : -1;
}

int TicketKeys::open(const unsigned char* name, const unsigned char* iv, EVP_CIPHER_CTX* cipher,
                     EVP_MAC_CTX* hash) const {
    constexpr TicketKey kNone;
    bool is_current = std::equal(current.name.begin(), current.name.end(), name);
    bool is_previous =
        previous.name != kNone.name && std::equal(previous.name.begin(), previous.name.end(), name);
    if (!is_current && !is_previous) return 0;  // 0: do a full handshake
    const TicketKey& key = is_current ? current : previous;
    if (!use_hash_key(key, hash)) return -1;
    const EVP_CIPHER* kind = EVP_aes_256_cbc();
    if (EVP_DecryptInit_ex(cipher, kind, nullptr, key.cipher_key.data(), iv) != 1) return -1;
    return is_current ? 1 : 2;  // 2: also give the client a ticket under the current key
}

Result<std::shared_ptr<const TicketKeys>> TicketRing::keys(Instant now) {
    {
        SpinGuard guard(lock_);
        if (keys_ && now - keys_->made < lifetime_) return keys_;
    }
    auto made = std::make_shared<TicketKeys>();
    made->current = WEFT_TRY(make_key());
    made->made = now;
    SpinGuard guard(lock_);
    if (keys_ && now - keys_->made < lifetime_) return keys_;  // another thread was faster
    if (keys_ && now - keys_->made < 2 * lifetime_) made->previous = keys_->current;
    keys_ = std::move(made);
    return keys_;
}

}  // namespace weft::net::tls
