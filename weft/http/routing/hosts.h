// Hosts: chooses the handler by the host of the request, for several sites on one server.
//
//     http::Hosts hosts;
//     hosts.add("example.org", main_site);
//     hosts.add("*.example.org", customer_sites);        // any depth below, not example.org itself
//     hosts.otherwise(unknown_site);
//     http::Server server(WEFT_TRY(std::move(hosts).build()));
//
// A full name is preferred to a wildcard, and a longer wildcard to a shorter one. Case, port and a
// dot at the end of the name do not count. Without otherwise(), a request for another host, or for
// none, is answered with 421 (Misdirected Request).
//
// Filled by one fiber or thread; the handler that build() gives may be called by any number of
// fibers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/base/result.h"
#include "weft/http/response.h"

namespace weft::http {

class Hosts {
public:
    Hosts();
    ~Hosts();
    Hosts(Hosts&&) noexcept;
    Hosts& operator=(Hosts&&) noexcept;

    // A name, an address (IPv6 without brackets), or "*." and a name.
    Hosts& add(std::string_view name, Handler handler);
    Hosts& otherwise(Handler handler);

    // Misuse when a name is malformed, was added twice or has no handler. Once.
    Result<Handler> build() &&;

private:
    class Table;
    // Shared by the copies of the handler that is built.
    std::shared_ptr<Table> table_;
    std::string mistake_;  // the first one, for build(); empty: none
};

}  // namespace weft::http
