#include "weft/data/failure.h"

#include <algorithm>
#include <array>

#include "weft/data/internal/forms.h"

namespace weft::data {
namespace {

constexpr std::size_t kStateLength = 5;
constexpr int kStateBase = 36;
// A driver's text is truncated to this many bytes.
constexpr std::size_t kDriverTextMax = 512;

struct Meaning {
    std::string_view prefix;  // of SQLSTATEs; the longest match applies
    Cause cause;
    ErrorKind kind;
};

// Classes of the SQL standard, and single states that mean something more specific.
constexpr std::array kMeanings{
    Meaning{"07001", Cause::Syntax, ErrorKind::Other},
    Meaning{"08", Cause::Connection, ErrorKind::Reset},
    Meaning{"0A", Cause::Unsupported, ErrorKind::Unavailable},
    Meaning{"21", Cause::InvalidValue, ErrorKind::Other},
    Meaning{"22", Cause::InvalidValue, ErrorKind::Other},
    Meaning{"23", Cause::OtherConstraint, ErrorKind::Other},
    Meaning{"23502", Cause::NotNullViolation, ErrorKind::Other},
    Meaning{"23503", Cause::ForeignKeyViolation, ErrorKind::Other},
    Meaning{"23505", Cause::UniqueViolation, ErrorKind::AlreadyExists},
    Meaning{"23513", Cause::CheckViolation, ErrorKind::Other},
    Meaning{"23514", Cause::CheckViolation, ErrorKind::Other},
    Meaning{"25", Cause::TransactionState, ErrorKind::Other},
    Meaning{"25006", Cause::ReadOnly, ErrorKind::PermissionDenied},
    Meaning{"26", Cause::Syntax, ErrorKind::Other},
    Meaning{"28", Cause::Authentication, ErrorKind::PermissionDenied},
    Meaning{"2D", Cause::TransactionState, ErrorKind::Other},
    Meaning{"34", Cause::Syntax, ErrorKind::Other},
    Meaning{"3B", Cause::TransactionState, ErrorKind::Other},
    Meaning{"3D", Cause::Connection, ErrorKind::NotFound},
    Meaning{"40", Cause::Serialization, ErrorKind::Other},
    Meaning{"42", Cause::Syntax, ErrorKind::Other},
    Meaning{"42501", Cause::Permission, ErrorKind::PermissionDenied},
    Meaning{"53", Cause::Resources, ErrorKind::Limit},
    Meaning{"54", Cause::Resources, ErrorKind::Limit},
    Meaning{"55", Cause::Other, ErrorKind::Other},
    Meaning{"55006", Cause::Busy, ErrorKind::Unavailable},
    Meaning{"55P03", Cause::Busy, ErrorKind::Unavailable},
    Meaning{"57014", Cause::Cancelled, ErrorKind::Cancelled},
    Meaning{"57P", Cause::Connection, ErrorKind::Reset},
    Meaning{"58", Cause::Other, ErrorKind::Other},
    Meaning{"58P01", Cause::Other, ErrorKind::NotFound},
    Meaning{"HY001", Cause::Resources, ErrorKind::OutOfMemory},
    Meaning{"HY008", Cause::Cancelled, ErrorKind::Cancelled},
    Meaning{"HYC00", Cause::Unsupported, ErrorKind::Unavailable},
    Meaning{"HYT", Cause::TimedOut, ErrorKind::TimedOut},
    Meaning{"IM", Cause::Unsupported, ErrorKind::Unavailable},
    Meaning{"WF001", Cause::RowLimit, ErrorKind::Limit},
    Meaning{"WF002", Cause::PoolExhausted, ErrorKind::TimedOut},
    Meaning{"WF003", Cause::PoolExhausted, ErrorKind::Limit},
    Meaning{"WF004", Cause::Permission, ErrorKind::PermissionDenied},
    Meaning{"WF005", Cause::Closed, ErrorKind::Closed},
    Meaning{"WF006", Cause::Unsupported, ErrorKind::Unavailable},
};

Meaning meaning_of(std::string_view state) {
    Meaning found{"", Cause::Other, ErrorKind::Other};
    for (const Meaning& meaning : kMeanings) {
        if (state.starts_with(meaning.prefix) && meaning.prefix.size() > found.prefix.size())
            found = meaning;
    }
    return found;
}

bool is_state_character(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); }

bool is_state(std::string_view text) {
    return text.size() == kStateLength && std::ranges::all_of(text, is_state_character);
}

constexpr int pack(std::string_view state) {
    int packed = 0;
    for (char c : state) packed = packed * kStateBase + (c <= '9' ? c - '0' : c - 'A' + 10);
    return packed;
}

// The least SQLSTATE that does not mean success. Every errno is far below it.
constexpr int kStateLeast = pack("01000");

// Names come from the schema; control characters are replaced, because the message goes into a line
// of the log.
void append_name(std::string& message, std::string_view label, std::string_view name) {
    if (name.empty() || !forms::is_utf8(name)) return;
    message.append(", ").append(label).append(" ");
    for (char c : name.substr(0, 128))
        message.push_back(static_cast<unsigned char>(c) < 32 ? '?' : c);
}

void append_text(std::string& message, std::string_view text) {
    if (text.empty()) return;
    message.append(": ");
    std::string_view cut = text.substr(0, kDriverTextMax);
    while (cut.ends_with('\n') || cut.ends_with(' ')) cut.remove_suffix(1);
    for (char c : cut) message.push_back(static_cast<unsigned char>(c) < 32 ? ' ' : c);
}

std::string headline(std::string_view provider, std::string_view state, Cause cause) {
    std::string message(provider);
    message.append(": ").append(to_string(cause)).append(" (").append(state);
    return message;
}

}  // namespace

