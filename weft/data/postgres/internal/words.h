// What can be seen in the words of a text without reading SQL.
#pragma once

#include <string_view>

#include "weft/data/internal/sql_words.h"

namespace weft::data::postgres {

// Whether one of its statements may leave something in the session that the next user would see: a
// setting, a lock, a temporary table, a subscription. Rather yes than no.
bool may_change_session(std::string_view text);
// Whether it begins with a word of a query.
bool only_reads(std::string_view text);
// Whether it may do more than give rows: write, lock, notify, or be several commands. Stopped at
// the server, it would be undone. Rather yes than no, but of the functions that it calls only those
// of PostgreSQL are known.
bool may_have_effects(std::string_view text);
// Whether it begins with a word that could let a session write which only reads.
bool changes_settings(std::string_view text);
// Several commands in one text, which only the simple protocol takes.
bool has_several_commands(std::string_view text);

// Of one statement, whatever it begins with. Whether it names a function that leaves something in
// the session.
bool calls_for_session(const SqlWords& words);
// Whether it makes a temporary table, or the like.
bool makes_temporary(const SqlWords& words);

}  // namespace weft::data::postgres
