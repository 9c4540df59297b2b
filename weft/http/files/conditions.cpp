#include "weft/http/files/conditions.h"

#include "weft/base/assert.h"
#include "weft/http/headers.h"
#include "weft/http/wire/date.h"

namespace weft::http {
namespace {

enum class Comparison : std::uint8_t { Strong, Weak };  // RFC 9110 §8.8.3.2

// An entity-tag, and how to take one off the beginning of a text; nothing if there is none.
struct EntityTag {
    std::string_view opaque;  // with its quotation marks
    bool is_weak = false;
};
std::optional<EntityTag> take_entity_tag(std::string_view& text) {
    EntityTag tag;
    tag.is_weak = text.starts_with("W/");
    std::size_t begin = tag.is_weak ? 2 : 0;
    if (text.size() <= begin || text[begin] != '"') return std::nullopt;
    std::size_t end = text.find('"', begin + 1);
    if (end == std::string_view::npos) return std::nullopt;
    tag.opaque = text.substr(begin, end + 1 - begin);
    WEFT_DASSERT(tag.opaque.size() >= 2, "it has two quotation marks");
    text.remove_prefix(end + 1);
    return tag;
}

void skip_blanks(std::string_view& text) {
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
}

// Whether one of the tags of a field is this one. Tags behind a malformed one do not count.
bool contains_tag(std::string_view text, std::string_view etag, Comparison comparison) {
    for (;;) {
        skip_blanks(text);
        if (text.starts_with(',')) {
            text.remove_prefix(1);
            continue;
        }
        std::optional<EntityTag> tag = take_entity_tag(text);
        if (!tag) return false;
        skip_blanks(text);
        if (!text.empty() && !text.starts_with(',')) return false;
        if (comparison == Comparison::Strong && tag->is_weak) continue;
        if (tag->opaque == etag) return true;
    }
}

bool any_matches(const Headers& headers, std::string_view name, std::string_view etag,
                 Comparison comparison) {
    for (const Headers::Field& field : headers) {
        if (!equal_without_case(field.name, name)) continue;
        if (field.value == "*" || contains_tag(field.value, etag, comparison)) return true;
    }
    return false;
}

// RFC 9110 §13.1.3, §13.1.4: a date that was sent more than once MUST be ignored.
std::optional<std::int64_t> date_of(const Request& request, std::string_view name,
                                    std::int64_t now_seconds) {
    std::optional<std::string_view> text = request.header(name);
    if (!text || request.headers().count(name) != 1) return std::nullopt;
    return wire::parse_date(*text, now_seconds);
}

}  // namespace

Condition check_conditions(const Request& request, const Validators& validators,
                           std::int64_t now_seconds) {
    WEFT_ASSERT(validators.etag.starts_with('"'), "a weak one would begin with W/");
    const Headers& headers = request.headers();
    bool reads = request.method() == "GET" || request.method() == "HEAD";
    // Steps 1 and 2.
    if (headers.has("if-match")) {
        if (!any_matches(headers, "if-match", validators.etag, Comparison::Strong)) {
            return Condition::Failed;
        }
    } else if (auto date = date_of(request, "if-unmodified-since", now_seconds)) {
        if (validators.modified && *validators.modified > *date) return Condition::Failed;
    }
    // Steps 3 and 4.
    if (headers.has("if-none-match")) {
        if (!any_matches(headers, "if-none-match", validators.etag, Comparison::Weak)) {
            return Condition::Send;
        }
        return reads ? Condition::NotModified : Condition::Failed;
    }
    if (!reads) return Condition::Send;
    auto date = date_of(request, "if-modified-since", now_seconds);
    if (date && validators.modified && *validators.modified <= *date) {
        return Condition::NotModified;
    }
    return Condition::Send;
}

std::optional<std::string_view> range_field(const Request& request, const Validators& validators,
                                            std::int64_t now_seconds) {
    WEFT_ASSERT(validators.etag.starts_with('"'), "a weak one would begin with W/");
    std::optional<std::string_view> range = request.header("range");
    if (!range || request.method() != "GET" || request.headers().count("range") != 1) {
        return std::nullopt;
    }
    std::optional<std::string_view> condition = request.header("if-range");
    if (!condition) return range;
    if (request.headers().count("if-range") != 1) return std::nullopt;
    std::string_view text = *condition;
    if (std::optional<EntityTag> tag = take_entity_tag(text)) {
        bool holds = text.empty() && !tag->is_weak && tag->opaque == validators.etag;
        return holds ? range : std::nullopt;
    }
    // A date is a strong validator only if it is certain that nothing changed in the same second
    // after it was sent (§8.8.2.2).
    std::optional<std::int64_t> date = wire::parse_date(*condition, now_seconds);
    bool holds = date && validators.modified == date && *date < now_seconds - 1;
    return holds ? range : std::nullopt;
}

}  // namespace weft::http
