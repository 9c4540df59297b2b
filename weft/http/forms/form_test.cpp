#include "weft/http/forms/form.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/fiber/runtime.h"
#include "weft/http/client/client.h"
#include "weft/http/forms/multipart_reader.h"
#include "weft/http/internal/handler_test.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/middleware/body_file.h"
#include "weft/http/request.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using handler_test::MadeRequest;
using handler_test::TextReader;
using ::testing::StartsWith;
using testing::TestServer;
using weft::testing::kind_of;

TEST(Form, HTTP_15a_fields_are_encoded_as_browsers_do_and_come_back) {
    FormFields fields = {{"name", "Ada Lovelace"},
                         {"", ""},
                         {"a&b=c", "1+1 = 2%"},
                         {"name", "\xc3\xa4\r\n"},
                         {"plain", "*-._~"}};
    std::string text = encode_form(fields);
    EXPECT_EQ(text, "name=Ada+Lovelace&=&a%26b%3Dc=1%2B1+%3D+2%25&name=%C3%A4%0D%0A&plain=*-._%7E");
    EXPECT_EQ(decode_form(text), fields);
    EXPECT_EQ(decode_form(""), FormFields());
    EXPECT_EQ(decode_form("a&b=%zz"), (FormFields{{"a", ""}, {"b", "%zz"}}));
}

TEST(Form, HTTP_15a_a_form_has_limits_and_a_type) {
    EXPECT_EQ(kind_of(decode_form("a=1&b=2&c=3", {.fields = 2})), ErrorKind::Limit);
    EXPECT_EQ(kind_of(decode_form("a=1&b=2", {.bytes = 6})), ErrorKind::Limit);
    auto read = [](std::string_view type, std::string body, const FormLimits& limits = {}) {
        MadeRequest request("POST", "/", {{"content-type", type}}, std::move(body));
        return read_form(request.request(), limits);
    };
    FormFields fields = {{"a", "1"}};
    EXPECT_EQ(read("application/x-www-form-urlencoded", "a=1"), fields);
    EXPECT_EQ(read("Application/X-WWW-form-urlencoded ; charset=utf-8", "a=1"), fields);
    EXPECT_EQ(kind_of(read("text/plain", "a=1")), ErrorKind::Unavailable);
    EXPECT_EQ(kind_of(read("", "a=1")), ErrorKind::Unavailable);
    EXPECT_EQ(kind_of(read("application/x-www-form-urlencoded", "a=1", {.bytes = 2})),
              ErrorKind::Limit);
}

TEST(Form, HTTP_15a_what_is_wrong_with_a_form_has_its_status) {
    EXPECT_EQ(form_failure(Error(ErrorKind::Unavailable, "type"))->status, 415);
    EXPECT_EQ(form_failure(Error(ErrorKind::Limit, "much"))->status, 413);
    EXPECT_EQ(form_failure(Error(ErrorKind::Other, "malformed"))->status, 400);
    EXPECT_EQ(kind_of(form_failure(Error(ErrorKind::Cancelled))), ErrorKind::Cancelled);
    EXPECT_FALSE(form_failure(Error::from_errno(5)));
}

// A handler that answers with the content of the form.
Result<Response> tell(Request& request, async::Context&) {
    auto form = MultipartReader::open(request);
    if (!form) return form_failure(form.error());
    std::string told;
    for (;;) {
        Result<std::optional<MultipartPart>> part = (*form)->next();
        if (!part) return form_failure(part.error());
        if (!*part) return Response::text(told);
        std::string content = WEFT_TRY((*form)->content().read_all());
        told += (*part)->name + "|" + (*part)->file_name.value_or("-") + "|" +
                (*part)->content_type + "|" + std::to_string(content.size()) + "|" +
                content.substr(0, 20) + ";";
    }
}

