// The keys that encrypt a server's session tickets.
#pragma once

#include <array>
#include <memory>

#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/net/tls/internal/openssl.h"

namespace weft::net::tls {

struct TicketKey {
    std::array<unsigned char, 16> name{};  // all zero: there is none
    std::array<unsigned char, 32> cipher_key{};
    std::array<unsigned char, 32> hash_key{};
};

// Immutable once made.
struct TicketKeys {
    TicketKey current;
    TicketKey previous;
    Instant made{};

    // Encrypts and decrypts a ticket as SSL_CTX_set_tlsext_ticket_key_evp_cb() specifies.
    int seal(unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
             EVP_MAC_CTX* hash) const;
    int open(const unsigned char* name, const unsigned char* iv, EVP_CIPHER_CTX* cipher,
             EVP_MAC_CTX* hash) const;
};

// The current keys; makes new ones when their lifetime is over. Any thread.
class TicketRing {
public:
    explicit TicketRing(Nanoseconds lifetime) : lifetime_(lifetime) {}

    // Shared by the ring and the handshakes that began under these keys.
    Result<std::shared_ptr<const TicketKeys>> keys(Instant now);

private:
    const Nanoseconds lifetime_;
    SpinLock lock_;
    std::shared_ptr<const TicketKeys> keys_;
};

}  // namespace weft::net::tls
