// Certificates: those of the listeners. They are reloaded when their files change, and on SIGHUP.
//
// Open connections are not affected. If a file cannot be used, the old certificate stays in use and
// a message is written. Certificate and key are two files, so they are read only when neither has
// changed for a moment.
//
// One fiber, unless said otherwise.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/app/config.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/fiber/os/folder_watch.h"
#include "weft/fiber/os/signal.h"
#include "weft/net/tls/tls_config.h"
#include "weft/sync/event.h"

namespace weft::app {

class Certificates {
public:
    // Reads the files for the first time.
    Result<std::shared_ptr<net::tls::ServerContext>> open(const TlsFiles& files);
    bool is_empty() const { return shown_.empty(); }
    // Any fiber. Whether the certificate presented for `server_name` (TLS SNI) also covers `host`.
    bool are_for(std::string_view server_name, std::string_view host) const;

    // Reloads when necessary, until it is cancelled.
    Result<void> watch();

private:
    struct Shown {
        TlsFiles files;
        std::vector<SeenFile> seen;
        std::shared_ptr<net::tls::ServerContext> context;  // shared with the listener
    };
    Result<void> wait_until_quiet();
    static void reload(Shown& shown);

    std::vector<Shown> shown_;
    // SIGHUP is watched only if there are certificates; by default it ends the process.
    std::optional<SignalWatch> signals_;
    Event changed_;                         // files or reload_requested_
    Atomic<bool> reload_requested_{false};  // by a signal
};

}  // namespace weft::app
