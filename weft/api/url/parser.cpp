#include "weft/api/url/parser.h"

#include "weft/api/url/host.h"
#include "weft/api/url/percent.h"
#include "weft/base/assert.h"

namespace weft::api {

namespace {

constexpr bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

}  // namespace

bool is_drive_letter(std::string_view text) {
    return text.size() == 2 && is_alpha(text[0]) && (text[1] == ':' || text[1] == '|');
}

bool is_normalized_drive_letter(std::string_view text) {
    return is_drive_letter(text) && text[1] == ':';
}

UrlParser::UrlParser(std::string_view input, const Url* base, Url& url,
                     std::optional<State> state_override)
    : input_(input),
      base_(base),
      url_(url),
      override_(state_override),
      state_(state_override.value_or(State::SchemeStart)) {
    // 3. Remove all ASCII tab or newline from input.
    if (input.find_first_of("\t\n\r") == std::string_view::npos) return;
    for (char c : input)
        if (c != '\t' && c != '\n' && c != '\r') stripped_ += c;
    input_ = stripped_;
}

UrlParser::End UrlParser::run() {
    // 9. Keep running the state machine ... If after a run pointer points to the EOF code point, go
    //    to the next step. Otherwise, increase pointer by 1 and continue with the state machine.
    while (true) {
        Step result = step();
        if (result == Step::Stop) return End::Stopped;
        if (result == Step::Fail) return End::Failure;
        if (reconsume_) {
            reconsume_ = false;
            continue;
        }
        if (at_end()) return End::Done;
        ++at_;
    }
}

UrlParser::Step UrlParser::step() {
    switch (state_) {
    case State::SchemeStart: return scheme_start();
    case State::Scheme: return scheme();
    case State::NoScheme: return no_scheme();
    case State::SpecialRelativeOrAuthority: return special_relative_or_authority();
    case State::PathOrAuthority: return path_or_authority();
    case State::Relative: return relative();
    case State::RelativeSlash: return relative_slash();
    case State::SpecialAuthoritySlashes: return special_authority_slashes();
    case State::SpecialAuthorityIgnoreSlashes: return special_authority_ignore_slashes();
    case State::Authority: return authority();
    case State::Host:
    case State::Hostname: return host();
    case State::Port: return port();
    case State::File: return file();
    case State::FileSlash: return file_slash();
    case State::FileHost: return file_host();
    case State::PathStart: return path_start();
    case State::Path: return path();
    case State::OpaquePath: return opaque_path();
    case State::Query: return query();
    case State::Fragment: return fragment();
    }
    return Step::Fail;
}

// https://url.spec.whatwg.org/#scheme-start-state
UrlParser::Step UrlParser::scheme_start() {
    if (!at_end() && is_alpha(input_[at_])) {
        buffer_ += lower(input_[at_]);
        return go(State::Scheme);
    }
    return override_ ? Step::Fail : reconsume(State::NoScheme);
}

// https://url.spec.whatwg.org/#scheme-state
UrlParser::Step UrlParser::scheme() {
    if (!at_end()) {
        char c = input_[at_];
        if (is_alpha(c) || is_digit(c) || c == '+' || c == '-' || c == '.') {
            buffer_ += lower(c);
            return Step::Next;
        }
        if (c == ':') return scheme_ended();
    }
    // 3. Otherwise, if state override is not given, set buffer to the empty string, state to no
    //    scheme state, and start over (from the first code point in input).
    if (override_) return Step::Fail;
    buffer_.clear();
    at_ = 0;
    return reconsume(State::NoScheme);
}

UrlParser::Step UrlParser::scheme_ended() {
    // 2.1. If state override is given, then: ...
    if (override_) {
        if (url_.special_ != special_port(buffer_).has_value()) return Step::Stop;
        bool file = buffer_ == "file";
        if ((url_.includes_credentials() || url_.port_) && file) return Step::Stop;
        if (url_.scheme_ == "file" && url_.host_ && url_.host_->empty()) return Step::Stop;
    }
    url_.set_scheme(buffer_);
    if (override_) {
        if (url_.port_ && special_port(url_.scheme_) == url_.port_) url_.port_.reset();
        return Step::Stop;
    }
    buffer_.clear();
    if (url_.scheme_ == "file") return go(State::File);
    if (url_.special_ && base_ != nullptr && base_->scheme_ == url_.scheme_)
        return go(State::SpecialRelativeOrAuthority);
    if (url_.special_) return go(State::SpecialAuthoritySlashes);
    if (remaining_starts_with('/')) {
        ++at_;
        return go(State::PathOrAuthority);
    }
    url_.path_.clear();
    url_.opaque_path_ = true;
    return go(State::OpaquePath);
}

// https://url.spec.whatwg.org/#no-scheme-state
UrlParser::Step UrlParser::no_scheme() {
    if (base_ == nullptr || (base_->opaque_path_ && !c_is('#'))) return Step::Fail;
    if (base_->opaque_path_) {
        url_.set_scheme(base_->scheme_);
        url_.path_ = base_->path_;
        url_.opaque_path_ = true;
        url_.query_ = base_->query_;
        return begin_fragment();
    }
    return reconsume(base_->scheme_ == "file" ? State::File : State::Relative);
}

UrlParser::Step UrlParser::special_relative_or_authority() {
    if (!c_is('/') || !remaining_starts_with('/')) return reconsume(State::Relative);
    ++at_;
    return go(State::SpecialAuthorityIgnoreSlashes);
}

UrlParser::Step UrlParser::path_or_authority() {
    return c_is('/') ? go(State::Authority) : reconsume(State::Path);
}

void UrlParser::copy_authority_of_base() {
    url_.username_ = base_->username_;
    url_.password_ = base_->password_;
    url_.host_ = base_->host_;
    url_.port_ = base_->port_;
}

// https://url.spec.whatwg.org/#relative-state
UrlParser::Step UrlParser::relative() {
    url_.set_scheme(base_->scheme_);
    if (c_is('/') || (url_.special_ && c_is('\\'))) return go(State::RelativeSlash);
    copy_authority_of_base();
    url_.path_ = base_->path_;
    url_.query_ = base_->query_;
    if (c_is('?')) return begin_query();
    if (c_is('#')) return begin_fragment();
    if (at_end()) return Step::Next;
    url_.query_.reset();
    url_.shorten_path();
    return reconsume(State::Path);
}

UrlParser::Step UrlParser::relative_slash() {
    if (url_.special_ && (c_is('/') || c_is('\\'))) return go(State::SpecialAuthorityIgnoreSlashes);
    if (c_is('/')) return go(State::Authority);
    copy_authority_of_base();
    return reconsume(State::Path);
}

UrlParser::Step UrlParser::special_authority_slashes() {
    if (!c_is('/') || !remaining_starts_with('/'))
        return reconsume(State::SpecialAuthorityIgnoreSlashes);
    ++at_;
    return go(State::SpecialAuthorityIgnoreSlashes);
}

UrlParser::Step UrlParser::special_authority_ignore_slashes() {
    return c_is('/') || c_is('\\') ? Step::Next : reconsume(State::Authority);
}

// The part of the authority state that handles an "@".
void UrlParser::take_credentials() {
    if (at_sign_seen_) buffer_.insert(0, "%40");
    at_sign_seen_ = true;
    std::string_view rest = buffer_;
    if (!password_token_seen_) {
        std::size_t colon = rest.find(':');
        append_encoded(rest.substr(0, colon), kUserinfoSet, url_.username_);
        password_token_seen_ = colon != std::string_view::npos;
        rest = password_token_seen_ ? rest.substr(colon + 1) : std::string_view();
    }
    append_encoded(rest, kUserinfoSet, url_.password_);
    buffer_.clear();
}

// https://url.spec.whatwg.org/#authority-state
UrlParser::Step UrlParser::authority() {
    if (c_is('@')) {
        take_credentials();
        return Step::Next;
    }
    if (!ends_authority()) {
        buffer_ += input_[at_];
        return Step::Next;
    }
    if (at_sign_seen_ && buffer_.empty()) return Step::Fail;
    // 2.2. Decrease pointer by buffer's code point length + 1, set buffer to the empty string, ...
    WEFT_ASSERT(at_ >= buffer_.size(), "the buffer holds what was read since the last \"@\"");
    at_ -= buffer_.size();
    buffer_.clear();
    return reconsume(State::Host);
}

// https://url.spec.whatwg.org/#host-state
UrlParser::Step UrlParser::host() {
    if (override_ && url_.scheme_ == "file") return reconsume(State::FileHost);
    if (c_is(':') && !inside_brackets_) {
        if (buffer_.empty() || override_ == State::Hostname) return Step::Fail;
        auto host = parse_host(buffer_, url_.special_ ? HostKind::Domain : HostKind::Opaque);
        if (!host) return Step::Fail;
        url_.host_ = std::move(host);
        buffer_.clear();
        return go(State::Port);
    }
    if (ends_authority()) return host_ended();
    if (c_is('[')) inside_brackets_ = true;
    if (c_is(']')) inside_brackets_ = false;
    buffer_ += input_[at_];
    return Step::Next;
}

UrlParser::Step UrlParser::host_ended() {
    if (url_.special_ && buffer_.empty()) return Step::Fail;
    if (override_ && buffer_.empty() && (url_.includes_credentials() || url_.port_))
        return Step::Fail;
    auto host = parse_host(buffer_, url_.special_ ? HostKind::Domain : HostKind::Opaque);
    if (!host) return Step::Fail;
    url_.host_ = std::move(host);
    buffer_.clear();
    if (override_) return Step::Stop;
    return reconsume(State::PathStart);
}

// https://url.spec.whatwg.org/#port-state
UrlParser::Step UrlParser::port() {
    if (!at_end() && is_digit(input_[at_])) {
        buffer_ += input_[at_];
        return Step::Next;
    }
    if (!ends_authority() && !override_) return Step::Fail;
    if (!buffer_.empty()) {
        std::uint32_t port = 0;
        for (char c : buffer_) {
            port = port * 10 + static_cast<std::uint32_t>(c - '0');
            if (port > 65535) return Step::Fail;
        }
        url_.port_ = static_cast<std::uint16_t>(port);
        if (url_.special_ && special_port(url_.scheme_) == port) url_.port_.reset();
        buffer_.clear();
        if (override_) return Step::Stop;
    }
    if (override_) return Step::Fail;
    return reconsume(State::PathStart);
}

}  // namespace weft::api
