#include "weft/http/wire/sha1.h"

#include <openssl/evp.h>

#include "weft/base/assert.h"

namespace weft::http::wire {

std::array<std::byte, 20> sha1(Bytes bytes) {
    std::array<std::byte, 20> digest{};
    unsigned written = 0;
    int done =
        ::EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                     &written, ::EVP_sha1(), nullptr);
    WEFT_ASSERT(done == 1 && written == digest.size(), "this OpenSSL refuses SHA-1");
    return digest;
}

}  // namespace weft::http::wire
