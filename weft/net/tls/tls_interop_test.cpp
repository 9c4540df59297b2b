// Against OpenSSL's own programs and curl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fiber/os/process.h"
#include "weft/net/socket.h"
#include "weft/net/tls/tls_stream.h"
#include "weft/testing/eventually.h"
#include "weft/testing/tls_peers.h"

namespace weft::net::tls {
namespace {

using namespace weft::testing;
using ::testing::HasSubstr;

Result<std::string> read_all(Descriptor& descriptor) {
    std::string text;
    std::byte buffer[4096];
    for (;;) {
        std::size_t count = WEFT_TRY(descriptor.read(buffer, in_ten_seconds()));
        if (count == 0) return text;
        text += as_text(Bytes(buffer).first(count));
    }
}

struct Outcome {
    std::string output;
    ExitStatus status;
};

// Runs a program with some input, which stays open until the program has written all its output.
Result<Outcome> run_program(std::vector<std::string> arguments, std::string_view input) {
    Process child = WEFT_TRY(Process::spawn({.arguments = std::move(arguments),
                                             .input = ChildStream::Pipe,
                                             .output = ChildStream::Pipe,
                                             .errors = ChildStream::Null}));
    WEFT_TRY(child.input().write_all(as_bytes(input), in_ten_seconds()));
    std::string output = WEFT_TRY(read_all(child.output()));
    return Outcome { std::move(output), WEFT_TRY(child.wait(in_ten_seconds())) };
}

std::string write_file(const Folder& folder, const std::string& name, std::string_view text) {
    std::string path = folder.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
}

// One connection: reads a request up to the empty line, and answers.
Result<std::string> serve_once(Listener& listener, ServerContext& context) {
    auto socket = std::make_unique<Socket>(WEFT_TRY(listener.accept(in_ten_seconds())));
    auto stream = WEFT_TRY(TlsStream::accept(std::move(socket), context, in_ten_seconds()));
    std::string request;
    while (!request.ends_with("\r\n\r\n")) {
        std::string more = WEFT_TRY(read_text(*stream, 1));
        if (more.empty()) break;
        request += more;
    }
    WEFT_TRY(stream->write_all(
        as_bytes("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
        in_ten_seconds()));
    // A client that has read the answer may be gone by now.
    static_cast<void>(stream->shutdown_write(in_ten_seconds()));
    return std::string(stream->tls()->protocol) + " " + std::string(stream->tls()->alpn) + " " +
           std::string(stream->tls()->server_name) + (stream->tls()->resumed ? " resumed" : "");
}

TEST(TlsInterop, NET_2_curl_takes_our_server_and_refuses_one_it_does_not_know) {
    in_runtime(2, []() -> Result<void> {
        Folder folder;
        Contexts contexts = WEFT_TRY(Contexts::create({.alpn = {"http/1.1"}}));
        std::string authority = write_file(folder, "ca.pem", contexts.authority.text());
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        std::string host = "example.test";
        std::string port = std::to_string(listener.address().port());
        std::vector<std::string> curl = {"curl",
                                         "-s",
                                         "-m",
                                         "10",
                                         "--noproxy",
                                         "*",
                                         "--resolve",
                                         host + ":" + port + ":127.0.0.1",
                                         "https://" + host + ":" + port + "/"};

        auto refused = spawn([&] { return serve_once(listener, contexts.server); });
        EXPECT_EQ(WEFT_TRY(run_program(curl, "")).status.code, 60);
        EXPECT_EQ(kind_of(refused.join(in_ten_seconds())), ErrorKind::Tls);

        auto served = spawn([&] { return serve_once(listener, contexts.server); });
        curl.insert(curl.end(), {"--cacert", authority});
        Outcome outcome = WEFT_TRY(run_program(curl, ""));
        EXPECT_TRUE(outcome.status.is_success()) << outcome.status.code;
        EXPECT_EQ(outcome.output, "hello");
        EXPECT_EQ(WEFT_TRY(served.join(in_ten_seconds())), "TLSv1.3 http/1.1 example.test");
        return {};
    });
}

TEST(TlsInterop, NET_2_s_client_speaks_both_protocols_and_resumes) {
    in_runtime(2, []() -> Result<void> {
        Folder folder;
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::string authority = write_file(folder, "ca.pem", contexts.authority.text());
        std::string session = folder.path() + "/session";
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        std::string address = listener.address().to_string();
        auto connect = [&](std::vector<std::string> more) -> Result<std::string> {
            std::vector<std::string> arguments = {"openssl",
                                                  "s_client",
                                                  "-connect",
                                                  address,
                                                  "-servername",
                                                  "example.test",
                                                  "-CAfile",
                                                  authority,
                                                  "-verify_return_error",
                                                  "-verify_hostname",
                                                  "example.test",
                                                  "-quiet"};
            arguments.insert(arguments.end(), more.begin(), more.end());
            auto served = spawn([&] { return serve_once(listener, contexts.server); });
            Outcome outcome = WEFT_TRY(run_program(arguments, "GET / HTTP/1.1\r\n\r\n"));
            EXPECT_THAT(outcome.output, HasSubstr("hello"));
            return served.join(in_ten_seconds());
        };
        for (std::string version : {"1.2", "1.3"}) {
            std::string flag = version == "1.2" ? "-tls1_2" : "-tls1_3";
            EXPECT_EQ(WEFT_TRY(connect({flag, "-sess_out", session})),
                      "TLSv" + version + "  example.test");
            EXPECT_EQ(WEFT_TRY(connect({flag, "-sess_in", session})),
                      "TLSv" + version + "  example.test resumed");
        }
        return {};
    });
}

TEST(TlsInterop, NET_2_nothing_below_tls_1_2_and_no_weak_cipher) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        for (std::vector<std::string> wish :
             {std::vector<std::string>{"-tls1_1", "-cipher", "ALL:@SECLEVEL=0"},
              std::vector<std::string>{"-tls1_2", "-cipher",
                                       "AES128-SHA:ECDHE-ECDSA-AES128-SHA"}}) {
            std::vector<std::string> arguments = {"openssl", "s_client", "-connect",
                                                  listener.address().to_string()};
            arguments.insert(arguments.end(), wish.begin(), wish.end());
            auto served = spawn([&] { return serve_once(listener, contexts.server); });
            EXPECT_FALSE(WEFT_TRY(run_program(arguments, "Q\n")).status.is_success());
            EXPECT_EQ(kind_of(served.join(in_ten_seconds())), ErrorKind::Tls);
        }
        return {};
    });
}

