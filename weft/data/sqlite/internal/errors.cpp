#include "weft/data/sqlite/internal/errors.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <string>

#include "weft/data/failure.h"

namespace weft::data::sqlite_internal {
namespace {

struct Meaning {
    int code;  // extended, or primary for all of its extended codes
    std::string_view name;
    std::string_view sqlstate;
};

constexpr std::array kMeanings{
    Meaning{SQLITE_CONSTRAINT_UNIQUE, "SQLITE_CONSTRAINT_UNIQUE", "23505"},
    Meaning{SQLITE_CONSTRAINT_PRIMARYKEY, "SQLITE_CONSTRAINT_PRIMARYKEY", "23505"},
    Meaning{SQLITE_CONSTRAINT_ROWID, "SQLITE_CONSTRAINT_ROWID", "23505"},
    Meaning{SQLITE_CONSTRAINT_FOREIGNKEY, "SQLITE_CONSTRAINT_FOREIGNKEY", "23503"},
    Meaning{SQLITE_CONSTRAINT_NOTNULL, "SQLITE_CONSTRAINT_NOTNULL", "23502"},
    Meaning{SQLITE_CONSTRAINT_CHECK, "SQLITE_CONSTRAINT_CHECK", "23514"},
    Meaning{SQLITE_CONSTRAINT_DATATYPE, "SQLITE_CONSTRAINT_DATATYPE", "22000"},
    Meaning{SQLITE_CONSTRAINT, "SQLITE_CONSTRAINT", "23000"},
    Meaning{SQLITE_BUSY, "SQLITE_BUSY", "55P03"},
    Meaning{SQLITE_LOCKED, "SQLITE_LOCKED", "55P03"},
    Meaning{SQLITE_INTERRUPT, "SQLITE_INTERRUPT", "57014"},
    Meaning{SQLITE_READONLY, "SQLITE_READONLY", "25006"},
    Meaning{SQLITE_FULL, "SQLITE_FULL", "53100"},
    Meaning{SQLITE_NOMEM, "SQLITE_NOMEM", "53200"},
    Meaning{SQLITE_TOOBIG, "SQLITE_TOOBIG", "54000"},
    Meaning{SQLITE_RANGE, "SQLITE_RANGE", "07001"},
    Meaning{SQLITE_CANTOPEN, "SQLITE_CANTOPEN", "58P01"},
    Meaning{SQLITE_NOTADB, "SQLITE_NOTADB", "XX001"},
    Meaning{SQLITE_AUTH, "SQLITE_AUTH", "42501"},
    Meaning{SQLITE_PERM, "SQLITE_PERM", "42501"},
    Meaning{SQLITE_IOERR, "SQLITE_IOERR", "58030"},
    Meaning{SQLITE_CORRUPT, "SQLITE_CORRUPT", "XX001"},
    Meaning{SQLITE_SCHEMA, "SQLITE_SCHEMA", "40001"},
    Meaning{SQLITE_MISMATCH, "SQLITE_MISMATCH", "22000"},
};

Meaning meaning_of(int code, Phase phase) {
    for (int wanted : {code, code & 0xff}) {
        auto found = std::ranges::find(kMeanings, wanted, &Meaning::code);
        if (found != kMeanings.end()) return *found;
    }
    if (phase == Phase::Open) return {code, "SQLITE_ERROR", "58000"};
    return {code, "SQLITE_ERROR", phase == Phase::Prepare ? "42000" : "HY000"};
}

// From "UNIQUE constraint failed: users.email": names from the schema, no values.
std::string_view constraint_in(std::string_view message) {
    constexpr std::string_view kMark = " constraint failed: ";
    std::size_t at = message.find(kMark);
    return at == std::string_view::npos ? std::string_view() : message.substr(at + kMark.size());
}

bool is_about_file(int code) {
    int primary = code & 0xff;
    return primary == SQLITE_CANTOPEN || primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT;
}

}  // namespace

Error error_of(sqlite3* database, int code, Phase phase, std::string_view file) {
    Meaning meaning = meaning_of(code, phase);
    std::string_view message = database ? sqlite3_errmsg(database) : sqlite3_errstr(code);
    DriverReport report{.provider = kName,
                        .sqlstate = meaning.sqlstate,
                        .driver_code = meaning.name,
                        .message = message};
    if (meaning.sqlstate.starts_with("23")) report.constraint = constraint_in(message);
    // A trigger's message is written by the application and may quote values.
    if (code == SQLITE_CONSTRAINT_TRIGGER) report.constraint = {};
    // While a statement runs, some messages quote values: a JSON path, a search term.
    if (phase == Phase::Step && (code & 0xff) == SQLITE_ERROR) report.message = {};
    std::string named(message);
    if (!file.empty() && is_about_file(code)) {
        // Without its folders, which nobody but the caller has to know.
        named.append(": ").append(file.substr(file.rfind('/') + 1));
        report.message = named;
    }
    return to_error(report);
}

}  // namespace weft::data::sqlite_internal
