#include "weft/data/odbc/internal/errors.h"

#include <algorithm>
#include <array>
#include <span>

#include "weft/data/failure.h"
#include "weft/data/odbc/internal/dialect.h"
#include "weft/data/odbc/internal/wide.h"

namespace weft::data::odbc {
namespace {

constexpr SQLSMALLINT kRecordsMax = 8;
constexpr SQLSMALLINT kTextUnits = 1024;

// A driver's native error codes, where they are more specific than its SQLSTATE.
struct Native {
    SQLINTEGER code;
    std::string_view sqlstate;
};

constexpr std::array kMariaDb{
    Native{1022, "23505"}, Native{1062, "23505"}, Native{1169, "23505"}, Native{1586, "23505"},
    Native{1216, "23503"}, Native{1217, "23503"}, Native{1451, "23503"}, Native{1452, "23503"},
    Native{1048, "23502"}, Native{1364, "23502"}, Native{3819, "23514"}, Native{4025, "23514"},
    Native{1205, "55P03"}, Native{1213, "40001"}, Native{1317, "57014"}, Native{1969, "57014"},
    Native{1044, "42501"}, Native{1045, "28000"}, Native{1142, "42501"}, Native{1143, "42501"},
    Native{1227, "42501"}, Native{1290, "25006"}, Native{1792, "25006"}, Native{1049, "3D000"},
    Native{1021, "53100"}, Native{1037, "53200"}, Native{1038, "53200"}, Native{1040, "53300"},
    Native{1203, "53300"}, Native{1114, "53100"}, Native{1053, "57P01"}, Native{1927, "57P01"},
    Native{2002, "08001"}, Native{2003, "08001"}, Native{2006, "08S01"}, Native{2013, "08S01"},
    Native{1366, "22007"}, Native{1265, "22000"}, Native{2057, "0A000"},
};
constexpr std::array kSqlServer{
    Native{2601, "23505"},  Native{2627, "23505"}, Native{515, "23502"},   Native{1205, "40001"},
    Native{3960, "40001"},  Native{1222, "55P03"}, Native{229, "42501"},   Native{230, "42501"},
    Native{262, "42501"},   Native{297, "42501"},  Native{300, "42501"},   Native{916, "42501"},
    Native{18456, "28000"}, Native{4060, "3D000"}, Native{3906, "25006"},  Native{1105, "53100"},
    Native{9002, "53100"},  Native{701, "53200"},  Native{8152, "22001"},  Native{2628, "22001"},
    Native{220, "22003"},   Native{8115, "22003"}, Native{245, "22018"},   Native{8114, "22018"},
    Native{102, "42000"},   Native{105, "42000"},  Native{156, "42000"},   Native{137, "42000"},
    Native{207, "42S22"},   Native{208, "42S02"},  Native{2812, "42000"},  Native{2714, "42S01"},
    Native{3902, "25000"},  Native{3903, "25000"}, Native{20003, "57014"},
};
// SQLite's result codes; constraints share one code and are distinguished by their text.
constexpr std::array kSqlite{
    Native{5, "55P03"},  Native{6, "55P03"},  Native{7, "53200"},  Native{8, "25006"},
    Native{9, "57014"},  Native{10, "58030"}, Native{11, "58030"}, Native{13, "53100"},
    Native{14, "08001"}, Native{17, "40001"}, Native{18, "54000"}, Native{20, "22000"},
    Native{23, "42501"}, Native{26, "08001"},
};

std::string_view find(std::span<const Native> natives, SQLINTEGER code) {
    auto found = std::ranges::find(natives, code, &Native::code);
    return found == natives.end() ? std::string_view() : found->sqlstate;
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::string_view sqlite_state(const Diagnosis& diagnosis) {
    constexpr SQLINTEGER kError = 1;
    constexpr SQLINTEGER kConstraint = 19;
    const std::string& text = diagnosis.text;
    if (diagnosis.native == kConstraint) {
        if (has(text, "UNIQUE constraint") || has(text, "PRIMARY KEY")) return "23505";
        if (has(text, "FOREIGN KEY constraint")) return "23503";
        if (has(text, "NOT NULL constraint")) return "23502";
        return has(text, "CHECK constraint") ? "23514" : "23000";
    }
    // These messages are about the statement. Others, raised while it runs, may quote a value.
    constexpr std::array<std::string_view, 11> kWrong = {
        "syntax error",  "no such ",          "has no column", "already exists",
        "ambiguous",     "incomplete input",  "unrecognized ", "values for",
        "were supplied", "one SQL statement", "misuse of "};
    bool is_wrong = std::ranges::any_of(kWrong, [&](auto part) { return has(text, part); });
    if (diagnosis.native <= kError && is_wrong) return "42000";
    return find(kSqlite, diagnosis.native & 0xff);
}

std::string_view sql_server_state(const Diagnosis& diagnosis) {
    constexpr SQLINTEGER kConflict = 547;
    if (diagnosis.native != kConflict) return find(kSqlServer, diagnosis.native);
    return has(diagnosis.text, "CHECK constraint") ? "23514" : "23503";
}

// A driver may report anything in the place of an SQLSTATE.
bool is_well_formed(std::string_view state) {
    return state.size() == SQL_SQLSTATE_SIZE && std::ranges::all_of(state, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
           });
}

std::string_view connect_state(const Diagnosis& diagnosis) {
    const std::string& text = diagnosis.text;
    if (has(text, "password authentication failed") || has(text, "no password supplied"))
        return "28P01";
    // The dialect is not known before the connect has succeeded.
    if (has(text, "Login failed for user")) return "28000";
    if (has(text, "Can't open lib")) return "IM003";
    if (has(text, "does not exist") && has(text, "database")) return "3D000";
    std::string_view state = diagnosis.sqlstate;
    bool says_enough = state.starts_with("08") || state.starts_with("28") ||
                       state.starts_with("IM") || state.starts_with("HYT") ||
                       state.starts_with("3D") || state.starts_with("53");
    return says_enough && is_well_formed(state) ? state : "08001";
}

// SQL Server's messages of class 42 may be the text of a raised error. If the statement had values,
// only messages that are known not to quote them are shown.
bool may_show(const Diagnosis& diagnosis, OdbcDialect dialect, Phase phase) {
    if (dialect == OdbcDialect::Postgres || dialect == OdbcDialect::Sqlite) return true;
    if (dialect == OdbcDialect::SqlServer && find(kSqlServer, diagnosis.native).empty())
        return false;
    return phase == Phase::WithoutValues;
}

}  // namespace

Diagnosis diagnose(SQLSMALLINT kind, SQLHANDLE handle) {
    Diagnosis best;
    for (SQLSMALLINT record = 1; record <= kRecordsMax; ++record) {
        Diagnosis one;
        SQLWCHAR state[SQL_SQLSTATE_SIZE + 1] = {};
        Wide text(kTextUnits);
        SQLSMALLINT units = 0;
        SQLRETURN code = SQLGetDiagRecW(kind, handle, record, state, &one.native, text.data(),
                                        kTextUnits, &units);
        if (!SQL_SUCCEEDED(code)) break;
        one.sqlstate = shown(std::span<const SQLWCHAR>(state).first(SQL_SQLSTATE_SIZE));
        auto length = static_cast<std::size_t>(std::clamp<int>(units, 0, kTextUnits - 1));
        one.text = shown(std::span<const SQLWCHAR>(text).first(length));
        // By the standard the first record is the most important; warnings and general errors give
        // way to later records.
        bool is_weak = best.sqlstate == "HY000" || best.sqlstate.starts_with("01");
        bool is_better = one.sqlstate != "HY000" && !one.sqlstate.starts_with("01");
        if (record == 1 || (is_weak && (is_better || best.native == 0))) best = std::move(one);
    }
    return best;
}

std::string_view exact_state(const Diagnosis& diagnosis, OdbcDialect dialect, Phase phase) {
    std::string_view state;
    if (dialect == OdbcDialect::MariaDb) state = find(kMariaDb, diagnosis.native);
    if (dialect == OdbcDialect::SqlServer) state = sql_server_state(diagnosis);
    if (dialect == OdbcDialect::Sqlite) state = sqlite_state(diagnosis);
    if (!state.empty()) return state;
    if (phase == Phase::Connect) return connect_state(diagnosis);
    // "Operation canceled" under another SQLSTATE; drivers of ODBC 2 write S1 for HY.
    if (diagnosis.sqlstate == "HY018" || diagnosis.sqlstate == "70100") return "57014";
    if (diagnosis.sqlstate == "37000") return "42000";
    return diagnosis.sqlstate;
}

Error to_error(const Diagnosis& diagnosis, OdbcDialect dialect, Phase phase) {
    std::string_view state = exact_state(diagnosis, dialect, phase);
    if (phase == Phase::Connect) {
        std::string_view text;
        if (state == "IM002" || state == "IM003")
            text = "the driver or data source that the connection string names is not installed";
        return data::to_error(kName, state, text);
    }
    std::string native = diagnosis.native > 1 ? std::to_string(diagnosis.native) : std::string();
    return data::to_error({.provider = kName,
                           .sqlstate = state,
                           .driver_code = native,
                           .message = may_show(diagnosis, dialect, phase)
                                          ? std::string_view(diagnosis.text)
                                          : std::string_view()});
}

}  // namespace weft::data::odbc