std::string_view to_string(Cause cause) noexcept {
    switch (cause) {
    case Cause::Cancelled: return "cancelled";
    case Cause::TimedOut: return "timed out";
    case Cause::Closed: return "closed";
    case Cause::Connection: return "connection lost";
    case Cause::Authentication: return "authentication failed";
    case Cause::PoolExhausted: return "pool exhausted";
    case Cause::RowLimit: return "too many rows";
    case Cause::Busy: return "busy";
    case Cause::Serialization: return "serialization failure";
    case Cause::UniqueViolation: return "unique violation";
    case Cause::ForeignKeyViolation: return "foreign key violation";
    case Cause::NotNullViolation: return "not-null violation";
    case Cause::CheckViolation: return "check violation";
    case Cause::OtherConstraint: return "constraint violation";
    case Cause::InvalidValue: return "invalid value";
    case Cause::Syntax: return "wrong statement";
    case Cause::Permission: return "permission denied";
    case Cause::ReadOnly: return "read-only";
    case Cause::TransactionState: return "wrong transaction state";
    case Cause::Resources: return "out of resources";
    case Cause::Unsupported: return "unsupported";
    case Cause::Misuse: return "misuse";
    case Cause::Other: return "error";
    }
    return "error";
}

Cause cause_of(const Error& error) noexcept {
    if (error.native_code() >= kStateLeast) return meaning_of(sqlstate_of(error)).cause;
    switch (error.kind()) {
    case ErrorKind::Cancelled: return Cause::Cancelled;
    case ErrorKind::TimedOut: return Cause::TimedOut;
    case ErrorKind::Closed: return Cause::Closed;
    case ErrorKind::Refused:
    case ErrorKind::Reset:
    case ErrorKind::Unreachable:
    case ErrorKind::Dns:
    case ErrorKind::Tls: return Cause::Connection;
    case ErrorKind::Limit:
    case ErrorKind::OutOfFds:
    case ErrorKind::OutOfMemory: return Cause::Resources;
    case ErrorKind::Misuse: return Cause::Misuse;
    case ErrorKind::PermissionDenied: return Cause::Permission;
    default: return Cause::Other;
    }
}

std::string sqlstate_of(const Error& error) {
    int packed = error.native_code();
    if (packed < kStateLeast) return {};
    std::string state(kStateLength, '0');
    for (std::size_t at = kStateLength; at > 0; --at) {
        int digit = packed % kStateBase;
        state[at - 1] = static_cast<char>(digit < 10 ? '0' + digit : 'A' + digit - 10);
        packed /= kStateBase;
    }
    return state;
}

bool is_transient(const Error& error) noexcept {
    Cause cause = cause_of(error);
    return cause == Cause::Serialization || cause == Cause::Busy || cause == Cause::Connection ||
           cause == Cause::PoolExhausted;
}

bool is_connection_lost(const Error& error) noexcept {
    return cause_of(error) == Cause::Connection;
}

bool is_text_safe(std::string_view sqlstate) noexcept {
    // The other classes may quote values: 21 and 22 (data), 23 (constraints), 44 (views with
    // check), P0 (raised by functions of the database), and all unknown ones. The texts of these
    // describe statements, the server and its files, or the state of a session.
    constexpr std::string_view kSafe[] = {"07001", "08", "0A", "25", "26",   "28", "2D",
                                          "34",    "3B", "3D", "3F", "40",   "42", "53",
                                          "54",    "55", "57", "58", "XX001"};
    return std::ranges::any_of(kSafe,
                               [&](std::string_view safe) { return sqlstate.starts_with(safe); });
}

Error to_error(const DriverReport& report) {
    std::string_view state = is_state(report.sqlstate) ? report.sqlstate : "HY000";
    Meaning meaning = meaning_of(state);
    std::string message = headline(report.provider, state, meaning.cause);
    if (!report.driver_code.empty()) message.append(", ").append(report.driver_code);
    message.push_back(')');
    append_name(message, "table", report.table);
    append_name(message, "column", report.column);
    append_name(message, "constraint", report.constraint);
    if (is_text_safe(state)) append_text(message, report.message);
    return {meaning.kind, pack(state), message};
}

Error to_error(std::string_view provider, std::string_view sqlstate, std::string_view text) {
    std::string_view state = is_state(sqlstate) ? sqlstate : "HY000";
    Meaning meaning = meaning_of(state);
    std::string message = headline(provider, state, meaning.cause);
    message.push_back(')');
    append_text(message, text);
    return {meaning.kind, pack(state), message};
}

}  // namespace weft::data
