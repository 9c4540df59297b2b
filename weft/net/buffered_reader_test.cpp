#include "weft/net/buffered_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/net/socket.h"
#include "weft/testing/sockets.h"

namespace weft::net {
namespace {

using namespace testing;
using namespace std::string_literals;
using std::chrono::hours;
using std::chrono::milliseconds;

// Calls body with a reader of a socket; `say(far)` runs on a fiber with the other end, which is
// closed afterwards.
template <class Say, class Body>
void with_reader(std::size_t bytes_max, Say say, Body body) {
    in_runtime(1, [&]() -> Result<void> {
        auto [near, far] = WEFT_TRY(Socket::make_pair());
        auto saying = spawn([&, other = std::move(far)]() mutable { say(other); });
        BufferedReader reader(near, bytes_max);
        body(reader);
        near.close();
        return saying.join();
    });
}

auto saying(std::string text) {
    return [text = std::move(text)](Socket& far) {
        static_cast<void>(far.write_all(as_bytes(text), in_ten_seconds()));
    };
}

// Sends a byte at a time, each of which the reader receives alone.
auto dripping(std::string text) {
    return [text = std::move(text)](Socket& far) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (!far.write_all(as_bytes(text).subspan(i, 1), in_ten_seconds())) return;
            yield();
        }
    };
}

std::vector<std::string> lines_of(BufferedReader& reader) {
    std::vector<std::string> lines;
    for (;;) {
        auto line = reader.line(in_ten_seconds());
        if (!line) return lines.emplace_back("(" + line.error().message() + ")"), lines;
        if (!*line) return lines;
        lines.emplace_back(**line);
    }
}

bool is_at_end(BufferedReader& reader) {
    auto line = reader.line(in_ten_seconds());
    return line && !*line;
}

TEST(BufferedReader, NET_7b_lines_end_with_lf_or_crlf_however_they_come) {
    std::string text = "one\r\n\ntwo\rtwo\n\r\n\r\r\n"s + "\0\n"s;
    std::vector<std::string> lines = {"one", "", "two\rtwo", "", "\r", "\0"s};
    with_reader(16, saying(text), [&](BufferedReader& reader) {
        EXPECT_EQ(lines_of(reader), lines);
        EXPECT_TRUE(is_at_end(reader));
    });
    with_reader(16, dripping(text),
                [&](BufferedReader& reader) { EXPECT_EQ(lines_of(reader), lines); });
}

TEST(BufferedReader, NET_7b_a_line_that_is_cut_off_is_closed_and_still_there) {
    with_reader(100, saying("whole\nhal"), [](BufferedReader& reader) {
        EXPECT_EQ(*reader.line(in_ten_seconds()), "whole");
        EXPECT_EQ(kind_of(reader.line(in_ten_seconds())), ErrorKind::Closed);
        EXPECT_EQ(kind_of(reader.until("l\n", in_ten_seconds())), ErrorKind::Closed);
        EXPECT_EQ(kind_of(reader.exactly(4, in_ten_seconds())), ErrorKind::Closed);
        EXPECT_EQ(as_text(*reader.exactly(1, in_ten_seconds())), "h");
        EXPECT_EQ(reader.take_buffered(), "al");
        EXPECT_EQ(reader.take_buffered(), "");
    });
}

TEST(BufferedReader, NET_7b_no_message_is_longer_than_the_limit) {
    std::string longest(15, 'x');
    with_reader(16, saying(longest + "\n" + longest + "x\n"), [&](BufferedReader& reader) {
        EXPECT_EQ(*reader.line(in_ten_seconds()), longest);
        Result<std::optional<std::string_view>> longer = reader.line(in_ten_seconds());
        EXPECT_EQ(kind_of(longer), ErrorKind::Limit);
        EXPECT_EQ(longer.error().message(),
                  "a message has more bytes than 16 (BufferedReader(bytes_max))");
        EXPECT_EQ(kind_of(reader.exactly(17, in_ten_seconds())), ErrorKind::Limit);
        EXPECT_EQ(reader.buffered().size(), 16U);
        EXPECT_EQ(as_text(*reader.exactly(16, in_ten_seconds())), longest + "x");
    });
    with_reader(0, saying("x\n"), [](BufferedReader& reader) {
        EXPECT_EQ(kind_of(reader.line(in_ten_seconds())), ErrorKind::Limit);
        EXPECT_EQ(reader.exactly(0, in_ten_seconds())->size(), 0U);
    });
}

