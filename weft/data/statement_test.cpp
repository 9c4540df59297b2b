#include "weft/data/statement.h"

#include <gtest/gtest.h>

#include "weft/data/database.h"
#include "weft/data/pool.h"

namespace weft::data {
namespace {

TEST(Statement, DAT_6_a_parameter_is_never_part_of_the_text) {
    Statement statement = sql("select * from t where a = {} and b = {}", 7, "x' or 1=1");
    EXPECT_EQ(statement.text(Placeholders::Question), "select * from t where a = ? and b = ?");
    EXPECT_EQ(statement.text(Placeholders::Dollar), "select * from t where a = $1 and b = $2");
    EXPECT_EQ(statement.text(Placeholders::Named), "select * from t where a = @p1 and b = @p2");
    ASSERT_EQ(statement.parameters().size(), 2U);
    EXPECT_EQ(statement.parameters()[0], Value(7));
    EXPECT_EQ(statement.parameters()[1], Value("x' or 1=1"));
}

TEST(Statement, DAT_6_doubled_braces_are_braces) {
    Statement statement = sql("select '{{\"a\":{{}}}}', {}", nullptr);
    EXPECT_EQ(statement.text(Placeholders::Dollar), "select '{\"a\":{}}', $1");
    EXPECT_TRUE(statement.parameters()[0].is_null());
}

TEST(Statement, DAT_6_a_statement_within_another_brings_its_parameters) {
    Statement inner = sql("b = {}", 2);
    Statement outer = sql("select {} where {} and c = {}", 1, inner, 3);
    EXPECT_EQ(outer.text(Placeholders::Dollar), "select $1 where b = $2 and c = $3");
    EXPECT_EQ(outer.parameters(), (std::vector<Value>{1, 2, 3}));
}

TEST(Statement, DAT_6_names_are_quoted_and_their_quotes_doubled) {
    Result<Identifier> name = identifier("or\"der");
    ASSERT_TRUE(name);
    EXPECT_EQ(sql("select * from {}", *name).text(Placeholders::Question),
              "select * from \"or\"\"der\"");
    EXPECT_EQ(identifier("").error().kind(), ErrorKind::Misuse);
    EXPECT_EQ(identifier(std::string_view("a\0b", 3)).error().kind(), ErrorKind::Misuse);
}

TEST(Statement, DAT_6_a_plain_text_stays_as_it_is) {
    Statement statement("select {} from t where id = ?1", {7});
    EXPECT_TRUE(statement.is_plain());
    EXPECT_EQ(statement.text(Placeholders::Dollar), "select {} from t where id = ?1");
}

}  // namespace
}  // namespace weft::data
