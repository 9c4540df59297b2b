// Judges statements of PostgreSQL by their words, without parsing SQL. Any thread.
#pragma once

#include <string_view>

#include "weft/data/internal/sql_words.h"

namespace weft::data::postgres {

// Whether one of the statements may change session state that the next user would see: a setting, a
// lock, a temporary table, a subscription. When in doubt, true.
bool may_change_session(std::string_view text);
// Whether the text begins with a keyword of a query.
bool only_reads(std::string_view text);
// Whether the text may do more than return rows: write, lock, notify, or be several commands.
// Stopping it at the server would undo that. When in doubt, true; but of the functions it may call
// only PostgreSQL's own are known.
bool may_have_effects(std::string_view text);
// Whether the text begins with a word that could let a read-only session write.
bool changes_settings(std::string_view text);
// Whether the text has several commands, which only the simple query protocol accepts.
bool has_several_commands(std::string_view text);

// Whether the statement names a function that changes session state.
bool calls_for_session(const SqlWords& words);
// Whether the statement creates a temporary table or similar.
bool makes_temporary(const SqlWords& words);

}  // namespace weft::data::postgres
