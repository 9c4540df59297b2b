// UrlParser: the basic URL parser (https://url.spec.whatwg.org/#concept-basic-url-parser), with one
// method for each state. Used by Url only. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/api/url/url.h"

namespace weft::api {

class UrlParser {
public:
    enum class State : std::uint8_t {
        SchemeStart,
        Scheme,
        NoScheme,
        SpecialRelativeOrAuthority,
        PathOrAuthority,
        Relative,
        RelativeSlash,
        SpecialAuthoritySlashes,
        SpecialAuthorityIgnoreSlashes,
        Authority,
        Host,
        Hostname,
        Port,
        File,
        FileSlash,
        FileHost,
        PathStart,
        Path,
        OpaquePath,
        Query,
        Fragment,
    };
    // Whether the whole input was used. Stopped is the standard's "return" under a state override.
    enum class End : std::uint8_t { Done, Stopped, Failure };

    // With a `state_override` the parts of `url` are changed in place, even when parsing fails.
    UrlParser(std::string_view input, const Url* base, Url& url,
              std::optional<State> state_override);
    End run();

private:
    enum class Step : std::uint8_t { Next, Stop, Fail };

    // "c" and "remaining": the byte at the pointer, or nothing at the end. All characters with a
    // meaning are ASCII, so bytes can stand for code points.
    bool at_end() const { return at_ >= input_.size(); }
    bool c_is(char c) const { return !at_end() && input_[at_] == c; }
    bool remaining_starts_with(char c) const {
        return at_ + 1 < input_.size() && input_[at_ + 1] == c;
    }
    bool ends_authority() const {
        return at_end() || c_is('/') || c_is('?') || c_is('#') || (url_.special_ && c_is('\\'));
    }
    bool ends_segment() const { return c_is('/') || (url_.special_ && c_is('\\')); }
    // Reads the same character again in another state. The standard decreases the pointer before
    // its loop increases it; here the pointer stays where it is.
    Step reconsume(State state) {
        state_ = state;
        reconsume_ = true;
        return Step::Next;
    }
    Step go(State state) {
        state_ = state;
        return Step::Next;
    }

    Step step();
    Step scheme_start();
    Step scheme();
    Step scheme_ended();
    Step no_scheme();
    Step special_relative_or_authority();
    Step path_or_authority();
    Step relative();
    Step relative_slash();
    Step special_authority_slashes();
    Step special_authority_ignore_slashes();
    Step authority();
    Step host();
    Step host_ended();
    Step port();
    Step file();
    Step file_slash();
    Step file_host();
    Step path_start();
    Step path();
    Step opaque_path();
    Step query();
    Step fragment();

    void take_credentials();
    void copy_authority_of_base();
    void end_segment();
    Step begin_query() {
        url_.query_.emplace();
        return go(State::Query);
    }
    Step begin_fragment() {
        url_.fragment_.emplace();
        return go(State::Fragment);
    }

    std::string stripped_;  // the input without tabs and newlines, if it had any
    std::string_view input_;
    const Url* base_;
    Url& url_;
    std::optional<State> override_;
    State state_;
    std::size_t at_ = 0;
    std::string buffer_;
    bool reconsume_ = false;
    bool at_sign_seen_ = false;
    bool password_token_seen_ = false;
    bool inside_brackets_ = false;
};

// "A Windows drive letter is two code points, of which the first is an ASCII alpha and the second
// is either U+003A (:) or U+007C (|)"; normalized: the second is U+003A.
bool is_drive_letter(std::string_view text);
bool is_normalized_drive_letter(std::string_view text);

}  // namespace weft::api
