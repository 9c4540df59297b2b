#include "weft/data/postgres/internal/words.h"

#include <algorithm>
#include <array>

namespace weft::data::postgres {
namespace {

template <std::size_t Count>
bool contains(const std::array<std::string_view, Count>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

bool may_change_session(const SqlWords& words) {
    // These change no session state, except through functions that they call.
    constexpr std::array<std::string_view, 8> kHarmless = {"select", "insert", "update", "delete",
                                                           "with",   "values", "table",  "merge"};
    return !contains(kHarmless, first_word(words)) || calls_for_session(words) ||
           makes_temporary(words);
}

}  // namespace

bool calls_for_session(const SqlWords& words) {
    // Without the functions whose locks end with the transaction.
    constexpr std::array<std::string_view, 12> kFunctions = {"set_config",
                                                             "setseed",
                                                             "pg_advisory_lock",
                                                             "pg_advisory_lock_shared",
                                                             "pg_try_advisory_lock",
                                                             "pg_try_advisory_lock_shared",
                                                             "dblink",
                                                             "dblink_connect",
                                                             "dblink_connect_u",
                                                             "dblink_open",
                                                             "dblink_exec",
                                                             "dblink_send_query"};
    return std::ranges::any_of(
        words, [&](const SqlWord& word) { return contains(kFunctions, word.text); });
}

bool makes_temporary(const SqlWords& words) {
    for (std::size_t at = 0; at < words.size(); ++at) {
        if (words[at].text == "pg_temp") return true;
        if (at == 0 || !(words[at].is("temp") || words[at].is("temporary"))) continue;
        // "insert into temp" names a table "temp", which is common.
        bool is_insert = at > 1 && (words[at - 2].is("insert") || words[at - 2].is("merge"));
        if (words[at - 1].is("into") && !is_insert) return true;
        constexpr std::array<std::string_view, 4> kBefore = {"create", "replace", "local",
                                                             "global"};
        if (!words[at - 1].is_quoted && contains(kBefore, words[at - 1].text)) return true;
    }
    return false;
}

bool may_change_session(std::string_view text) {
    return std::ranges::any_of(words_of_statements(text, kPostgresSyntax),
                               [](const SqlWords& words) { return may_change_session(words); });
}

bool only_reads(std::string_view text) {
    constexpr std::array<std::string_view, 3> kReading = {"select", "values", "table"};
    return contains(kReading, first_word(text, kPostgresSyntax));
}

bool may_have_effects(std::string_view text) {
    constexpr std::array<std::string_view, 4> kReading = {"select", "values", "table", "with"};
    // "share" and "update" are the locks of "select ... for".
    constexpr std::array<std::string_view, 6> kWriting = {"insert", "update", "delete",
                                                          "merge",  "share",  "into"};
    constexpr std::array<std::string_view, 5> kFunctions = {
        "pg_notify", "pg_advisory_xact_lock", "pg_advisory_xact_lock_shared",
        "pg_try_advisory_xact_lock", "pg_try_advisory_xact_lock_shared"};
    std::vector<SqlWords> statements = words_of_statements(text, kPostgresSyntax);
    if (statements.size() != 1) return true;
    const SqlWords& words = statements.front();
    if (!contains(kReading, first_word(words)) || calls_for_session(words)) return true;
    return std::ranges::any_of(words, [&](const SqlWord& word) {
        return (!word.is_quoted && contains(kWriting, word.text)) ||
               contains(kFunctions, word.text);
    });
}

bool changes_settings(std::string_view text) {
    constexpr std::array<std::string_view, 9> kWords = {
        "set", "reset", "discard", "begin", "start", "commit", "end", "rollback", ""};
    return contains(kWords, first_word(text, kPostgresSyntax));
}

bool has_several_commands(std::string_view text) {
    if (text.find(';') == std::string_view::npos) return false;
    return words_of_statements(text, kPostgresSyntax).size() > 1;
}

}  // namespace weft::data::postgres
