#include "weft/http/sse/event_source.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/async/timeout.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/sse/broadcaster.h"
#include "weft/testing/scripted_server.h"
#include "weft/testing/sockets.h"
#include "weft/testing/turn_counter.h"

namespace weft::http {
namespace {

using namespace weft::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

Url url_of(const net::Address& address, std::string_view target = "/") {
    return *Url::parse("http://" + address.to_string() + std::string(target));
}

EventSourceOptions quick() {
    EventSourceOptions options;
    options.retry = milliseconds(1);
    return options;
}

// A source whose server gives each connection the next of these answers and closes; the last answer
// is repeated.
template <class Test>
void with_answers(std::vector<std::string> answers, Test test) {
    in_runtime(1, [&] {
        std::vector<std::string> requests;
        auto serve = [&](Peer& peer) {
            requests.push_back(peer.read_request());
            peer.say(answers[std::min<std::size_t>(peer.number(), answers.size() - 1)]);
        };
        return with_server(serve, [&](const Address& address) -> Result<void> {
            Client client;
            EventSource source(client, url_of(address), quick());
            return test(source, requests);
        });
    });
}

std::string events(std::string_view text) { return std::string(kHead) + std::string(text); }

// The outcome of next() after these answers, which must be final.
Result<EventSource::Event> last_of(std::vector<std::string> answers) {
    Result<EventSource::Event> outcome = ErrorKind::Other;
    with_answers(std::move(answers), [&](EventSource& source, auto&) -> Result<void> {
        outcome = source.next(in_ten_seconds());
        auto again = source.next(in_ten_seconds());
        EXPECT_EQ(kind_of(again), kind_of(outcome));
        return {};
    });
    return outcome;
}

TEST(EventSource, HTTP_6a_other_statuses_and_types_are_final) {
    EXPECT_EQ(kind_of(last_of({"HTTP/1.1 204 No Content\r\n\r\n"})), ErrorKind::Closed);
    for (const char* status : {"400 Bad", "404 Not Found", "500 Error", "503 Busy", "206 Part"}) {
        std::string answer = "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 0\r\n\r\n";
        EXPECT_EQ(kind_of(last_of({answer})), ErrorKind::Refused) << status;
    }
    for (const char* type :
         {"Content-Type: text/plain\r\n", "Content-Type: text/event-streams\r\n", ""}) {
        std::string answer = "HTTP/1.1 200 OK\r\n" + std::string(type) + "\r\ndata: x\n\n";
        EXPECT_EQ(kind_of(last_of({answer})), ErrorKind::Refused) << type;
    }
}

TEST(EventSource, HTTP_6a_an_event_beyond_the_limit_is_final) {
    EXPECT_EQ(kind_of(last_of({events("data: " + std::string(300'000, 'x'))})), ErrorKind::Limit);
}

TEST(EventSource, HTTP_6a_it_connects_again_with_the_last_id) {
    with_answers(
        {events("id: 7\ndata: a\n\n"), events("data: b\n\nid: lost\ndata: cut o"),
         "garbage\r\n\r\n", "", events("id\ndata: c\n\n"), "HTTP/1.1 204 No Content\r\n\r\n"},
        [](EventSource& source, std::vector<std::string>& requests) -> Result<void> {
            EventSource::Event event = WEFT_TRY(source.next(in_ten_seconds()));
            EXPECT_EQ(event.type + " " + event.data + " " + event.last_event_id, "message a 7");
            EXPECT_TRUE(source.is_open());
            event = WEFT_TRY(source.next(in_ten_seconds()));
            EXPECT_EQ(event.data + " " + event.last_event_id, "b 7");
            event = WEFT_TRY(source.next(in_ten_seconds()));
            EXPECT_EQ(event.data + " " + event.last_event_id, "c ");
            EXPECT_EQ(kind_of(source.next(in_ten_seconds())), ErrorKind::Closed);
            EXPECT_EQ(requests.size(), 6U);
            EXPECT_EQ(requests[0].find("last-event-id"), std::string::npos);
            EXPECT_NE(requests[0].find("accept: text/event-stream\r\n"), std::string::npos);
            for (int i = 1; i < 5; ++i)
                EXPECT_NE(requests[i].find("last-event-id: 7\r\n"), std::string::npos);
            EXPECT_EQ(requests[5].find("last-event-id"), std::string::npos);
            return {};
        });
}

TEST(EventSource, HTTP_6a_an_id_that_cannot_be_sent_back_does_no_harm) {
    using namespace std::string_literals;
    with_answers({events("id: 1\ndata: a\n\nid: x\0y\ndata: b\n\n"s),
                  events("id: \x01\ndata: c\n\n"), "HTTP/1.1 204 No Content\r\n\r\n"},
                 [](EventSource& source, std::vector<std::string>& requests) -> Result<void> {
                     for (const char* id : {"1", "1", "\x01"}) {
                         auto event = WEFT_TRY(source.next(in_ten_seconds()));
                         EXPECT_EQ(event.last_event_id, id);
                     }
                     EXPECT_EQ(kind_of(source.next(in_ten_seconds())), ErrorKind::Closed);
                     EXPECT_NE(requests[1].find("last-event-id: 1\r\n"), std::string::npos);
                     EXPECT_EQ(requests[2].find("last-event-id"), std::string::npos);
                     return {};
                 });
}

TEST(EventSource, HTTP_6a_redirects_are_followed) {
    with_answers({"HTTP/1.1 307 Elsewhere\r\nLocation: /there\r\nContent-Length: 0\r\n"
                  "Connection: close\r\n\r\n",
                  events("data: a\n\n")},
                 [](EventSource& source, std::vector<std::string>& requests) -> Result<void> {
                     auto event = WEFT_TRY(source.next(in_ten_seconds()));
                     EXPECT_EQ(event.data, "a");
                     EXPECT_TRUE(requests[1].starts_with("GET /there "));
                     return {};
                 });
}

TEST(EventSource, HTTP_6a_it_waits_as_long_as_the_server_has_said) {
    with_answers({events("retry: 60\ndata: a\n\n"), events("data: b\n\n")},
                 [](EventSource& source, auto&) -> Result<void> {
                     WEFT_TRY(source.next(in_ten_seconds()));
                     Instant begun = Clock::now();
                     WEFT_TRY(source.next(in_ten_seconds()));
                     EXPECT_GE(Clock::now() - begun, milliseconds(60));
                     return {};
                 });
}

// How many attempts are made within a time, to a server that does not exist.
std::size_t attempts_in_vain_once(milliseconds retry, milliseconds time) {
    std::size_t attempts = 0;
    in_runtime(1, [&]() -> Result<void> {
        Address address = WEFT_TRY(free_tcp_address());
        EventSourceOptions options;
        options.retry = retry;
        options.retry_max = milliseconds(64);
        ClientOptions counting;
        counting.check_address = [&](std::string_view, const Address&) -> Result<void> {
            ++attempts;
            return {};
        };
        Client counted(counting);
        EventSource source(counted, url_of(address), std::move(options));
        EXPECT_EQ(kind_of(source.next(Deadline::after(time))), ErrorKind::TimedOut);
        return {};
    });
    return attempts;
}

// A machine that stalls meanwhile makes fewer attempts; then the measurement is repeated.
std::size_t attempts_in_vain(milliseconds retry, milliseconds time, std::size_t at_least) {
    std::size_t attempts = 0;
    for (int i = 0; i < 5 && attempts < at_least; ++i)
        attempts = attempts_in_vain_once(retry, time);
    return attempts;
}

TEST(EventSource, HTTP_6a_attempts_that_fail_are_further_and_further_apart_up_to_a_limit) {
    // At 0, 4, 12, 28, 60, 124, 188, 252 ms, or later.
    std::size_t attempts = attempts_in_vain(milliseconds(4), milliseconds(300), 2);
    EXPECT_GE(attempts, 2U);
    EXPECT_LE(attempts, 8U);
}

TEST(EventSource, HTTP_6a_who_is_told_not_to_wait_does_so_once_an_attempt_has_failed) {
    // At 0, 0, 2, 6, 14, 30, 62, 126, 190, 254 ms, or later.
    std::size_t attempts = attempts_in_vain(milliseconds(0), milliseconds(300), 3);
    EXPECT_GE(attempts, 3U);
    EXPECT_LE(attempts, 10U);
}

// The server sends single bytes, and the deadline passes between any two.
TEST(EventSource, HTTP_6a_a_deadline_in_the_middle_of_an_event_loses_nothing) {
    in_runtime(1, [] {
        auto serve = [](Peer& peer) {
            peer.read_request();
            peer.say(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                "Transfer-Encoding: chunked\r\n\r\n");
            for (char byte : std::string("\xef\xbb\xbf: hi\r\nid: 1\r\ndata: \xc3\xa4\r\n\r\n")) {
                peer.say(std::string("1\r\n") + byte + "\r\n");
                // tidy: allow sleep: the pieces shall come apart
                static_cast<void>(sleep_for(milliseconds(3)));
            }
            peer.wait_for_close();
        };
        return with_server(serve, [](const Address& address) -> Result<void> {
            Client client;
            EventSource source(client, url_of(address), quick());
            int timeouts = 0;
            for (Deadline end = in_ten_seconds(); !end.expired(Clock::now());) {
                auto event = source.next(Deadline::after(milliseconds(2)));
                if (event) {
                    EXPECT_EQ(event->data, "\xc3\xa4");
                    EXPECT_EQ(event->last_event_id, "1");
                    EXPECT_EQ(client.counters().connected, 1U);
                    EXPECT_GT(timeouts, 3);
                    return {};
                }
                EXPECT_EQ(kind_of(event), ErrorKind::TimedOut);
                ++timeouts;
            }
            return ErrorKind::TimedOut;
        });
    });
}

TEST(EventSource, HTTP_6a_cancelling_ends_the_wait_and_it_can_go_on) {
    in_runtime(1, [] {
        auto serve = [](Peer& peer) {
            peer.read_request();
            peer.say(events("data: a\n\n"));
            peer.wait_for_close();
        };
        return with_server(serve, [](const Address& address) -> Result<void> {
            Client client;
            EventSource source(client, url_of(address), quick());
            WEFT_TRY(source.next(in_ten_seconds()));
            CancelSource cancel;
            auto cancelling = spawn([&] { cancel.cancel(); });
            {
                CancelScope scope(cancel.token());
                EXPECT_EQ(kind_of(source.next(in_ten_seconds())), ErrorKind::Cancelled);
            }
            EXPECT_TRUE(cancelling.join());
            EXPECT_TRUE(source.is_open());
            EXPECT_EQ(kind_of(source.next(Deadline::after(milliseconds(1)))), ErrorKind::TimedOut);
            return {};
        });
    });
}

TEST(EventSource, HTTP_6a_a_silent_stream_is_taken_for_dead) {
    in_runtime(1, [] {
        auto serve = [](Peer& peer) {
            peer.read_request();
            peer.say(events(peer.number() == 0 ? "" : "data: a\n\n"));
            peer.wait_for_close();
        };
        return with_server(serve, [](const Address& address) -> Result<void> {
            Client client;
            EventSourceOptions options = quick();
            options.idle = milliseconds(20);
            EventSource source(client, url_of(address), std::move(options));
            auto event = WEFT_TRY(source.next(in_ten_seconds()));
            EXPECT_EQ(event.data, "a");
            return {};
        });
    });
}

// A Broadcaster and an EventSource together: no event is lost when the connection is closed.
TEST(EventSource, HTTP_6a_with_a_broadcaster_nothing_is_missed_between_two_connections) {
    Broadcaster broadcaster({.retry = milliseconds(1)});
    Atomic<unsigned> requests{0};
    http::testing::TestServer server([&](Request& request, async::Context&) {
        requests.fetch_add(1, std::memory_order_relaxed);
        return http::testing::within(milliseconds(20), broadcaster.subscribe(request));
    });
    in_runtime(1, [&]() -> Result<void> {
        Client client;
        EventSourceOptions options = quick();
        options.last_event_id = "from the beginning";
        EventSource source(client, url_of(server.address()), std::move(options));
        for (int i = 0; i < 50; ++i) {
            WEFT_TRY(broadcaster.publish({.data = std::to_string(i)}));
            auto event = WEFT_TRY(source.next(in_ten_seconds()));
            EXPECT_EQ(event.data, std::to_string(i));
            // tidy: allow sleep: so that streams end meanwhile
            WEFT_TRY(sleep_for(milliseconds(2)));
        }
        return {};
    });
    EXPECT_GT(requests.load(std::memory_order_relaxed), 2U);
}

TEST(EventSource, FIB_15i_events_that_have_come_together_leave_turns_to_others) {
    constexpr std::size_t events_together = 1000;
    std::string text;
    for (std::size_t i = 0; i < events_together; ++i) text += "data: a\n\n";
    with_answers({events(text)}, [&](EventSource& source, auto&) -> Result<void> {
        WEFT_TRY(source.next(in_ten_seconds()));
        TurnCounter another;
        for (std::size_t i = 1; i < events_together; ++i) WEFT_TRY(source.next(in_ten_seconds()));
        EXPECT_GE(another.turns(), (events_together - 1) / kTurnOperationsMax);
        return {};
    });
}

}  // namespace
}  // namespace weft::http
