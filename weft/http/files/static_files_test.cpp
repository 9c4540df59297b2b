#include "weft/http/files/static_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "weft/base/atomic.h"
#include "weft/base/format.h"
#include "weft/fiber/runtime.h"
#include "weft/http/internal/handler_test.h"
#include "weft/http/routing/router.h"
#include "weft/http/wire/date.h"

namespace weft::http {
namespace {

namespace fs = std::filesystem;
using handler_test::ask;
using handler_test::content;
using handler_test::header;
using handler_test::MadeRequest;
using ::testing::HasSubstr;
using ::testing::Not;

// site/ is served; outside/ lies next to it.
class StaticFiles : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = ::testing::TempDir() + "weft-static-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        fs::create_directories(path("site/folder"));
        fs::create_directories(path("site/bare"));
        fs::create_directories(path("outside"));
        write("site/a.txt", "0123456789");
        write("site/index.html", "<p>index");
        write("site/folder/index.html", "<p>folder");
        write("site/bare/file", "in bare");
        write("site/.hidden", "hidden");
        write("outside/secret", "secret");
        ::chmod(folder_.c_str(), 0755);
        handler_ = serve();
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
    void write(std::string_view name, std::string_view text) const {
        std::ofstream(path(name), std::ios::binary) << text;
    }
    // Replaces a file atomically, as deployments do.
    void replace(std::string_view name, std::string_view text) const {
        write("outside/new", text);
        fs::rename(path("outside/new"), path(name));
    }
    Handler serve(StaticFilesOptions options = {}) const {
        Result<Handler> handler = static_files(path("site"), std::move(options));
        EXPECT_TRUE(handler) << handler.error().message();
        return handler ? *handler : Handler();
    }
    // The content of a 200, or the status of any other response.
    static std::string get(const Handler& handler, std::string_view target,
                           MadeRequest::Fields fields = {}) {
        Result<Response> response = ask(handler, "GET", target, fields);
        if (!response) return response.error().message();
        return response->status == 200 ? content(*response) : std::to_string(response->status);
    }
    std::string get(std::string_view target, MadeRequest::Fields fields = {}) const {
        return get(handler_, target, fields);
    }
    Response respond(std::string_view target, MadeRequest::Fields fields = {},
                     std::string_view method = "GET") const {
        return std::move(ask(handler_, method, target, fields).value());
    }