TEST(BufferedReader, NET_7b_a_peer_that_sends_without_end_costs_no_more_than_the_limit) {
    auto flood = [](Socket& far) {
        std::string much(64 * 1024, 'x');
        while (far.write_all(as_bytes(much), in_ten_seconds())) {}
    };
    with_reader(10'000, flood, [](BufferedReader& reader) {
        EXPECT_EQ(kind_of(reader.line(in_ten_seconds())), ErrorKind::Limit);
        EXPECT_EQ(reader.buffered().size(), 10'000U);
    });
}

TEST(BufferedReader, NET_7c_heads_and_bodies_follow_each_other) {
    std::string text = "a: b\r\n\r\n12345\r\n\r\nrest";
    auto read = [](BufferedReader& reader) {
        EXPECT_EQ(*reader.until("\r\n\r\n", in_ten_seconds()), "a: b\r\n\r\n");
        EXPECT_EQ(as_text(*reader.exactly(5, in_ten_seconds())), "12345");
        EXPECT_EQ(*reader.until("\r\n\r\n", in_ten_seconds()), "\r\n\r\n");
        EXPECT_EQ(as_text(*reader.exactly(4, in_ten_seconds())), "rest");
        EXPECT_EQ(kind_of(reader.until("", in_ten_seconds())), ErrorKind::Misuse);
        EXPECT_TRUE(is_at_end(reader));
    };
    with_reader(9, saying(text), read);
    with_reader(9, dripping(text), read);
}

TEST(BufferedReader, NET_7c_what_is_left_over_is_read_or_taken_before_the_stream) {
    with_reader(100, saying("line\nabcdef"), [](BufferedReader& reader) {
        EXPECT_EQ(*reader.line(in_ten_seconds()), "line");
        std::byte space[4];
        EXPECT_EQ(reader.read(space, in_ten_seconds()), 4U);
        EXPECT_EQ(as_text(space), "abcd");
        EXPECT_EQ(as_text(reader.buffered()), "ef");
        EXPECT_EQ(reader.take_buffered(), "ef");
        EXPECT_EQ(reader.read(space, in_ten_seconds()), 0U);
    });
}

TEST(BufferedReader, NET_7d_after_a_deadline_or_a_cancel_it_goes_on_where_it_was) {
    in_runtime(1, []() -> Result<void> {
        auto [near, far] = WEFT_TRY(Socket::make_pair());
        BufferedReader reader(near);
        WEFT_TRY(far.write_all(as_bytes("hel")));
        EXPECT_EQ(kind_of(reader.line(Deadline::after(milliseconds(1)))), ErrorKind::TimedOut);
        CancelSource source;
        source.cancel();
        {
            CancelScope scope(source.token());
            EXPECT_EQ(kind_of(reader.line(Deadline::after(hours(1)))), ErrorKind::Cancelled);
        }
        EXPECT_EQ(as_text(reader.buffered()), "hel");
        WEFT_TRY(far.write_all(as_bytes("lo\n")));
        EXPECT_EQ(*WEFT_TRY(reader.line(in_ten_seconds())), "hello");
        return {};
    });
}

TEST(BufferedReader, NET_7d_messages_that_are_already_here_leave_turns_to_others) {
    with_reader(BufferedReader::kBytesMax, saying(std::string(60'000, '\n')),
                [](BufferedReader& reader) {
                    bool others_run = false;
                    ASSERT_TRUE(reader.line(in_ten_seconds()));
                    auto other = spawn([&] { others_run = true; });
                    int lines = 0;
                    while (!others_run && reader.buffered().size() > 1) {
                        ASSERT_TRUE(reader.line(in_ten_seconds()));
                        ++lines;
                    }
                    EXPECT_TRUE(others_run) << lines;
                    EXPECT_TRUE(other.join());
                });
}

}  // namespace
}  // namespace weft::net
