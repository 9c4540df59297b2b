#include "weft/http/wire/sha1.h"

#include <openssl/err.h>
#include <openssl/evp.h>

namespace weft::http::wire {

Result<std::array<std::byte, 20>> sha1(Bytes bytes) {
    std::array<std::byte, 20> digest{};
    unsigned written = 0;
    int done =
        ::EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                     &written, ::EVP_sha1(), nullptr);
    if (done == 1 && written == digest.size()) return digest;
    ::ERR_clear_error();  // or the next reader of the queue, such as TLS, takes it for its own
    return Error(ErrorKind::Unavailable,
                 "OpenSSL is configured to refuse SHA-1, by which a WebSocket is opened");
}

}  // namespace weft::http::wire
