// What Weft takes as an HTTP/1 message, Boost.Beast takes too and reads alike: the start line, the
// fields, the body, and where the next message begins.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/http/wire/chunked.h"
#include "weft/http/wire/head.h"
#include "weft/testing/scale.h"

namespace weft::http::wire {
namespace {

namespace beast = boost::beast::http;

constexpr unsigned kSeed = 20261115;
constexpr std::size_t kMutationsPerFile = testing::repeats(10'000);
// So many of all must be taken, or the comparison says little.
constexpr std::size_t kTakenMin = kMutationsPerFile;
// Beast makes room for the whole body as soon as it knows its length.
constexpr std::uint64_t kLengthMax = 1 << 20;

// What a parser made of some bytes.
struct Reading {
    std::string start;  // method and target, or status and reason
    std::multiset<std::string> fields;
    std::string body;
    std::size_t used = 0;
    bool is_whole = false;  // up to the end of the body
};

std::string line(std::string_view name, std::string_view value) {
    return std::string(name).append(": ").append(value);
}

// Reads the body behind the head. False if it is refused.
bool read_body(std::string_view bytes, Framing framing, std::uint64_t length, Reading& reading) {
    if (framing == Framing::UntilClose) return true;
    if (framing == Framing::None) {
        reading.is_whole = true;
        return true;
    }
    if (framing == Framing::Length) {
        reading.body = bytes.substr(reading.used, length);
        reading.used += reading.body.size();
        reading.is_whole = reading.body.size() == length;
        return true;
    }
    ChunkedDecoder decoder;
    while (true) {
        auto step = decoder.decode(bytes.substr(reading.used));
        reading.body.append(step.content);
        reading.used += step.used;
        reading.is_whole = step.progress == Progress::Done;
        if (step.progress != Progress::NeedMore) return reading.is_whole;
        if (reading.used == bytes.size()) return true;
    }
}

// Gives Beast as much as it wants; false with an error of its own.
template <class Parser>
::testing::AssertionResult read_with_beast(Parser& parser, std::string_view bytes,
                                           Reading& reading) {
    parser.eager(true);
    parser.header_limit(1 << 20);
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    boost::beast::error_code error;
    while (reading.used < bytes.size() && !parser.is_done()) {
        std::string_view rest = bytes.substr(reading.used);
        std::size_t used = parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
        reading.used += used;
        if (error == beast::error::need_more) break;
        if (error) return ::testing::AssertionFailure() << "Beast says: " << error.message();
        if (used == 0) break;
    }
    reading.is_whole = parser.is_done();
    for (const auto& field : parser.get()) {
        std::string_view name(field.name_string().data(), field.name_string().size());
        reading.fields.insert(line(name, {field.value().data(), field.value().size()}));
    }
    reading.body = parser.get().body();
    return ::testing::AssertionSuccess();
}

void expect_alike(const Reading& ours, const Reading& theirs, bool is_chunked) {
    EXPECT_EQ(ours.start, theirs.start);
    EXPECT_EQ(ours.is_whole, theirs.is_whole);
    EXPECT_EQ(ours.body, theirs.body);
    EXPECT_TRUE(!ours.is_whole || ours.used == theirs.used);
    // Beast groups fields of one name, and the trailers are among them.
    EXPECT_TRUE(std::ranges::includes(theirs.fields, ours.fields));
    EXPECT_TRUE(is_chunked || theirs.fields.size() == ours.fields.size());
}

// Weft takes HTTP/1.2 and later for 1.1, as RFC 9110 §2.5 asks; Beast knows only two.
bool is_known_to_beast(std::string_view request) {
    std::string_view line = request.substr(0, request.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line.ends_with("HTTP/1.1") || line.ends_with("HTTP/1.0");
}

// False if Weft refuses the message or wants more of its head.
bool compare_request(std::string_view bytes) {
    // Weft ignores an empty line before a request, as RFC 9112 §2.2 asks; Beast does not.
    RequestParser parser;
    if (bytes.starts_with("\r\n")) {
        if (parser.parse(bytes) != Progress::Done) return false;
        parser.reset();
        bytes.remove_prefix(2);
    }
    if (parser.parse(bytes) != Progress::Done || !is_known_to_beast(bytes)) return false;
    RequestHead& head = parser.head();
    Reading ours;
    ours.start = std::string(head.method).append(" ").append(head.target);
    ours.used = parser.consumed();
    for (const auto& [name, value] : head.headers) ours.fields.insert(line(name, value));
    if (head.length > kLengthMax) return false;
    if (!read_body(bytes, head.framing, head.length, ours)) return false;
    beast::request_parser<beast::string_body> peer;
    Reading theirs;
    EXPECT_TRUE(read_with_beast(peer, bytes, theirs));
    const auto& message = peer.get();
    theirs.start = std::string(message.method_string()) + " " + std::string(message.target());
    expect_alike(ours, theirs, head.framing == Framing::Chunked);
    EXPECT_EQ(message.version(), head.version == Version::Http11 ? 11U : 10U);
    // Weft closes after an HTTP/1.0 request that says both keep-alive and close; Beast does not.
    EXPECT_TRUE(peer.keep_alive() || !head.keep_alive);
    EXPECT_EQ(peer.chunked(), head.framing == Framing::Chunked);
    return true;
}

// Weft repairs a line that is folded, or has a blank before its colon (RFC 9112 §5.1, §5.2), and
// takes HTTP/1.2 and later for 1.1; Beast refuses the one, and reads the other in its own way.
bool is_repaired(std::string_view head) {
    if (!head.starts_with("HTTP/1.1") && !head.starts_with("HTTP/1.0")) return true;
    while (!head.empty()) {
        std::size_t end = std::min(head.find('\n'), head.size() - 1);
        std::string_view text = head.substr(0, end);
        head.remove_prefix(end + 1);
        std::size_t colon = text.find(':');
        bool has_blank =
            colon != text.npos && colon > 0 && (text[colon - 1] == ' ' || text[colon - 1] == '\t');
        if (has_blank || text.starts_with(' ') || text.starts_with('\t')) return true;
    }
    return false;
}

bool compare_response(std::string_view bytes, std::string_view method) {
    ResponseParser parser;
    if (parser.parse(bytes, method) != Progress::Done) return false;
    if (is_repaired(bytes.substr(0, parser.consumed()))) return false;
    // Weft forgives a status line that ends with its status; Beast does not.
    if (bytes.substr(12).starts_with("\r\n")) return false;
    ResponseHead& head = parser.head();
    bool is_tunnel = method == "CONNECT" && head.status / 100 == 2;
    // What is said of a body is to be ignored there; Beast refuses what it does not understand.
    if (is_tunnel && (head.headers.has("content-length") || head.headers.has("transfer-encoding")))
        return false;
    Reading ours;
    ours.start = std::to_string(head.status).append(" ").append(head.reason);
    ours.used = parser.consumed();
    for (const auto& [name, value] : head.headers) ours.fields.insert(line(name, value));
    if (head.length > kLengthMax) return false;
    if (!read_body(bytes, head.framing, head.length, ours)) return false;
    if (head.framing == Framing::UntilClose) ours.body = bytes.substr(ours.used);
    beast::response_parser<beast::string_body> peer;
    peer.skip(method == "HEAD" || is_tunnel);
    Reading theirs;
    EXPECT_TRUE(read_with_beast(peer, bytes, theirs));
    const auto& message = peer.get();
    // Beast puts the usual reason in place of an empty one.
    std::string reason(head.reason.empty() ? "" : message.reason());
    theirs.start = std::to_string(message.result_int()) + " " + reason;
    expect_alike(ours, theirs, head.framing == Framing::Chunked);
    return true;
}

std::map<std::string, std::string> corpus(const std::string& name) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(WEFT_CORPORA "/" + name)) {
        std::ifstream stream(entry.path(), std::ios::binary);
        files[entry.path().filename()] = {std::istreambuf_iterator<char>(stream), {}};
    }
    return files;
}

// Changes that keep a message nearly one, so that many are still taken.
class Mutator {
public:
    explicit Mutator(unsigned seed) : random_(seed) {}

