#include "weft/api/url/url.h"

#include "weft/api/url/parser.h"
#include "weft/api/url/percent.h"

namespace weft::api {

std::optional<std::uint16_t> special_port(std::string_view scheme) {
    if (scheme == "https" || scheme == "wss") return 443;
    if (scheme == "http" || scheme == "ws") return 80;
    if (scheme == "ftp") return 21;
    if (scheme == "file") return 0;
    return std::nullopt;
}

std::optional<Url> Url::parse(std::string_view input, const Url* base) {
    // 1.1. ... remove any leading and trailing C0 control or space from input.
    auto trimmed = [](char c) { return static_cast<unsigned char>(c) <= 0x20; };
    while (!input.empty() && trimmed(input.front())) input.remove_prefix(1);
    while (!input.empty() && trimmed(input.back())) input.remove_suffix(1);
    Url url;
    if (UrlParser(input, base, url, {}).run() != UrlParser::End::Done) return std::nullopt;
    return url;
}

std::string Url::href() const {
    UrlOffsets offsets;
    return href(offsets);
}

// https://url.spec.whatwg.org/#concept-url-serializer
std::string Url::href(UrlOffsets& offsets) const {
    std::string out;
    auto here = [&] { return static_cast<std::uint32_t>(out.size()); };
    out.reserve(scheme_.size() + username_.size() + password_.size() + path_.size() + 16 +
                (host_ ? host_->size() : 0) + (query_ ? query_->size() : 0) +
                (fragment_ ? fragment_->size() : 0));
    out.append(scheme_).append(":");
    offsets = UrlOffsets{.protocol_end = here()};
    if (host_) out += "//";
    if (host_) out += username_;
    offsets.username_end = here();
    if (!password_.empty()) out.append(":").append(password_);
    offsets.host_start = here();
    if (host_ && includes_credentials()) out += '@';
    if (host_) out += *host_;
    offsets.host_end = here();
    if (port_) out.append(":").append(std::to_string(*port_));
    offsets.port = port_ ? *port_ : UrlOffsets::kNone;
    // 3. If url's host is null, url does not have an opaque path, url's path's size is greater than
    //    1, and url's path[0] is the empty string, then append U+002F (/) followed by U+002E (.).
    if (!host_ && !opaque_path_ && path_.starts_with("//")) out += "/.";
    offsets.pathname = here();
    out += path_;
    if (query_) {
        offsets.search = here();
        out.append("?").append(*query_);
    }
    if (fragment_) {
        offsets.hash = here();
        out.append("#").append(*fragment_);
    }
    return out;
}

// https://url.spec.whatwg.org/#concept-url-origin
std::string Url::origin() const {
    if (scheme_ == "blob") {
        auto inner = Url::parse(path_);
        bool web = inner && (inner->scheme_ == "http" || inner->scheme_ == "https");
        return web ? inner->origin() : "null";
    }
    if (!special_ || scheme_ == "file") return "null";
    std::string origin = scheme_ + "://" + host_.value_or("");
    if (port_) origin.append(":").append(std::to_string(*port_));
    return origin;
}

void Url::set_scheme(std::string_view scheme) {
    scheme_ = scheme;
    special_ = special_port(scheme).has_value();
}

// https://url.spec.whatwg.org/#shorten-a-urls-path
void Url::shorten_path() {
    // 3. If url's scheme is "file", path's size is 1, and path[0] is a normalized Windows drive
    //    letter, then return.
    if (scheme_ == "file" && path_.size() == 3 && is_normalized_drive_letter(path_.substr(1)))
        return;
    // 4. Remove path's last item, if any.
    if (std::size_t slash = path_.rfind('/'); slash != std::string::npos) path_.resize(slash);
}

// ---- the setters: https://url.spec.whatwg.org/#api

void Url::set_protocol(std::string_view value) {
    std::string text = std::string(value) + ":";
    UrlParser(text, nullptr, *this, UrlParser::State::SchemeStart).run();
}

void Url::set_username(std::string_view value) {
    if (cannot_have_credentials_or_port()) return;
    username_.clear();
    append_encoded(value, kUserinfoSet, username_);
}

void Url::set_password(std::string_view value) {
    if (cannot_have_credentials_or_port()) return;
    password_.clear();
    append_encoded(value, kUserinfoSet, password_);
}

void Url::set_host(std::string_view value) {
    if (opaque_path_) return;
    UrlParser(value, nullptr, *this, UrlParser::State::Host).run();
}

void Url::set_hostname(std::string_view value) {
    if (opaque_path_) return;
    UrlParser(value, nullptr, *this, UrlParser::State::Hostname).run();
}

void Url::set_port(std::string_view value) {
    if (cannot_have_credentials_or_port()) return;
    if (value.empty()) {
        port_.reset();
        return;
    }
    UrlParser(value, nullptr, *this, UrlParser::State::Port).run();
}

void Url::set_pathname(std::string_view value) {
    if (opaque_path_) return;
    path_.clear();
    UrlParser(value, nullptr, *this, UrlParser::State::PathStart).run();
}

void Url::set_search(std::string_view value) {
    if (value.empty()) {
        query_.reset();
        return;
    }
    if (value.starts_with('?')) value.remove_prefix(1);
    query_.emplace();
    UrlParser(value, nullptr, *this, UrlParser::State::Query).run();
}

void Url::set_hash(std::string_view value) {
    if (value.empty()) {
        fragment_.reset();
        return;
    }
    if (value.starts_with('#')) value.remove_prefix(1);
    fragment_.emplace();
    UrlParser(value, nullptr, *this, UrlParser::State::Fragment).run();
}

}  // namespace weft::api