TEST(MultipartForm, HTTP_15d_a_form_with_fields_and_files_is_sent_and_read) {
    TestServer server(tell);
    weft::testing::TemporaryFile temporary(300'000);
    auto file = std::make_shared<const File>(File::adopt(::fcntl(temporary.fd(), F_DUPFD, 0)));
    std::string url = "http://" + server.address().to_string() + "/";
    Result<void> outcome = run([&]() -> Result<void> {
        Client client;
        MultipartForm form;
        form.field("title", "a\r\nb").file("memory", "x \"y\".txt", "text/plain", "hello");
        Body body = WEFT_TRY(std::move(form).body());
        EXPECT_TRUE(body.text());  // so that the request can be repeated

        MultipartForm with_file;
        with_file.field("title", "a\r\n--b")
            .file("memory", "x \"y\".txt", "text/plain", "hello")
            .file("disk", "z.bin", "", file, 300'000)
            .field("last", "");
        auto response = WEFT_TRY(client.send(WEFT_TRY(std::move(with_file).request(url))));
        EXPECT_EQ(WEFT_TRY(response.read_all()),
                  "title|-||6|a\r\n--b;memory|x %22y%22.txt|text/plain|5|hello;"
                  "disk|z.bin|application/octet-stream|300000|" +
                      temporary.text().substr(0, 20) + ";last|-||0|;");

        auto none = WEFT_TRY(client.send(WEFT_TRY(MultipartForm().request(url))));
        EXPECT_EQ(WEFT_TRY(none.read_all()), "");
        auto plain = WEFT_TRY(client.send(form_request(url, {{"a", "1"}})));
        EXPECT_EQ(plain.status, 415);
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

TEST(MultipartForm, HTTP_15d_what_cannot_be_sent_is_misuse_and_a_short_file_an_error) {
    MultipartForm bad_type;
    bad_type.file("a", "b", "text/plain\r\nX: y", "content");
    EXPECT_EQ(kind_of(std::move(bad_type).body()), ErrorKind::Misuse);
    MultipartForm bad_name;
    bad_name.field(std::string_view("a\0b", 3), "content");
    EXPECT_EQ(kind_of(std::move(bad_name).body()), ErrorKind::Misuse);

    weft::testing::TemporaryFile temporary(10);
    auto file = std::make_shared<const File>(File::adopt(::fcntl(temporary.fd(), F_DUPFD, 0)));
    MultipartForm shrunk;
    shrunk.file("a", "b", "", file, 11);
    Body body = std::move(shrunk).body().value();
    handler_test::TextWriter writer;
    EXPECT_EQ(kind_of(body.as_produced()->producer(writer)), ErrorKind::Closed);
}

// A body that arrives in pieces of this size.
class SlowReader final : public BodyReader {
public:
    SlowReader(std::string text, std::size_t step) : text_(std::move(text)), step_(step) {}
    Result<std::size_t> read(ByteSpace space) override {
        if (used_ == text_.size() && fails_) return ErrorKind::Closed;
        std::size_t count = std::min({space.size(), text_.size() - used_, step_});
        std::memcpy(space.data(), text_.data() + used_, count);
        used_ += count;
        return count;
    }
    std::optional<std::uint64_t> size() const override { return std::nullopt; }
    const Headers& trailers() const override { return trailers_; }
    void fail_at_the_end() { fails_ = true; }

private:
    std::string text_;
    std::size_t step_;
    std::size_t used_ = 0;
    bool fails_ = false;
    Headers trailers_;
};

constexpr std::string_view kType = "multipart/form-data; boundary=b";

std::string part(std::string_view name, std::string_view content) {
    return "--b\r\nContent-Disposition: form-data; name=" + std::string(name) + "\r\n\r\n" +
           std::string(content) + "\r\n";
}

TEST(MultipartReader, HTTP_15e_parts_that_are_not_read_are_skipped) {
    std::string large(100'000, 'x');
    for (std::size_t step : {1UL, 100UL, 1'000'000UL}) {
        SlowReader body(part("a", large) + part("b", "hello") + part("c", large) + "--b--", step);
        auto form = MultipartReader::open(body, kType).value();
        EXPECT_EQ((*form->next())->name, "a");
        std::byte some[3];
        EXPECT_GT(*form->content().read(some), 0U);
        EXPECT_EQ((*form->next())->name, "b");
        EXPECT_EQ(form->content().read_all(), "hello");
        EXPECT_EQ(form->content().read(some), 0U);
        EXPECT_EQ((*form->next())->name, "c");
        EXPECT_EQ(*form->next(), std::nullopt);
        EXPECT_EQ(*form->next(), std::nullopt);
        EXPECT_EQ(form->content().read(some), 0U);
    }
}

TEST(MultipartReader, HTTP_15e_a_part_has_a_limit_that_can_be_another_for_each) {
    std::string text = part("a", "12345") + part("b", "123456") + part("c", "1234567") + "--b--";
    SlowReader body(text, 4);
    MultipartReader::Limits limits;
    limits.part_bytes = 5;
    auto form = MultipartReader::open(body, kType, limits).value();
    ASSERT_TRUE(form->next());
    EXPECT_EQ(form->content().read_all(), "12345");
    ASSERT_TRUE(form->next());
    form->content().set_bytes_max(6);
    EXPECT_EQ(form->content().read_all(), "123456");
    ASSERT_TRUE(form->next());
    EXPECT_EQ(kind_of(form->content().read_all()), ErrorKind::Limit);
    EXPECT_EQ(kind_of(form->next()), ErrorKind::Limit);
}

TEST(MultipartReader, HTTP_15e_a_form_that_is_cut_off_or_followed_by_more_is_an_error) {
    std::string whole = part("a", "12345") + "--b--\r\n";
    auto outcome = [](SlowReader& body) -> Result<void> {
        auto form = WEFT_TRY(MultipartReader::open(body, kType));
        for (;;) {
            auto next = WEFT_TRY(form->next());
            if (!next) return {};
            static_cast<void>(WEFT_TRY(form->content().read_all()));
        }
    };
    for (std::size_t size = 0; size < whole.size(); ++size) {
        SlowReader cut(whole.substr(0, size), 3);
        // The form is complete without its last line end.
        EXPECT_EQ(outcome(cut).has_value(), size == whole.size() - 2) << size;
        SlowReader broken(whole.substr(0, size), 3);
        broken.fail_at_the_end();
        EXPECT_EQ(kind_of(outcome(broken)), ErrorKind::Closed) << size;
    }
    SlowReader more(whole + "x", 1);
    EXPECT_EQ(kind_of(outcome(more)), ErrorKind::Other);
}

TEST(MultipartReader, HTTP_15e_a_part_is_saved_to_a_file) {
    std::string large(100'000, 'x');
    Result<void> outcome = run([&]() -> Result<void> {
        SlowReader body(part("a", large) + part("b", "12345") + "--b--", 1000);
        auto form = WEFT_TRY(MultipartReader::open(body, kType));
        static_cast<void>(WEFT_TRY(form->next()));
        auto saved = WEFT_TRY(BodyFile::save(form->content(), {.folder = ::testing::TempDir()}));
        EXPECT_EQ(saved->size(), large.size());
        static_cast<void>(WEFT_TRY(form->next()));
        EXPECT_EQ(kind_of(BodyFile::save(form->content(),
                                         {.folder = ::testing::TempDir(), .bytes_max = 4})),
                  ErrorKind::Limit);
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

TEST(MultipartReader, HTTP_15e_malformed_and_too_large_forms_get_400_and_413) {
    ServerOptions options;
    options.limits.body_bytes = 100;
    TestServer server(tell, options);
    auto post = [&](std::string_view body, std::string_view type = kType) {
        return server.ask("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: " +
                          std::string(type) + "\r\nContent-Length: " + std::to_string(body.size()) +
                          "\r\n\r\n" + std::string(body));
    };
    EXPECT_THAT(post(part("a", "1") + "--b--"), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(post("nonsense"), StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(post("--b--", "multipart/form-data"), StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(post("--b--", "text/plain"), StartsWith("HTTP/1.1 415 "));
    EXPECT_THAT(post(part("a", std::string(200, 'x')) + "--b--"), StartsWith("HTTP/1.1 413 "));
}

}  // namespace
}  // namespace weft::http
