// What can be seen in the text of a statement without reading SQL.
#pragma once

#include <string_view>

namespace weft::data::postgres {

// Whether it may leave something in the session that the next user would see: a setting, a lock, a
// temporary table, a subscription. Rather yes than no.
bool may_change_session(std::string_view text);
// Whether it begins with a word of a query.
bool only_reads(std::string_view text);
// Whether it begins with a word that could let a session write which only reads.
bool changes_settings(std::string_view text);
// Several commands in one text, which only the simple protocol takes. Rather yes than no.
bool has_several_commands(std::string_view text);

}  // namespace weft::data::postgres
