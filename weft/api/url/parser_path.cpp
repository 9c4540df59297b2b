// The states of UrlParser from the file state to the fragment state.
#include <algorithm>

#include "weft/api/url/host.h"
#include "weft/api/url/parser.h"
#include "weft/api/url/percent.h"

namespace weft::api {

namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// https://url.spec.whatwg.org/#start-with-a-windows-drive-letter
bool starts_with_drive_letter(std::string_view text) {
    if (!is_drive_letter(text.substr(0, 2))) return false;
    return text.size() == 2 || std::string_view("/\\?#").find(text[2]) != std::string_view::npos;
}

// How many dots `segment` consists of, where "%2e" counts as a dot: 1, 2, or 0 for any other
// segment.
int dots(std::string_view segment) {
    int count = 0;
    while (!segment.empty()) {
        if (segment[0] == '.') {
            segment.remove_prefix(1);
        } else if (segment.size() >= 3 && segment[0] == '%' && segment[1] == '2' &&
                   lower(segment[2]) == 'e') {
            segment.remove_prefix(3);
        } else {
            return 0;
        }
        if (++count > 2) return 0;
    }
    return count;
}

}  // namespace

// https://url.spec.whatwg.org/#file-state
UrlParser::Step UrlParser::file() {
    url_.set_scheme("file");
    url_.host_.emplace();
    if (c_is('/') || c_is('\\')) return go(State::FileSlash);
    if (base_ == nullptr || base_->scheme_ != "file") return reconsume(State::Path);
    url_.host_ = base_->host_;
    url_.path_ = base_->path_;
    url_.query_ = base_->query_;
    if (c_is('?')) return begin_query();
    if (c_is('#')) return begin_fragment();
    if (at_end()) return Step::Next;
    url_.query_.reset();
    // 3.4.2. If the code point substring from pointer to the end of input does not start with a
    //        Windows drive letter, then shorten url's path. 3.4.3. Otherwise: set it to « ».
    if (starts_with_drive_letter(input_.substr(at_)))
        url_.path_.clear();
    else
        url_.shorten_path();
    return reconsume(State::Path);
}

// https://url.spec.whatwg.org/#file-slash-state
UrlParser::Step UrlParser::file_slash() {
    if (c_is('/') || c_is('\\')) return go(State::FileHost);
    if (base_ != nullptr && base_->scheme_ == "file") {
        url_.host_ = base_->host_;
        std::string_view first = base_->path_;
        first = first.substr(0, first.find('/', 1));
        if (!starts_with_drive_letter(input_.substr(std::min(at_, input_.size()))) &&
            first.size() == 3 && is_normalized_drive_letter(first.substr(1)))
            url_.path_ += first;
    }
    return reconsume(State::Path);
}

// https://url.spec.whatwg.org/#file-host-state
UrlParser::Step UrlParser::file_host() {
    if (!at_end() && !c_is('/') && !c_is('\\') && !c_is('?') && !c_is('#')) {
        buffer_ += input_[at_];
        return Step::Next;
    }
    // NB: buffer is not reset here: "This is a (platform-independent) Windows drive letter quirk".
    if (!override_ && is_drive_letter(buffer_)) return reconsume(State::Path);
    if (buffer_.empty()) {
        url_.host_.emplace();
        return override_ ? Step::Stop : reconsume(State::PathStart);
    }
    auto host = parse_host(buffer_, HostKind::Domain);
    if (!host) return Step::Fail;
    if (*host == "localhost") host->clear();
    url_.host_ = std::move(host);
    if (override_) return Step::Stop;
    buffer_.clear();
    return reconsume(State::PathStart);
}

// https://url.spec.whatwg.org/#path-start-state
UrlParser::Step UrlParser::path_start() {
    if (url_.special_) return c_is('/') || c_is('\\') ? go(State::Path) : reconsume(State::Path);
    if (!override_ && c_is('?')) return begin_query();
    if (!override_ && c_is('#')) return begin_fragment();
    if (!at_end()) return c_is('/') ? go(State::Path) : reconsume(State::Path);
    if (override_ && !url_.host_) url_.path_ += '/';
    return Step::Next;
}

// The steps of the path state at the end of a segment, which is in the buffer.
void UrlParser::end_segment() {
    int count = dots(buffer_);
    if (count == 2) url_.shorten_path();
    if (count > 0) {
        if (!ends_segment()) url_.path_ += '/';
    } else {
        if (url_.scheme_ == "file" && url_.path_.empty() && is_drive_letter(buffer_))
            buffer_[1] = ':';
        url_.path_.append("/").append(buffer_);
    }
    buffer_.clear();
}

// https://url.spec.whatwg.org/#path-state
UrlParser::Step UrlParser::path() {
    bool ended = at_end() || ends_segment() || (!override_ && (c_is('?') || c_is('#')));
    if (!ended) {
        // NB: Everything before the next separator is taken at once; the standard takes one code
        // point at a time.
        std::size_t end = input_.find_first_of("/\\?#", at_ + 1);
        append_encoded(input_.substr(at_, end - at_), kPathSet, buffer_);
        at_ = std::min(end, input_.size()) - 1;
        return Step::Next;
    }
    end_segment();
    if (c_is('?') && !override_) return begin_query();
    if (c_is('#') && !override_) return begin_fragment();
    return Step::Next;
}

// https://url.spec.whatwg.org/#cannot-be-a-base-url-path-state
UrlParser::Step UrlParser::opaque_path() {
    if (c_is('?')) return begin_query();
    if (c_is('#')) return begin_fragment();
    if (at_end()) return Step::Next;
    // 3. Otherwise, if c is U+0020 SPACE: if remaining starts with U+003F (?) or U+0023 (#), then
    //    append "%20" to url's path.
    if (c_is(' ') && (remaining_starts_with('?') || remaining_starts_with('#')))
        url_.path_ += "%20";
    else
        append_encoded(input_.substr(at_, 1), kC0ControlSet, url_.path_);
    return Step::Next;
}

// https://url.spec.whatwg.org/#query-state
UrlParser::Step UrlParser::query() {
    // NB: the encoding is always UTF-8 here, so the query needs no buffer.
    const PercentEncodeSet& set = url_.special_ ? kSpecialQuerySet : kQuerySet;
    std::size_t end = override_ ? input_.size() : std::min(input_.find('#', at_), input_.size());
    append_encoded(input_.substr(at_, end - at_), set, *url_.query_);
    at_ = end;
    return c_is('#') ? begin_fragment() : Step::Next;
}

// https://url.spec.whatwg.org/#fragment-state
UrlParser::Step UrlParser::fragment() {
    append_encoded(input_.substr(at_), kFragmentSet, *url_.fragment_);
    at_ = input_.size();
    return Step::Next;
}

}  // namespace weft::api
