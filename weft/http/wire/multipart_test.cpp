#include "weft/http/wire/multipart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace weft::http::wire {
namespace {

using namespace std::string_literals;
using Event = MultipartStep::Event;

// The parts as "name|file name|type|content;", then "." or the error; fed by `step` bytes.
std::string read(std::string_view form, std::size_t step, const MultipartLimits& limits = {}) {
    MultipartParser parser("b", limits);
    std::string told;
    std::size_t used = 0;
    for (std::size_t there = 0;;) {
        MultipartStep next = parser.next(form.substr(used, there - used));
        used += next.used;
        switch (next.event) {
        case Event::NeedMore:
            EXPECT_EQ(next.used, 0U);
            EXPECT_LE(there - used, parser.bytes_needed_max());
            if (there == form.size()) {
                Result<void> end = parser.finish(form.substr(used));
                return told + (end ? "." : "(" + end.error().message() + ")");
            }
            there = std::min(there + step, form.size());
            break;
        case Event::Part:
            told += parser.part().name + "|" + parser.part().file_name.value_or("-") + "|" +
                    parser.part().content_type + "|";
            break;
        case Event::Content:
            EXPECT_FALSE(next.content.empty());
            told += next.content;
            break;
        case Event::PartEnd: told += ";"; break;
        case Event::End: break;
        case Event::Failed: return told + "(" + parser.error().message() + ")";
        }
    }
}

std::string with_all_steps(std::string_view form, const MultipartLimits& limits = {}) {
    std::string whole = read(form, form.size() + 1, limits);
    for (std::size_t step : {1, 2, 3, 7, 50}) EXPECT_EQ(read(form, step, limits), whole) << form;
    return whole;
}

std::string part(std::string_view disposition, std::string_view content = "x") {
    return "--b\r\nContent-Disposition: "s.append(disposition).append("\r\n\r\n").append(content) +
           "\r\n--b--\r\n";
}

TEST(Multipart, HTTP_15b_parts_are_read_however_their_bytes_come) {
    EXPECT_EQ(with_all_steps("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
                             "--b\r\ncontent-type: image/png\r\nX: y\r\n"
                             "content-disposition:form-data;name=f ; filename=\"x y.png\"\r\n\r\n"
                             "\r\n-\r\n--\r\n--a\r--b\n--b\r\n\r\n--b--\r\n"),
              "a|-||1;f|x y.png|image/png|\r\n-\r\n--\r\n--a\r--b\n--b\r\n;.");
    EXPECT_EQ(with_all_steps(part("form-data; name=\"\"; filename=\"\"", "")), "|||;.");
    EXPECT_EQ(with_all_steps("--b--"), ".");
    EXPECT_EQ(with_all_steps("\r\n--b--\r\n"), ".");
    EXPECT_EQ(with_all_steps(part("form-data; name=a", "\0\xff\r\r\n\r"s)),
              "a|-||\0\xff\r\r\n\r;."s);
}

TEST(Multipart, HTTP_15b_names_are_taken_as_browsers_and_others_write_them) {
    auto name = [](std::string_view written) {
        std::string told = with_all_steps(part("form-data; name=" + std::string(written), ""));
        return told.substr(0, told.find('|'));
    };
    EXPECT_EQ(name("\"a\\\"b\""), "a\"b");
    EXPECT_EQ(name("\"C:\\dir\\\\x\""), "C:\\dir\\x");
    EXPECT_EQ(name("\"a%22b\""), "a%22b");
    EXPECT_EQ(name("\"\xc3\xa4; name=b\""), "\xc3\xa4; name=b");
    EXPECT_EQ(name("a; size=5"), "a");
}

TEST(Multipart, HTTP_15c_what_could_be_read_in_two_ways_is_refused) {
    for (std::string_view form : {
             "",
             "x",
             "--",
             "--b",
             "--b\r",
             "--b-",
             "--c--\r\n",
             "preamble\r\n--b--\r\n",
             "\r\n\r\n--b--\r\n",
             "\n--b--\r\n",
             "--b --\r\n",
             "--b \r\n",
             "--bb--\r\n",
             "--b--x",
             "--b--\r\nepilogue",
             "--b--\r\n\r\n",
             "--b--\r",
             "--b--\n",
             "--b\r\n\r\nx\r\n--b--\r\n",
             "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx",
             "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b",
             "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n--b--\r\n",
             "--b\r\nContent-Disposition: form-data; name=a\n\nx\r\n--b--\r\n",
             "--b\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--\r\n",
             "--b\r\nContent-Disposition: form-data;\r\n name=a\r\n\r\nx\r\n--b--\r\n",
             "--b\r\nContent-Disposition : form-data; name=a\r\n\r\nx\r\n--b--\r\n",
             "--b\r\nContent-Disposition: form-data; name=a\r\n"
             "Content-Disposition: form-data; name=b\r\n\r\nx\r\n--b--\r\n",
             "--b\r\nContent-Disposition: form-data; name=a\r\nContent-Type: a/b\r\n"
             "Content-Type: a/c\r\n\r\nx\r\n--b--\r\n",
             "--b\r\nContent-Disposition: form-data; name=a\r\n"
             "Content-Transfer-Encoding: base64\r\n\r\nx\r\n--b--\r\n",
             "--b\r\nContent-Type: a/b\r\n\r\nx\r\n--b--\r\n",
             "--b\r\nno field\r\n\r\nx\r\n--b--\r\n",
         }) {
        std::string told = with_all_steps(form);
        EXPECT_TRUE(told.ends_with(')')) << form << "\n" << told;
    }
    for (std::string_view disposition :
         {"", "attachment; name=a", "form-data", "form-data; name", "form-data; name=",
          "form-data; name=a b", "form-data; name=\"a", "form-data; name=\"a\\\"",
          "form-data; name=a; name=b", "form-data; name=a; filename=b; filename=c",
          "form-data; name=a; filename*=UTF-8''b", "form-data, name=a", "form-data; name=\"a\"b",
          "form-data; ;name=a", "form-data; name=\"a\x01\"", "form-data; na me=a"}) {
        std::string told = with_all_steps(part(disposition));
        EXPECT_TRUE(told.ends_with(')')) << disposition << "\n" << told;
    }
}

TEST(Multipart, HTTP_15c_parts_heads_and_names_have_limits) {
    std::string one = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n";
    EXPECT_EQ(with_all_steps(one + one + "--b--", {.parts = 2}), "a|-||1;a|-||1;.");
    EXPECT_EQ(with_all_steps(one + one + one + "--b--", {.parts = 2}),
              "a|-||1;a|-||1;(the form has more parts than 2 (MultipartLimits::parts))");
    EXPECT_EQ(with_all_steps(one + "--b--", {.head_bytes = 42}), "a|-||1;.");
    EXPECT_EQ(with_all_steps(one + "--b--", {.head_bytes = 41}),
              "(the head of a part has more bytes than 41 (MultipartLimits::head_bytes))");
    EXPECT_EQ(with_all_steps(part("form-data; name=ab"), {.name_bytes = 2}), "ab|-||x;.");
    EXPECT_EQ(with_all_steps(part("form-data; name=abc"), {.name_bytes = 2}),
              "(a name in the form has more bytes than 2 (MultipartLimits::name_bytes))");
    EXPECT_EQ(with_all_steps(part("form-data; name=a; filename=abc"), {.name_bytes = 2}),
              "(a name in the form has more bytes than 2 (MultipartLimits::name_bytes))");
    MultipartParser parser("b");
    static_cast<void>(parser.next("x"));
    EXPECT_EQ(parser.next("--b--").event, Event::Failed);  // once and for all
}

TEST(Multipart, HTTP_15c_the_type_names_a_boundary) {
    EXPECT_EQ(*parse_multipart_type("multipart/form-data; boundary=abc"), "abc");
    EXPECT_EQ(*parse_multipart_type("Multipart/Form-Data;charset=x;BOUNDARY=\"a b:c\""), "a b:c");
    EXPECT_EQ(*parse_multipart_type("multipart/form-data; boundary=" + std::string(70, 'x')),
              std::string(70, 'x'));
    for (std::string_view other : {"", "multipart/mixed; boundary=a", "text/plain", "multipart"}) {
        EXPECT_EQ(parse_multipart_type(other).error().kind(), ErrorKind::Unavailable) << other;
    }
    std::string too_long = "multipart/form-data; boundary=" + std::string(71, 'x');
    for (const std::string& malformed : std::initializer_list<std::string>{
             "multipart/form-data", "multipart/form-data;", "multipart/form-data; boundary",
             "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
             "multipart/form-data; boundary=a; boundary=b", "multipart/form-data; boundary=\"a \"",
             "multipart/form-data; boundary=\"a\\\"\"", "multipart/form-data; boundary=\"a",
             "multipart/form-data; boundary=a, text/plain", "multipart/form-data; boundary=a@b",
             too_long}) {
        auto refused = parse_multipart_type(malformed);
        ASSERT_FALSE(refused) << malformed;
        EXPECT_EQ(refused.error().kind(), ErrorKind::Other) << malformed;
    }
}

TEST(Multipart, HTTP_15c_a_name_of_a_file_is_no_path) {
    EXPECT_EQ(safe_file_name("a.png"), "a.png");
    EXPECT_EQ(safe_file_name("/etc/passwd"), "passwd");
    EXPECT_EQ(safe_file_name("C:\\dir\\a.png"), "a.png");
    for (std::string_view name :
         {std::string_view(""), std::string_view("."), std::string_view(".."),
          std::string_view("a/"), std::string_view("..\\"), std::string_view(".htaccess"),
          std::string_view("a\0b", 3), std::string_view("a\nb")}) {
        EXPECT_EQ(safe_file_name(name), std::nullopt) << name;
    }
}

}  // namespace
}  // namespace weft::http::wire
