// Request: a request of a client, as a handler sees it.
//
// Its views live as long as the request, which lives until its response has been written. Owned by
// the fiber or the loop that handles it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/result.h"
#include "weft/http/body.h"
#include "weft/http/headers.h"
#include "weft/http/wire/head.h"
#include "weft/http/wire/target.h"
#include "weft/net/address.h"
#include "weft/net/stream.h"

namespace weft::http {

// For servers: sends informational responses.
class InformationalSender {
public:
    virtual ~InformationalSender() = default;
    virtual Result<void> send(std::uint16_t status, const Headers& headers) = 0;
};

class Request {
public:
    std::string_view method() const { return head_->method; }
    std::string_view target() const { return head_->target; }  // as it was sent
    // As it was sent, "/a%20b", without the prefix at which this handler is mounted.
    std::string_view path() const {
        WEFT_DASSERT(mounted_bytes_ <= target_.path.size());
        return target_.path.substr(mounted_bytes_);
    }
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
    // The client waits for 100 (Continue) before it sends its body. The server sends that when the
    // body is read for the first time.
    bool expects_continue() const { return head_->expects_continue; }

    // Sends an informational response at once, for example 103 (Early Hints) with Link fields.
    // Clients of HTTP/1.0 do not know them and get none. Misuse for 100 and 101, which only the
    // server sends, for a status that is not 1xx, for a field that cannot be sent or that frames a
    // message, and after the handler has returned. By the fiber of the handler.
    Result<void> send_informational(std::uint16_t status, const Headers& headers = {});

    // What the router found in the path for "id" of "/users/:id", decoded.
    std::optional<std::string_view> parameter(std::string_view name) const;
    void set_parameters(std::vector<std::pair<std::string, std::string>> parameters) {
        parameters_ = std::move(parameters);
    }

    // It hides a parameter of an outer router with the same name.
    void add_parameter(std::string_view name, std::string value) {
        parameters_.emplace_back(name, std::move(value));
    }
    // For middleware: the id of the request in the log if it fails; empty: none was given.
    void set_id(std::string id) { id_ = std::move(id); }
    std::string_view id() const { return id_; }
    // For routers: path() begins so many bytes later from here on.
    void mount(std::size_t bytes) {
        WEFT_ASSERT(bytes <= path().size(), "what was matched is a part of the path");
        mounted_bytes_ += bytes;
    }

    const net::Address& peer() const { return *peer_; }
    const net::TlsSession* tls() const { return tls_; }  // null: plain

    // For servers: the parts of the request, all of which outlive it.
    struct Parts {
        wire::RequestHead& head;
        const wire::Target& target;
        BodyReader& body;
        const net::Address& peer;
        const net::TlsSession* tls;
        InformationalSender* informational = nullptr;  // null: nothing can be sent
    };
    explicit Request(const Parts& parts)
        : head_(&parts.head),
          target_(parts.target),
          body_(&parts.body),
          peer_(&parts.peer),
          tls_(parts.tls),
          informational_(parts.informational) {}
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;
    // For servers: the response begins, so send_informational() is Misuse from here on.
    void end_informational() { informational_ = nullptr; }

private:
    wire::RequestHead* head_;
    wire::Target target_;
    BodyReader* body_;
    const net::Address* peer_;
    const net::TlsSession* tls_;
    InformationalSender* informational_;
    std::size_t mounted_bytes_ = 0;
    std::vector<std::pair<std::string, std::string>> parameters_;
    std::string id_;
};

}  // namespace weft::http
