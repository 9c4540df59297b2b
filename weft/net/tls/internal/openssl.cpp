#include "weft/net/tls/internal/openssl.h"

namespace weft::net::tls {

Error openssl_error(std::string_view what) {
    // The first error of a call is its cause; later ones only tell which functions passed it on.
    unsigned long code = ERR_get_error();
    ERR_clear_error();
    std::string message(what);
    if (code != 0) {
        const char* reason = ERR_reason_error_string(code);
        if (!message.empty()) message += ": ";
        message += reason ? reason : "unknown reason";
    }
    return Error(ErrorKind::Tls, message);
}

}  // namespace weft::net::tls
