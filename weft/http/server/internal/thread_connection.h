// ThreadConnection: what a thread does with the connection that it was started for.
#pragma once

#include "weft/base/log_limit.h"
#include "weft/http/server/internal/exchange.h"
#include "weft/http/server/server.h"
#include "weft/net/address.h"
#include "weft/net/stream.h"

namespace weft::http {

class Request;

// Owned by its thread, whose ambient context is that of the server.
class ThreadConnection {
public:
    ThreadConnection(const Handler& handler, const ServerOptions& options, net::Stream& stream,
                     const net::Address& peer)
        : handler_(handler),
          options_(options),
          stream_(stream),
          peer_(peer),
          exchange_(options.limits) {}

    // Requests and responses, until either side ends it.
    void serve();

private:
    bool read_head();
    bool answer();
    Response call_handler(Request& request);
    void refuse(std::uint16_t status, std::string_view reason);
    void report(const AccessRecord& record);
    void linger();

    const Handler& handler_;
    const ServerOptions& options_;
    net::Stream& stream_;
    const net::Address& peer_;
    Exchange exchange_;
    LogLimit log_limit_;
    std::uint64_t requests_ = 0;
};

}  // namespace weft::http