    std::string operator()(std::string text, const std::string& other) {
        for (std::size_t i = 0, changes = 1 + pick(3); i < changes; ++i) change(text, other);
        return text;
    }

private:
    static constexpr std::string_view kWords[] = {"\r\n",
                                                  "\n",
                                                  "\r",
                                                  " ",
                                                  "\t",
                                                  ":",
                                                  ",",
                                                  ";",
                                                  "=",
                                                  "\"",
                                                  "\\",
                                                  "0",
                                                  "1",
                                                  "a",
                                                  "%41",
                                                  "?",
                                                  "/",
                                                  "\r\n ",
                                                  ": ",
                                                  "chunked",
                                                  "Content-Length: 3\r\n",
                                                  "Transfer-Encoding: chunked\r\n",
                                                  "Connection: close\r\n",
                                                  "X: y\r\n",
                                                  "HTTP/1.0",
                                                  "0\r\n\r\n",
                                                  "3\r\nabc\r\n",
                                                  ";a=\"b\"",
                                                  "\x80",
                                                  "\x7f",
                                                  "_",
                                                  "+"};

    std::size_t pick(std::size_t count) { return count == 0 ? 0 : random_() % count; }

    void change(std::string& text, const std::string& other) {
        std::size_t at = pick(text.size() + 1);
        std::size_t size = std::min(1 + pick(4), text.size() - at);
        switch (pick(5)) {
        case 0: text.erase(at, size); break;
        case 1: text.insert(at, kWords[pick(std::size(kWords))]); break;
        case 2: text.replace(at, size, kWords[pick(std::size(kWords))]); break;
        case 3: text.insert(at, text.substr(pick(text.size() + 1), 1 + pick(20))); break;
        default: text.insert(at, other.substr(pick(other.size() + 1), 1 + pick(40))); break;
        }
    }

