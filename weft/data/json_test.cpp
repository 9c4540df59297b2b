#include "weft/data/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/data/internal/forms.h"

namespace weft::data {
namespace {

std::string json_of(const Value& value) {
    std::string text;
    append_json(text, value);
    EXPECT_TRUE(forms::is_json(text)) << text;
    return text;
}

Value bytes(std::string_view text) { return Value::bytes(std::as_bytes(std::span(text))); }

TEST(Json, DAT_14_values_are_written_with_all_their_digits) {
    EXPECT_EQ(json_of(nullptr), "null");
    EXPECT_EQ(json_of(true), "true");
    EXPECT_EQ(json_of(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
    EXPECT_EQ(json_of(0.1), "0.1");
    EXPECT_EQ(json_of(1e300), "1e+300");
    EXPECT_EQ(json_of(std::numeric_limits<double>::infinity()), "null");
    EXPECT_EQ(json_of(*Value::decimal("1.50")), "\"1.50\"");
    EXPECT_EQ(json_of(*Value::json("{\"a\": [1]}")), "{\"a\": [1]}");
    EXPECT_EQ(json_of("a\"\\\n\x01 \xf0\x9f\x8c\xb1"), "\"a\\\"\\\\\\n\\u0001 \xf0\x9f\x8c\xb1\"");
    EXPECT_EQ(json_of(Value::array({1, nullptr, "x"})), "[1,null,\"x\"]");
    EXPECT_EQ(json_of(bytes("")), "\"\"");
    EXPECT_EQ(json_of(bytes("f")), "\"Zg==\"");
    EXPECT_EQ(json_of(bytes("fo")), "\"Zm8=\"");
    EXPECT_EQ(json_of(bytes("foo\xff")), "\"Zm9v/w==\"");
}

TEST(Json, DAT_14_a_value_of_JSON_takes_one_line) {
    EXPECT_EQ(json_of(*Value::json("{\n\t\"a\": [1,\r\n2], \"b\": \"\\n\"\n}")),
              "{ \t\"a\": [1,  2], \"b\": \"\\n\" }");
    EXPECT_EQ(json_of(Value::array({*Value::json("\n1"), "\n"})), "[ 1,\"\\n\"]");
}

TEST(Json, DAT_14_a_row_is_an_object) {
    Rows rows(std::make_shared<const std::vector<Column>>(
        std::vector<Column>{{"id", ""}, {"na\"me", ""}}));
    rows.add_value(7);
    rows.add_value("x");
    rows.end_row();
    std::string text;
    append_json(text, rows[0]);
    EXPECT_EQ(text, R"({"id":7,"na\"me":"x"})");
}

TEST(Forms, DAT_6_what_is_of_a_form_and_what_is_not) {
    for (std::string_view good : {"0", "-1.50", ".5", "1.", "+1e-7"})
        EXPECT_TRUE(Value::decimal(good)) << good;
    for (std::string_view bad : {"", ".", "-", "1e", "1.2.3", " 1", "0x1", "NaN"})
        EXPECT_FALSE(Value::decimal(bad)) << bad;
    for (std::string_view bad : {"2023-02-29", "2024-00-01", "2024-13-01", "0000-01-01", "24-1-1"})
        EXPECT_FALSE(Value::date(bad)) << bad;
    for (std::string_view bad : {"24:00:00", "23:60:00", "23:59:60", "1:00:00", "00:00:00."})
        EXPECT_FALSE(Value::time(bad)) << bad;
    EXPECT_TRUE(Value::instant("2026-11-18T00:00:00.123456789Z"));
    EXPECT_FALSE(Value::instant("2026-11-18T00:00:00"));
    EXPECT_FALSE(Value::timestamp("2026-11-18T00:00:00Z"));
    for (std::string_view bad :
         {"", "{", "[1,]", "{\"a\" 1}", "01", "\"\x01\"", "nul", "1 2", "\"\\x\""})
        EXPECT_FALSE(Value::json(bad)) << bad;
    EXPECT_FALSE(Value::json(std::string(600, '[') + std::string(600, ']')));
    for (std::string_view bad :
         {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xe2\x82"})
        EXPECT_FALSE(forms::is_utf8(bad));
    EXPECT_TRUE(forms::is_utf8("abcdefgh\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb1"));
}

}  // namespace
}  // namespace weft::data
