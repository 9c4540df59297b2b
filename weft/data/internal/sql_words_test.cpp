#include "weft/data/internal/sql_words.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace weft::data {
namespace {

constexpr SqlSyntax kMariaDb{
    .backticks = true, .backslashes = true, .mariadb_comments = true, .marks = "@"};
constexpr SqlSyntax kSqlServer{.brackets = true, .nested_comments = true, .marks = "@#"};

// "select a | set b": words separated by a blank, statements by a bar; quoted names in angle
// brackets.
std::string shown(std::string_view text, const SqlSyntax& syntax) {
    std::string all;
    bool is_first = true;
    for (const SqlWords& words : words_of_statements(text, syntax)) {
        if (!std::exchange(is_first, false)) all += " | ";
        std::string one;
        for (const SqlWord& word : words) {
            if (!one.empty()) one += ' ';
            one += word.is_quoted ? "<" + word.text + ">" : word.text;
        }
        all += one;
    }
    return all;
}

TEST(SqlWords, DAT_5_words_and_statements_are_found_outside_of_quotes_and_comments) {
    const std::pair<const char*, const char*> cases[] = {
        {"", ""},
        {" ; ;-- only this\n", ""},
        {"SELECT 1; Set x = 'y'", "select | set x"},
        {"select ';', ';''; set'';' ; b", "select | b"},
        {"select \"Set;\"\"x\", a_1$b", "select <set;\"\"x> a_1$b"},
        {"(select 1e5, 2.5E-3, 1set)", "select set"},
        {"a -- ; b\nc /* ; /* d */ ; */ e", "a c e"},
        {"a /* never ; closed", "a"},
        {"'a' ; 1", " | "},
        {"a := b::text", "a := b text"},
        {"select 'never closed; set", "select"},
    };
    for (auto [text, expected] : cases) EXPECT_EQ(shown(text, kPostgresSyntax), expected) << text;
}

TEST(SqlWords, DAT_5_texts_of_postgresql_end_where_it_ends_them) {
    const std::pair<const char*, const char*> cases[] = {
        {"do $$ begin; end $$; set x", "do | set x"},
        {"do $a$ $$ ; $b$ $a$ ; x", "do | x"},
        {"select $1; set", "select | set"},
        {"a$b$; c$b$", "a$b$ | c$b$"},
        {"\xc3\xa9$a$; x$a$", "\xc3\xa9$a$ | x$a$"},
        {"select '\\'; set x; '", "select | set x | "},
        {"select E'\\'; set x; '", "select"},
        {"select e'a'\n '\\';set'; b", "select | b"},
        {"select tape'\\'; set", "select tape | set"},
        {"a[1;2]", "a | "},
    };
    for (auto [text, expected] : cases) EXPECT_EQ(shown(text, kPostgresSyntax), expected) << text;
}

TEST(SqlWords, DAT_5_each_database_has_its_own_quotes_and_comments) {
    const std::pair<const char*, const char*> mariadb[] = {
        {"select `a;``b`, 'it\\'s;', \"c\\\"", "select <a;``b> <c\\>"},
        {"select 1 # ; x\n+2 -- y\n; 1--2; z", "select |  | z"},
        {"/*!50000 set */ /*M! x */ a /* /* b */ c", "set m x a c"},
        {"select 1 /*! +1 */*2; set x", "select | set x"},
        {"select @a := 1 into @b", "select @a := into @b"},
    };
    for (auto [text, expected] : mariadb) EXPECT_EQ(shown(text, kMariaDb), expected) << text;
    const std::pair<const char*, const char*> sql_server[] = {
        {"select [a;]]'], 1 delete from #t", "select <a;]]'> delete from #t"},
        {"/* /* */ ; */ select @@trancount, '\\' begin tran", "select @@trancount begin tran"},
        {"select 1\xc2\xa0"
         "delete",
         "select delete"},
    };
    for (auto [text, expected] : sql_server) EXPECT_EQ(shown(text, kSqlServer), expected) << text;
}

TEST(SqlWords, DAT_5_the_first_word_tells_what_a_statement_is) {
    EXPECT_EQ(first_word(" ; -- c\n ((Select 1))", kPostgresSyntax), "select");
    EXPECT_EQ(first_word("[p] 1", kSqlServer), "");
    EXPECT_EQ(first_word("'x'; set y", kPostgresSyntax), "");
    EXPECT_EQ(first_word("", kPostgresSyntax), "");
}

}  // namespace
}  // namespace weft::data
