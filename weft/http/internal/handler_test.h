// What the tests of handlers share: requests made by hand, without a server.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/async/context.h"
#include "weft/base/result.h"
#include "weft/http/request.h"
#include "weft/http/response.h"
#include "weft/http/wire/head.h"
#include "weft/http/wire/target.h"
#include "weft/net/address.h"

namespace weft::http::handler_test {

// A body in memory that remembers which limit it was given.
class TextReader final : public BodyReader {
public:
    explicit TextReader(std::string text) : text_(std::move(text)) {}

    Result<std::size_t> read(ByteSpace space) override {
        std::size_t count = std::min(space.size(), text_.size() - used_);
        std::memcpy(space.data(), text_.data() + used_, count);
        used_ += count;
        return count;
    }
    std::optional<std::uint64_t> size() const override { return text_.size(); }
    const Headers& trailers() const override { return trailers_; }
    void set_bytes_max(std::uint64_t bytes_max) override { bytes_max_ = bytes_max; }
    std::optional<std::uint64_t> bytes_max() const { return bytes_max_; }

private:
    std::string text_;
    std::size_t used_ = 0;
    std::optional<std::uint64_t> bytes_max_;
    Headers trailers_;
};

// What a produced body writes, and how it ends.
class TextWriter final : public BodyWriter {
public:
    Result<void> write(Bytes bytes) override {
        text += as_text(bytes);
        return {};
    }
    Result<void> flush() override { return {}; }
    Headers& trailers() override { return trailers_; }

    std::string text;

private:
    Headers trailers_;
};

// A request and all that it refers to. Its address is kept by the request: it does not move.
class MadeRequest {
public:
    using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

    MadeRequest(std::string_view method, std::string_view target, Fields fields = {},
                std::string body = {})
        : method_(method), target_(target), body_(std::move(body)) {
        head_.method = method_;
        head_.target = target_;
        for (const auto& [name, value] : fields) head_.headers.add(name, value);
        head_.host = head_.headers.get("host").value_or("");
        std::optional<wire::Target> parsed = wire::parse_target(method_, target_);
        if (parsed) {
            parsed_ = *parsed;
        } else {
            // A parser would refuse such a target; handlers must cope with it all the same.
            parsed_.path = target_;
        }
        request_.emplace(Request::Parts{head_, parsed_, body_, peer_, nullptr});
    }
    MadeRequest(const MadeRequest&) = delete;
    MadeRequest& operator=(const MadeRequest&) = delete;

    Request& request() { return *request_; }
    TextReader& body() { return body_; }
    net::Address& peer() { return peer_; }

    Result<Response> send_to(const Handler& handler) {
        async::Context context = async::Context::current();
        return handler(*request_, context);
    }

private:
    std::string method_;
    std::string target_;
    TextReader body_;
    net::Address peer_ = net::Address::loopback(40'000);
    wire::RequestHead head_;
    wire::Target parsed_;
    std::optional<Request> request_;
};

inline Result<Response> ask(const Handler& handler, std::string_view method,
                            std::string_view target, MadeRequest::Fields fields = {}) {
    return MadeRequest(method, target, fields).send_to(handler);
}

inline std::string header(const Response& response, std::string_view name) {
    return std::string(response.headers.get(name).value_or("(none)"));
}

// The whole body, wherever it lies; an error as text in parentheses.
inline std::string content(Response& response) {
    if (auto text = response.body.text()) return std::string(*text);
    if (const Body::FilePart* part = response.body.as_file()) {
        std::string text(part->count, '\0');
        std::size_t filled = 0;
        while (filled < text.size()) {
            auto space = std::as_writable_bytes(std::span(text)).subspan(filled);
            Result<std::size_t> count = part->file->read_at(part->offset + filled, space);
            if (!count || *count == 0) return "(cut off)";
            filled += *count;
        }
        return text;
    }
    TextWriter writer;
    Result<void> produced = response.body.as_produced()->producer(writer);
    return produced ? writer.text : "(" + produced.error().message() + ")";
}

}  // namespace weft::http::handler_test