TEST(TlsInterop, NET_2_our_client_takes_s_server_and_shows_it_a_certificate) {
    in_runtime(2, []() -> Result<void> {
        Folder folder;
        TestAuthority authority;
        TestIdentity issued = authority.issue({.names = {"DNS:example.test"}});
        Address address = WEFT_TRY(free_tcp_address());
        Process server = WEFT_TRY(Process::spawn(
            {.arguments = {"openssl", "s_server", "-accept", address.to_string(), "-cert",
                           write_file(folder, "server.pem", issued.certificate), "-key",
                           write_file(folder, "server.key", issued.key), "-CAfile",
                           write_file(folder, "ca.pem", authority.text()), "-Verify", "1",
                           "-verify_return_error", "-alpn", "http/1.1", "-rev"},
             .input = ChildStream::Pipe,
             .output = ChildStream::Null,
             .errors = ChildStream::Null}));
        ClientContext context = WEFT_TRY(
            ClientContext::create({.authorities = authority.pem(),
                                   .identity = authority.issue({.common_name = "alice"}).identity(),
                                   .alpn = {"http/1.1"}}));
        Result<Socket> socket = ErrorKind::Refused;
        EXPECT_TRUE(eventually([&] {
            socket = Socket::connect(address, in_ten_seconds());
            return socket.has_value();
        }));
        auto below = std::make_unique<Socket>(WEFT_TRY(std::move(socket)));
        auto stream = WEFT_TRY(
            TlsStream::connect(std::move(below), context, "example.test", in_ten_seconds()));
        EXPECT_EQ(stream->tls()->alpn, "http/1.1");
        WEFT_TRY(stream->write_all(as_bytes("hello\n"), in_ten_seconds()));
        EXPECT_EQ(WEFT_TRY(read_text(*stream, 6)), "olleh\n");
        return {};
    });
}

}  // namespace
}  // namespace weft::net::tls
