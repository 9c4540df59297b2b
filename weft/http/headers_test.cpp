#include "weft/http/headers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace weft::http {
namespace {

std::string text_of(const Headers& headers) {
    std::string text;
    for (const Headers::Field& field : headers) {
        text.append(field.name).append("=").append(field.value).append(";");
    }
    return text;
}

TEST(Headers, HTTP_1_a_field_that_would_split_the_message_is_not_added) {
    for (std::string_view value : {"a\r\nb", "a\nb", "a\rb", "a\x01", "a\x7f"}) {
        Headers headers;
        headers.add("x", value);
        EXPECT_TRUE(headers.empty());
        EXPECT_FALSE(headers.is_valid());
    }
    Headers headers;
    headers.add("x", std::string_view("a\0b", 3));
    EXPECT_FALSE(headers.is_valid());
    headers.clear();
    EXPECT_TRUE(headers.is_valid());
    headers.set("x", "a\r\nb");
    EXPECT_FALSE(headers.is_valid());
}

TEST(Headers, HTTP_1_a_name_that_is_no_token_is_not_added) {
    for (std::string_view name : {"", "a b", "a:", "a\r\n", "\xc3\xa4", "a(", "\"a\""}) {
        Headers headers;
        headers.add(name, "x");
        EXPECT_TRUE(headers.empty()) << name;
        EXPECT_FALSE(headers.is_valid()) << name;
    }
}

TEST(Headers, HTTP_1_names_are_found_without_regard_to_case) {
    Headers headers;
    headers.add("Content-Type", "text/plain");
    headers.add("X", "1");
    headers.add("x", "2");
    EXPECT_EQ(headers.get("content-TYPE"), "text/plain");
    EXPECT_EQ(headers.get("x"), "1");
    EXPECT_EQ(headers.count("X"), 2U);
    EXPECT_FALSE(headers.has("content"));
    EXPECT_EQ(text_of(headers), "Content-Type=text/plain;X=1;x=2;");
}

TEST(Headers, HTTP_1_set_replaces_all_of_the_name) {
    Headers headers;
    headers.add("a", "1");
    headers.add("b", "2");
    headers.add("A", "3");
    headers.set("a", "4");
    headers.set("c", "5");
    EXPECT_EQ(text_of(headers), "a=4;b=2;c=5;");
    // Out of its own texts.
    headers.set(headers.begin()->name, headers.begin()->value);
    EXPECT_EQ(text_of(headers), "a=4;b=2;c=5;");
    headers.remove("B");
    EXPECT_EQ(text_of(headers), "a=4;c=5;");
}

TEST(Headers, HTTP_1_tokens_are_members_of_a_list) {
    Headers headers;
    headers.add("Connection", " keep-alive ,\tUpgrade");
    headers.add("connection", ",,x");
    EXPECT_TRUE(headers.has_token("connection", "upgrade"));
    EXPECT_TRUE(headers.has_token("connection", "Keep-Alive"));
    EXPECT_TRUE(headers.has_token("connection", "x"));
    EXPECT_FALSE(headers.has_token("connection", "keep"));
    EXPECT_FALSE(headers.has_token("upgrade", "x"));
}

TEST(Headers, HTTP_1_a_copy_owns_its_texts) {
    Headers copy;
    {
        std::string text = "name-and-value";
        Headers headers;
        headers.add_borrowed(std::string_view(text).substr(0, 4), std::string_view(text).substr(9));
        headers.add("empty", "");
        copy = headers.copy();
        text.assign(text.size(), '!');
    }
    EXPECT_EQ(text_of(copy), "name=value;empty=;");
}

TEST(Headers, HTTP_1_what_lies_in_the_object_moves_with_it) {
    std::string borrowed = "borrowed";
    // In the object; in the object with fields elsewhere; with texts elsewhere.
    for (std::size_t more : {0U, 10U, 40U}) {
        auto first = std::make_unique<Headers>();
        first->add("name", "value");
        first->add_borrowed("lent", borrowed);
        std::string expected = "name=value;lent=borrowed;";
        for (std::size_t i = 0; i < more; ++i) {
            first->add("n" + std::to_string(i), "v");
            expected += "n" + std::to_string(i) + "=v;";
        }
        Headers second = std::move(*first);
        EXPECT_TRUE(first->empty());
        first->add("used", "again");
        EXPECT_EQ(text_of(*first), "used=again;");
        first.reset();
        EXPECT_EQ(text_of(second), expected);
        Headers third;
        third.add("gone", "soon");
        third = std::move(second);
        EXPECT_EQ(text_of(third), expected);
        third.set("name", "other");
        EXPECT_EQ(third.get("NAME"), "other");
    }
}

TEST(Headers, HTTP_1_texts_stay_when_many_and_long_ones_are_added) {
    Headers headers;
    std::string expected;
    for (std::size_t i = 0; i < 300; ++i) {
        std::string value(i * 7, 'v');
        headers.add("n" + std::to_string(i), value);
        expected += "n" + std::to_string(i) + "=" + value + ";";
    }
    Headers moved = std::move(headers);
    EXPECT_EQ(text_of(moved), expected);
    moved.clear();
    EXPECT_TRUE(moved.empty());
    moved.add("a", "b");
    EXPECT_EQ(text_of(moved), "a=b;");
}

}  // namespace
}  // namespace weft::http
