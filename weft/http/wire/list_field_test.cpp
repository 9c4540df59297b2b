#include "weft/http/wire/list_field.h"

#include <gtest/gtest.h>

namespace weft::http::wire {
namespace {

// "name;parameter=value,..." of what was read; "malformed" for nothing.
std::string read(std::string_view text) {
    auto members = parse_list_field(text);
    if (!members) return "malformed";
    std::string sum;
    for (const ListMember& member : *members) {
        if (!sum.empty()) sum += ',';
        sum += member.name;
        for (const ListParameter& parameter : member.parameters) {
            sum += ';';
            sum += parameter.name;
            if (parameter.value) sum += '=' + *parameter.value;
        }
    }
    return sum;
}

TEST(ListField, HTTP_1_what_is_no_list_is_refused) {
    for (std::string_view text :
         {"a b", "a;", "a;;b", "a;b=", "a;=c", "a;b= c", "a;b=\"c", "a;b=\"c\\", "a;b=\"\x01\"",
          "a;b=\"c\"d", "=a", "a=b", "\"a\"", "a\n,b", "a,\x7f", ";a", "a;b=c d"}) {
        EXPECT_EQ(read(text), "malformed") << text;
    }
    EXPECT_EQ(read(std::string_view("a\0b", 3)), "malformed");
}

TEST(ListField, HTTP_1_members_and_parameters_are_read_in_their_order) {
    EXPECT_EQ(read(""), "");
    EXPECT_EQ(read(" \t"), "");
    EXPECT_EQ(read("a"), "a");
    EXPECT_EQ(read(",, a ,\t,b,"), "a,b");
    EXPECT_EQ(read("a ; b ; c=d;e=\"f g\\\"\\\\,;\" , *"), "a;b;c=d;e=f g\"\\,;,*");
    EXPECT_EQ(read("a;b=\"\""), "a;b=");
    EXPECT_EQ(read("a;b=\"\xc3\xa4\""), "a;b=\xc3\xa4");
}

}  // namespace
}  // namespace weft::http::wire