    std::string folder_;
    Handler handler_;
};

TEST_F(StaticFiles, HTTP_8_a_directory_that_is_not_there_is_an_error) {
    EXPECT_FALSE(static_files(path("nowhere")));
    EXPECT_FALSE(static_files(path("site/a.txt")));
}

constexpr std::string_view kEscapes[] = {"/../outside/secret",
                                         "/%2e%2e/outside/secret",
                                         "/.%2E/outside/secret",
                                         "/folder/../../outside/secret",
                                         "/..%2foutside/secret",
                                         "/%2e%2e%2foutside%2fsecret",
                                         "/..%5coutside%5csecret",
                                         "/..\\outside\\secret",
                                         "//outside/secret",
                                         "/folder//../../outside/secret",
                                         "/absolute/secret",
                                         "/relative",
                                         "/magic/",
                                         "/slash/etc/passwd",
                                         "/%252e%252e/outside/secret",
                                         "/a.txt/../../outside/secret",
                                         "/folder/%2e%2e/%2e%2e/outside/secret",
                                         "/%c0%ae%c0%ae/outside/secret",
                                         "/....//outside/secret",
                                         "/..;/outside/secret",
                                         "/a.txt%00.html",
                                         std::string_view("/\0/a.txt", 8)};

TEST_F(StaticFiles, HTTP_8_no_path_leads_out_of_the_root) {
    fs::create_symlink(path("outside"), path("site/absolute"));
    fs::create_symlink("../outside/secret", path("site/relative"));
    fs::create_symlink("/", path("site/slash"));
    fs::create_symlink("/proc/self/cwd", path("site/magic"));
    for (Links links : {Links::Refuse, Links::Beneath}) {
        Handler handler = serve({.dotfiles = Dotfiles::Show, .links = links});
        for (std::string_view target : kEscapes) {
            EXPECT_EQ(get(handler, target), "404") << target;
        }
    }
}

TEST_F(StaticFiles, HTTP_8_dots_are_resolved_below_the_root) {
    EXPECT_EQ(get("/folder/../a.txt"), "0123456789");
    EXPECT_EQ(get("/./a.txt"), "0123456789");
    EXPECT_EQ(get("/%61.txt"), "0123456789");
    EXPECT_EQ(get("/a%2etxt"), "0123456789");
    EXPECT_EQ(get("/a.txt?query"), "0123456789");
    EXPECT_EQ(get("/folder%2findex.html"), "404");
    EXPECT_EQ(get("//a.txt"), "404");
    EXPECT_EQ(get("/a.txt/"), "404");
    EXPECT_EQ(get("/a.txt/."), "404");
}

TEST_F(StaticFiles, HTTP_8_links_below_the_root_are_followed_only_if_that_is_wanted) {
    fs::create_symlink("a.txt", path("site/link"));
    EXPECT_EQ(get("/link"), "404");
    EXPECT_EQ(get(serve({.links = Links::Beneath}), "/link"), "0123456789");
}

TEST_F(StaticFiles, HTTP_8_a_folder_that_becomes_a_link_is_never_followed_out) {
    fs::create_directory(path("site/door"));
    write("site/door/secret", "harmless");
    fs::create_symlink(path("outside"), path("site/trap"));
    Atomic<bool> stop{false};
    std::thread swapper([&] {
        while (!stop.load(std::memory_order_acquire)) {
            ::renameat2(AT_FDCWD, path("site/door").c_str(), AT_FDCWD, path("site/trap").c_str(),
                        RENAME_EXCHANGE);
        }
    });
    Handler handler = serve({.links = Links::Beneath, .fresh_time = Nanoseconds(0)});
    for (int i = 0; i < 2000; ++i) ASSERT_NE(get(handler, "/door/secret"), "secret");
    stop.store(true, std::memory_order_release);
    swapper.join();
}

TEST_F(StaticFiles, HTTP_8_what_is_hidden_special_or_unreadable_is_not_sent) {
    EXPECT_EQ(get("/.hidden"), "404");
    EXPECT_EQ(get("/%2ehidden"), "404");
    EXPECT_EQ(get(serve({.dotfiles = Dotfiles::Show}), "/.hidden"), "hidden");
    ASSERT_EQ(::mkfifo(path("site/pipe").c_str(), 0644), 0);
    EXPECT_EQ(get("/pipe"), "404");
    EXPECT_EQ(get("/missing"), "404");
    EXPECT_EQ(get("/missing/"), "404");
    ::chmod(path("site/a.txt").c_str(), 0);
    // Changes this thread only; the superuser could read every file.
    auto before = static_cast<uid_t>(::setfsuid(65'534));
    EXPECT_EQ(get("/a.txt"), "403");
    ::setfsuid(before);
}

TEST_F(StaticFiles, HTTP_8_names_of_any_length_and_any_bytes_are_looked_up) {
    EXPECT_EQ(get("/" + std::string(300, 'x')), "404");
    EXPECT_EQ(get("/" + std::string(100'000, 'x')), "404");
    std::string deep;
    for (int i = 0; i < 5000; ++i) deep += "/a";
    EXPECT_EQ(get(deep), "404");
    write("site/\xff\xfe name", "odd");
    EXPECT_EQ(get("/%FF%FE%20name"), "odd");
    EXPECT_EQ(get("/%FF%FE%20nam"), "404");
    EXPECT_EQ(get("/%"), "404");
}

TEST_F(StaticFiles, HTTP_8_other_methods_get_405) {
    for (std::string_view method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "get"}) {
        Response response = respond("/a.txt", {}, method);
        EXPECT_EQ(response.status, 405) << method;
        EXPECT_EQ(header(response, "allow"), "GET, HEAD");
    }
}

TEST_F(StaticFiles, HTTP_8_a_file_is_sent_with_its_type_and_validators) {
    Response response = respond("/a.txt");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(content(response), "0123456789");
    EXPECT_EQ(header(response, "content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(header(response, "accept-ranges"), "bytes");
    EXPECT_EQ(header(response, "x-content-type-options"), "nosniff");
    EXPECT_THAT(header(response, "etag"), ::testing::MatchesRegex("\"[0-9a-f]+-a-[0-9a-f]+\""));
    EXPECT_TRUE(wire::parse_date(header(response, "last-modified"), 0));
    EXPECT_EQ(header(response, "cache-control"), "(none)");
    EXPECT_EQ(header(response, "vary"), "(none)");
    EXPECT_TRUE(response.headers.is_valid());

    write("site/empty.bin", "");
    Response empty = respond("/empty.bin");
    EXPECT_EQ(content(empty), "");
    EXPECT_EQ(header(empty, "content-type"), "application/octet-stream");
    Result<Response> kept = ask(serve({.cache_control = "max-age=60"}), "GET", "/a.txt");
    EXPECT_EQ(header(*kept, "cache-control"), "max-age=60");
}

TEST_F(StaticFiles, HTTP_8_head_says_what_get_would_send) {
    Response response = respond("/a.txt", {{"range", "bytes=0-1"}}, "HEAD");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body.size(), 10U);
    EXPECT_EQ(header(response, "etag"), header(respond("/a.txt"), "etag"));
}

TEST_F(StaticFiles, HTTP_8_small_files_are_sent_from_memory_and_large_ones_from_the_file) {
    std::string large(200'000, 'x');
    write("site/large", large);
    Response response = respond("/large");
    EXPECT_NE(response.body.as_file(), nullptr);
    EXPECT_EQ(content(response), large);
    EXPECT_TRUE(respond("/a.txt").body.text());
    Result<Response> unkept = ask(serve({.memory_file_bytes_max = 0}), "GET", "/a.txt");
    ASSERT_TRUE(unkept);
    EXPECT_NE(unkept->body.as_file(), nullptr);
    EXPECT_EQ(content(*unkept), "0123456789");
}

TEST_F(StaticFiles, HTTP_8_a_client_that_has_the_file_gets_304) {
    Response first = respond("/a.txt");
    std::string etag = header(first, "etag");
    std::string modified = header(first, "last-modified");
    Response same = respond("/a.txt", {{"if-none-match", etag}});
    EXPECT_EQ(same.status, 304);
    EXPECT_EQ(header(same, "etag"), etag);
    EXPECT_EQ(header(same, "last-modified"), modified);
    EXPECT_EQ(header(same, "content-type"), "(none)");
    EXPECT_EQ(same.body.size(), 10U);
    EXPECT_EQ(respond("/a.txt", {{"if-modified-since", modified}}).status, 304);
    EXPECT_EQ(respond("/a.txt", {{"if-match", "\"other\""}}).status, 412);
    EXPECT_EQ(respond("/a.txt", {{"if-match", etag}, {"range", "bytes=0-0"}}).status, 206);
    EXPECT_EQ(respond("/a.txt", {{"if-none-match", etag}, {"range", "bytes=0-0"}}).status, 304);
}

TEST_F(StaticFiles, HTTP_8_a_time_in_the_future_is_not_told) {
    fs::last_write_time(path("site/a.txt"),
                        fs::file_time_type::clock::now() + std::chrono::hours(1));
    Response response = respond("/a.txt");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(header(response, "last-modified"), "(none)");
}

TEST_F(StaticFiles, HTTP_8_a_range_gets_206_and_one_outside_416) {
    for (std::size_t memory : {0U, 1000U}) {
        handler_ = serve({.memory_file_bytes_max = memory});
        Response part = respond("/a.txt", {{"range", "bytes=2-4"}});
        EXPECT_EQ(part.status, 206);
        EXPECT_EQ(content(part), "234");
        EXPECT_EQ(header(part, "content-range"), "bytes 2-4/10");
        EXPECT_EQ(header(part, "content-type"), "text/plain; charset=utf-8");
        Response suffix = respond("/a.txt", {{"range", "bytes=-3"}});
        EXPECT_EQ(content(suffix), "789");
        EXPECT_EQ(header(suffix, "content-range"), "bytes 7-9/10");
        Response outside = respond("/a.txt", {{"range", "bytes=10-"}});
        EXPECT_EQ(outside.status, 416);
        EXPECT_EQ(header(outside, "content-range"), "bytes */10");
        EXPECT_EQ(respond("/a.txt", {{"range", "bytes=5-1"}}).status, 200);
        EXPECT_EQ(respond("/a.txt", {{"range", "bytes=0-1"}, {"if-range", "\"old\""}}).status, 200);
    }
}

TEST_F(StaticFiles, HTTP_8_several_ranges_are_sent_as_parts) {
    for (std::size_t memory : {0U, 1000U}) {
        handler_ = serve({.memory_file_bytes_max = memory});
        Response response = respond("/a.txt", {{"range", "bytes=7-8,0-2,1-3"}});
        EXPECT_EQ(response.status, 206);
        std::string type = header(response, "content-type");
        ASSERT_THAT(type, ::testing::StartsWith("multipart/byteranges; boundary="));
        std::string boundary = type.substr(type.find('=') + 1);
        std::string expected = format(
            "\r\n--{0}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Range: bytes 7-8/10\r\n\r\n78"
            "\r\n--{0}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Range: bytes 0-3/10\r\n\r\n0123\r\n--{0}--\r\n",
            boundary);
        EXPECT_EQ(content(response), expected);
        EXPECT_EQ(response.body.size(), expected.size());
        EXPECT_EQ(header(response, "content-range"), "(none)");
    }
}

TEST_F(StaticFiles, HTTP_8_parts_of_a_file_that_has_shrunk_are_cut_off) {
    handler_ = serve({.memory_file_bytes_max = 0});
    Response parts = respond("/a.txt", {{"range", "bytes=0-1,8-9"}});
    Response whole = respond("/a.txt");
    fs::resize_file(path("site/a.txt"), 5);
    EXPECT_EQ(content(parts), "(closed)");
    EXPECT_EQ(content(whole), "(cut off)");
}

TEST_F(StaticFiles, HTTP_8_compressed_files_are_sent_to_those_who_take_them) {
    write("site/app.js", "plain");
    write("site/app.js.gz", "gzipped");
    write("site/app.js.br", "brotli");
    fs::create_directory(path("site/app.js.zst"));
    auto encoding = [&](std::string_view accepted) {
        Response response = respond("/app.js", {{"accept-encoding", accepted}});
        EXPECT_EQ(header(response, "vary"), "Accept-Encoding");
        EXPECT_EQ(header(response, "content-type"), "text/javascript; charset=utf-8");
        return header(response, "content-encoding") + " " + content(response);
    };
    EXPECT_EQ(encoding("gzip, deflate, br, zstd"), "br brotli");
    EXPECT_EQ(encoding("gzip"), "gzip gzipped");
    EXPECT_EQ(encoding("br;q=0.5, gzip"), "gzip gzipped");
    EXPECT_EQ(encoding("zstd"), "(none) plain");
    EXPECT_EQ(encoding("br;q=0"), "(none) plain");
    EXPECT_EQ(encoding(""), "(none) plain");
    EXPECT_EQ(encoding("identity;q=0, x"), "(none) plain");
    Response lines = respond("/app.js", {{"accept-encoding", "*"}, {"accept-encoding", "br;q=0"}});
    EXPECT_EQ(content(lines), "gzipped");
    Response none = respond("/app.js");
    EXPECT_EQ(content(none), "plain");
    EXPECT_EQ(header(none, "vary"), "Accept-Encoding");
    Response br = respond("/app.js", {{"accept-encoding", "br"}});
    EXPECT_NE(header(br, "etag"), header(none, "etag"));
    Response range = respond("/app.js", {{"accept-encoding", "br"}, {"range", "bytes=0-1"}});
    EXPECT_EQ(content(range), "br");
    EXPECT_EQ(header(range, "content-range"), "bytes 0-1/6");
    Response same =
        respond("/app.js", {{"accept-encoding", "br"}, {"if-none-match", header(br, "etag")}});
    EXPECT_EQ(same.status, 304);
    EXPECT_EQ(header(same, "vary"), "Accept-Encoding");
    Handler ignoring = serve({.precompressed = Precompressed::Ignore});
    EXPECT_EQ(get(ignoring, "/app.js", {{"accept-encoding", "br"}}), "plain");
}

TEST_F(StaticFiles, HTTP_8_a_directory_has_an_index_or_is_not_there) {
    EXPECT_EQ(get("/"), "<p>index");
    EXPECT_EQ(get("/folder/"), "<p>folder");
    EXPECT_EQ(get("/bare/"), "404");
    EXPECT_EQ(header(respond("/folder/"), "content-type"), "text/html; charset=utf-8");
    EXPECT_EQ(get(serve({.index = ""}), "/"), "404");
    EXPECT_EQ(get(serve({.index = "file"}), "/bare/"), "in bare");
}

TEST_F(StaticFiles, HTTP_8_a_directory_without_its_slash_is_redirected_on_the_same_host) {
    Response response = respond("/folder?a=b");
    EXPECT_EQ(response.status, 301);
    EXPECT_EQ(header(response, "location"), "/folder/?a=b");
    fs::create_directories(path("site/evil.example"));
    for (std::string_view target :
         {"//evil.example", "//evil.example/..", "/%2fevil.example", "/\\evil.example",
          "/%5cevil.example", "/.//evil.example", "/folder/..//evil.example"}) {
        EXPECT_EQ(get(target), "404") << target;
    }
}

TEST_F(StaticFiles, HTTP_8_mounted_files_are_found_and_redirected_below_their_prefix) {
    Router router;
    router.mount("/assets", handler_);
    Handler handler = *std::move(router).build();
    EXPECT_EQ(get(handler, "/assets/a.txt"), "0123456789");
    EXPECT_EQ(get(handler, "/assets/"), "<p>index");
    EXPECT_EQ(header(*ask(handler, "GET", "/assets"), "location"), "/assets/");
    EXPECT_EQ(header(*ask(handler, "GET", "/assets/folder"), "location"), "/assets/folder/");
    EXPECT_EQ(get(handler, "/a.txt"), "404");
}

TEST_F(StaticFiles, HTTP_8_a_listing_shows_what_would_be_served_and_no_markup_of_its_own) {
    write("site/bare/<b>&\"'", "x");
    write("site/bare/javascript:alert(1)", "x");
    write("site/bare/\xff", "x");
    write("site/bare/.dot", "x");
    fs::create_directory(path("site/bare/inner"));
    fs::create_symlink("file", path("site/bare/link"));
    ASSERT_EQ(::mkfifo(path("site/bare/pipe").c_str(), 0644), 0);
    Result<Response> listed = ask(serve({.listing = Listing::On}), "GET", "/bare/");
    ASSERT_TRUE(listed);
    std::string page = content(*listed);
    EXPECT_THAT(page, HasSubstr("<a href=\"./file\">file</a>"));
    EXPECT_THAT(page, HasSubstr("<a href=\"./inner/\">inner/</a>"));
    EXPECT_THAT(page, HasSubstr("<a href=\"./%3Cb%3E%26%22%27\">&lt;b&gt;&amp;&quot;&#39;</a>"));
    EXPECT_THAT(page, HasSubstr("\"./javascript%3Aalert%281%29\""));
    EXPECT_THAT(page, HasSubstr("<a href=\"./%FF\">\ufffd</a>"));
    EXPECT_THAT(page, Not(HasSubstr(".dot")));
    EXPECT_THAT(page, Not(HasSubstr("link")));
    EXPECT_THAT(page, Not(HasSubstr("pipe")));
    EXPECT_EQ(header(*listed, "content-type"), "text/html; charset=utf-8");
    EXPECT_EQ(get(serve({.listing = Listing::On}), "/missing/"), "404");
    EXPECT_EQ(get(serve({.listing = Listing::On}), "/"), "<p>index");
}

TEST_F(StaticFiles, HTTP_8_a_replaced_file_is_seen_when_the_cache_looks_again) {
    handler_ = serve({.fresh_time = Nanoseconds(0)});
    std::string before = header(respond("/a.txt"), "etag");
    replace("site/a.txt", "9876543210");
    EXPECT_EQ(get("/a.txt"), "9876543210");
    EXPECT_NE(header(respond("/a.txt"), "etag"), before);
    fs::remove(path("site/a.txt"));
    EXPECT_EQ(get("/a.txt"), "404");
    write("site/a.txt", "back");
    EXPECT_EQ(get("/a.txt"), "back");
    write("site/a.txt.gz", "gz");
    EXPECT_EQ(get("/a.txt", {{"accept-encoding", "gzip"}}), "gz");
    fs::remove(path("site/a.txt"));
    fs::create_directory(path("site/a.txt"));
    EXPECT_EQ(get("/a.txt"), "301");
}

TEST_F(StaticFiles, HTTP_8_until_then_the_cache_answers_and_what_is_sent_stays_whole) {
    handler_ = serve({.fresh_time = std::chrono::hours(1)});
    Response held = respond("/a.txt");
    replace("site/a.txt", "other");
    EXPECT_EQ(get("/a.txt"), "0123456789");
    handler_ = nullptr;  // this destroys the cache too
    EXPECT_EQ(content(held), "0123456789");
}

std::size_t open_files() {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST_F(StaticFiles, HTTP_8_the_cache_keeps_a_bounded_number_of_files_open) {
    handler_ = serve({.cached_files_max = 32, .memory_file_bytes_max = 0});
    std::size_t before = open_files();
    for (int i = 0; i < 200; ++i) {
        std::string name = "site/" + std::to_string(i);
        write(name, "x");
        ASSERT_EQ(get("/" + std::to_string(i)), "x");
    }
    EXPECT_LE(open_files(), before + 32);
    EXPECT_GT(open_files(), before);
    handler_ = nullptr;
    EXPECT_LT(open_files(), before);
}

TEST_F(StaticFiles, HTTP_8_without_descriptors_the_cache_still_answers_and_the_rest_gets_503) {
    handler_ = serve({.fresh_time = Nanoseconds(0)});
    EXPECT_EQ(get("/a.txt"), "0123456789");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none{3, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    std::string cached = get("/a.txt");
    std::string uncached = get("/folder/index.html");
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(cached, "0123456789");
    EXPECT_EQ(uncached, "503");
    EXPECT_EQ(get("/folder/index.html"), "<p>folder");
}

TEST_F(StaticFiles, HTTP_8_many_fibers_ask_while_files_change) {
    replace("site/a.txt", "aaaaaaaaaa");
    handler_ = serve({.fresh_time = Nanoseconds(0), .cached_files_max = 16});
    Result<void> outcome = run(
        [&] {
            std::vector<Future<void>> clients;
            for (int client = 0; client < 8; ++client) {
                clients.push_back(spawn([&, client] {
                    for (int i = 0; i < 50; ++i) {
                        if (client == 0)
                            replace("site/a.txt", std::string(10, static_cast<char>('a' + i % 26)));
                        Response response = respond(i % 3 == 0 ? "/a.txt" : "/folder/");
                        std::string text = content(response);
                        EXPECT_EQ(text.size(), i % 3 == 0 ? 10U : 9U);
                        EXPECT_EQ(text, i % 3 == 0 ? std::string(10, text[0]) : "<p>folder");
                        EXPECT_EQ(response.status, 200);
                    }
                }));
            }
            for (Future<void>& client : clients) EXPECT_TRUE(client.join());
        },
        {.workers = 4});
    EXPECT_TRUE(outcome);
}

}  // namespace
}  // namespace weft::http
