// Request: what a client asks of a handler.
//
// Its views live as long as the request, which lives until its response has been written. Owned by
// the fiber that handles it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/http/body.h"
#include "weft/http/headers.h"
#include "weft/http/wire/head.h"
#include "weft/http/wire/target.h"
#include "weft/net/address.h"
#include "weft/net/stream.h"

namespace weft::http {

class Request {
public:
    std::string_view method() const { return head_->method; }
    std::string_view target() const { return head_->target; }  // as it was sent
    // As it was sent, "/a%20b", without the part that whoever mounted this handler has matched.
    std::string_view path() const { return target_.path.substr(mounted_bytes_); }
    std::string_view whole_path() const { return target_.path; }
    std::string_view query() const { return target_.query; }  // without '?'
    wire::Version version() const { return head_->version; }
    std::string_view host() const { return head_->host; }

    const Headers& headers() const { return head_->headers; }
    std::optional<std::string_view> header(std::string_view name) const {
        return head_->headers.get(name);
    }
    bool upgrades() const { return head_->upgrades; }

    BodyReader& body() { return *body_; }

    // What the router found in the path, decoded: of "/users/:id" the "id".
    std::optional<std::string_view> parameter(std::string_view name) const;
    void set_parameters(std::vector<std::pair<std::string, std::string>> parameters) {
        parameters_ = std::move(parameters);
    }

    // Instead of an outer router's of the same name.
    void add_parameter(std::string_view name, std::string value) {
        parameters_.emplace_back(name, std::move(value));
    }
    // For routers: the first bytes of the path are matched, and not the next handler's business.
    void mount(std::size_t bytes) { mounted_bytes_ += bytes; }

    const net::Address& peer() const { return *peer_; }
    const net::TlsSession* tls() const { return tls_; }  // null: plain

    // For servers: what the request is made of. All outlive it.
    struct Parts {
        wire::RequestHead& head;
        wire::Target target;
        BodyReader& body;
        const net::Address& peer;
        const net::TlsSession* tls;
    };
    explicit Request(const Parts& parts)
        : head_(&parts.head),
          target_(parts.target),
          body_(&parts.body),
          peer_(&parts.peer),
          tls_(parts.tls) {}
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

private:
    wire::RequestHead* head_;
    wire::Target target_;
    BodyReader* body_;
    const net::Address* peer_;
    const net::TlsSession* tls_;
    std::size_t mounted_bytes_ = 0;
    std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace weft::http
