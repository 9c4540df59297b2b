// Failures of databases: what a program can ask of such an Error, and how a provider makes one.
//
//     if (!inserted && cause_of(inserted.error()) == Cause::UniqueViolation) ...
//
// An Error of this folder has the SQLSTATE as its native code, in five digits to the base 36;
// Weft's own conditions have the class WF. The message is put together from fields that cannot hold
// a secret: what a driver says is shown only for conditions whose text speaks of the statement and
// the server, never for those that quote a value; connection strings are never shown. So no
// credential and no parameter is in any error or log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/error.h"

namespace weft::data {

// What to do about it, whatever the provider calls it.
enum class Cause : std::uint8_t {
    Cancelled,
    TimedOut,         // the deadline of the operation
    Closed,           // the database, the transaction or the cursor was closed
    Connection,       // lost, refused, or never there: the next attempt may succeed
    Authentication,   // who we are was not accepted
    PoolExhausted,    // no connection in time, or too many wait
    RowLimit,         // more rows than asked for
    Busy,             // locked by another, for too long
    Serialization,    // a conflict or deadlock: try the whole transaction again
    UniqueViolation,  //
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
    Unsupported,       // not by this provider
    Misuse,            // by the program
    Other,
};
std::string_view to_string(Cause cause) noexcept;  // "unique violation"

Cause cause_of(const Error& error) noexcept;
// Five characters, or none. "23505"
std::string sqlstate_of(const Error& error);
// Whether the same call may succeed when it is made again, from the beginning of its transaction.
bool is_transient(const Error& error) noexcept;
// The connection on which this happened cannot be used any more.
bool is_connection_lost(const Error& error) noexcept;

// Weft's own SQLSTATEs.
inline constexpr std::string_view kRowLimitState = "WF001";
inline constexpr std::string_view kPoolTimeoutState = "WF002";
inline constexpr std::string_view kPoolFullState = "WF003";
inline constexpr std::string_view kAccessState = "WF004";
inline constexpr std::string_view kClosedState = "WF005";
inline constexpr std::string_view kUnsupportedState = "WF006";

// What a driver reported. Only what is in here can get into an Error, and of the message only what
// the SQLSTATE allows. Texts are borrowed for the call.
struct DriverReport {
    std::string_view provider = {};     // "sqlite"
    std::string_view sqlstate = {};     // five characters; none is as HY000, general error
    std::string_view driver_code = {};  // the driver's own name for it: "SQLITE_BUSY"; may be empty
    std::string_view message = {};      // the driver's text; shown only where it can quote no value
    std::string_view constraint = {};   // names from the schema
    std::string_view table = {};
    std::string_view column = {};
};
// "sqlite: unique violation (23505, SQLITE_CONSTRAINT_UNIQUE), constraint users_email"
Error to_error(const DriverReport& report);
// The same for a condition of our own: provider and SQLSTATE, and a text of ours.
Error to_error(std::string_view provider, std::string_view sqlstate, std::string_view text);
// Whether the driver's text for this SQLSTATE may be shown.
bool is_text_safe(std::string_view sqlstate) noexcept;

// What may be said about where a connection string leads: "postgres://db.example.com:5432/shop".
// Takes URLs, keyword strings (host=... dbname=...) and ODBC strings (Server=...;Database=...).
// Only scheme, host, port and database are taken over, and only from a string that can be read in
// one way; else just "postgres (connection string not shown)".
std::string redacted(std::string_view connection_string);

}  // namespace weft::data