    std::mt19937 random_;
};

// Calls `compare` with each file and its mutations; gives how many Weft took.
template <class Compare>
std::size_t compare_all(const std::string& name, Compare compare) {
    std::map<std::string, std::string> files = corpus(name);
    std::vector<std::string> texts;
    for (const auto& [file, text] : files) texts.push_back(text);
    std::size_t taken = 0;
    Mutator mutate(kSeed);
    std::minstd_rand choose(kSeed);
    for (const auto& [file, text] : files) {
        for (std::size_t i = 0; i <= kMutationsPerFile; ++i) {
            std::string input = i == 0 ? text : mutate(text, texts[choose() % texts.size()]);
            if (compare(input)) ++taken;
            if (::testing::Test::HasFailure()) {
                ADD_FAILURE() << file << ", mutation " << i << ", seed " << kSeed << ":\n"
                              << ::testing::PrintToString(input);
                return taken;
            }
        }
    }
    return taken;
}

TEST(Beast, HTTP_1_reads_every_request_that_is_taken_alike) {
    EXPECT_GT(compare_all("request", compare_request), kTakenMin);
}

TEST(Beast, HTTP_1_reads_every_chunked_body_that_is_taken_alike) {
    EXPECT_GT(
        compare_all("chunked",
                    [](const std::string& body) {
                        return compare_request(
                            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
                            body);
                    }),
        kTakenMin);
}

TEST(Beast, HTTP_5_reads_every_response_that_is_taken_alike) {
    EXPECT_GT(compare_all("response",
                          [](const std::string& input) {
                              if (input.empty()) return false;
                              std::string_view method = input[0] == 'H'   ? "HEAD"
                                                        : input[0] == 'C' ? "CONNECT"
                                                                          : "GET";
                              return compare_response(std::string_view(input).substr(1), method);
                          }),
              kTakenMin);
}

}  // namespace
}  // namespace weft::http::wire
