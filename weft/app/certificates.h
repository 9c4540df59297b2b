// Certificates: those of the listeners, shown anew when their files change and on SIGHUP.
//
// Connections that are up stay. A file that cannot be used leaves what is shown as it is, and is
// told. As certificate and key are two files, they are read when it has been quiet for a moment.
//
// A fiber.
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
    // A client that asked for this server by name may ask it for that host as well; any fiber.
    bool are_for(std::string_view server_name, std::string_view host) const;

    // Until it is cancelled.
    Result<void> watch();

private:
    struct Shown {
        TlsFiles files;
        std::vector<SeenFile> seen;
        std::shared_ptr<net::tls::ServerContext> context;  // with the listener
    };
    Result<void> wait_until_quiet();
    static void reload(Shown& shown);

    std::vector<Shown> shown_;
    // From the first certificate on: the signal ends a process that does not look for it.
    std::optional<SignalWatch> signals_;
    Event news_;
    Atomic<bool> is_asked_{false};  // by a signal
};

}  // namespace weft::app
