#include <cstdlib>
#include <string_view>

#include "weft/base/log.h"
#include "weft/fiber/io/reactor.h"

namespace weft {
namespace {

Result<std::unique_ptr<Reactor>> make_chosen() {
    const char* chosen = std::getenv("WEFT_REACTOR");
    std::string_view name = chosen ? chosen : "";
    if (name == "epoll") return reactors::make_epoll();
    if (name == "io_uring") return reactors::make_uring();
    if (name == "mixed") return reactors::make_mixed();
    if (!name.empty())
        return Error(ErrorKind::Misuse, "WEFT_REACTOR is epoll, io_uring or mixed, nothing else");
    // epoll is cheaper on sockets, io_uring on files; docs/design/ has the figures.
    Result<std::unique_ptr<Reactor>> reactor = reactors::make_mixed();
    if (reactor || reactor.error().kind() != ErrorKind::Unavailable) return reactor;
    log(LogLevel::Debug, "{}", reactor.error().message());
    return reactors::make_epoll();
}

}  // namespace

Result<std::unique_ptr<Reactor>> reactors::make_default() {
    Result<std::unique_ptr<Reactor>> reactor = make_chosen();
    static constinit LogOnce once;
    if (reactor) log_once(once, LogLevel::Info, "reactor: {}", (*reactor)->name());
    return reactor;
}

}  // namespace weft
