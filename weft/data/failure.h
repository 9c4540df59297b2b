// Failures of databases: what a program can ask of such an Error, and how a provider makes one.
//
//     if (!inserted && cause_of(inserted.error()) == Cause::UniqueViolation) ...
//
// An Error of this folder has its SQLSTATE as native code: five digits to the base 36. Weft's own
// conditions have the class WF. The message is assembled from fields that cannot contain a secret:
// a driver's text is included only for conditions whose text describes the statement or the server,
// never for those that quote a value; connection strings are never included. So no credential and
// no parameter appears in an error or a log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/error.h"

namespace weft::data {

// What went wrong, in terms that do not depend on the provider.
enum class Cause : std::uint8_t {
    Cancelled,
    TimedOut,        // the deadline of the operation
    Closed,          // the database, the transaction or the cursor was closed
    Connection,      // lost, refused or never made: the next attempt may succeed
    Authentication,  // the credentials were not accepted
    PoolExhausted,   // no connection in time, or too many wait
    RowLimit,        // more rows than asked for
    Busy,            // locked by another for too long
    Serialization,   // a conflict or deadlock: try the whole transaction again
    UniqueViolation,
    ForeignKeyViolation,
    NotNullViolation,
    CheckViolation,
    OtherConstraint,
    InvalidValue,      // a value does not fit its type: out of range, malformed
    Syntax,            // the statement is wrong, or names what does not exist
    Permission,        // the database, or the access that this handle has, does not allow it
    ReadOnly,          // a write through what can only read
    TransactionState,  // no statement is possible in this state of the transaction
    Resources,         // disk full, out of memory, too many connections at the server
    Unsupported,       // by this provider
    Misuse,            // by the program
    Other,
};
std::string_view to_string(Cause cause) noexcept;  // "unique violation"

Cause cause_of(const Error& error) noexcept;
// Five characters, "23505"; empty if the error has none.
std::string sqlstate_of(const Error& error);
// Whether repeating the call may succeed; inside a transaction, repeating all of it.
bool is_transient(const Error& error) noexcept;
// Whether the connection on which this happened is unusable.
bool is_connection_lost(const Error& error) noexcept;

// Weft's own SQLSTATEs.
inline constexpr std::string_view kRowLimitState = "WF001";
inline constexpr std::string_view kPoolTimeoutState = "WF002";
inline constexpr std::string_view kPoolFullState = "WF003";
inline constexpr std::string_view kAccessState = "WF004";
inline constexpr std::string_view kClosedState = "WF005";
inline constexpr std::string_view kUnsupportedState = "WF006";

// What a driver reported. Only these fields can get into an Error, and the message only if its
// SQLSTATE permits. The texts are borrowed for the call.
struct DriverReport {
    std::string_view provider = {};     // "sqlite"
    std::string_view sqlstate = {};     // five characters; anything else counts as HY000
    std::string_view driver_code = {};  // "SQLITE_BUSY"; may be empty
    std::string_view message = {};      // used only where it cannot quote a value
    std::string_view constraint = {};   // names from the schema
    std::string_view table = {};
    std::string_view column = {};
};
// "sqlite: unique violation (23505, SQLITE_CONSTRAINT_UNIQUE), constraint users_email"
Error to_error(const DriverReport& report);
// For a condition that Weft itself detects; `text` contains neither values nor secrets. A
// `sqlstate` that is none counts as HY000.
Error to_error(std::string_view provider, std::string_view sqlstate, std::string_view text);
// Whether a driver's text for this SQLSTATE may be shown.
bool is_text_safe(std::string_view sqlstate) noexcept;

// What may be shown of a connection string: "postgres://db.example.com:5432/shop". Accepts URLs,
// keyword strings (host=... dbname=...) and ODBC strings (Server=...;Database=...). Takes only
// scheme, host, port and database, and only from a string that has one possible reading; otherwise
// returns "postgres (connection string not shown)".
std::string redacted(std::string_view connection_string);

}  // namespace weft::data
