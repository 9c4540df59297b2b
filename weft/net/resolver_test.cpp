#include "weft/net/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/net/internal/dns_query.h"
#include "weft/net/udp.h"
#include "weft/testing/dns_server.h"
#include "weft/testing/sockets.h"

namespace weft::net {
namespace {

using namespace weft::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

IpAddress ip(std::string_view text) { return IpAddress::parse(text).value(); }

template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message();
}

// A server with these names, and a resolver that asks it.
template <class Body>
void with_resolver(std::map<std::string, DnsRecord> names, Body body,
                   ResolverOptions options = {}) {
    in_runtime(2, [&]() -> Result<void> {
        return with_dns_server(std::move(names), [&](DnsServer& server) -> Result<void> {
            options.servers = {server.address()};
            Resolver resolver(options);
            return body(resolver, server);
        });
    });
}

// ---------------------------------------------------------------- failures

TEST(Resolver, NET_5_what_is_no_name_is_refused_unasked) {
    in_runtime(1, []() -> Result<void> {
        Resolver resolver({.servers = {WEFT_TRY(free_tcp_address())}});
        std::string long_label(64, 'a');
        std::string long_name;
        for (int i = 0; i < 64; ++i) long_name += "abc.";
        for (std::string_view text :
             {std::string_view(""), std::string_view("."), std::string_view("a..b"),
              std::string_view(".a"), std::string_view("a b"), std::string_view("a/b"),
              std::string_view("a\0b", 3), std::string_view("127.1"),
              std::string_view("0177.0.0.1"), std::string_view("0x7f000001"),
              std::string_view("2130706433"), std::string_view("1.2.3.4.5"),
              std::string_view("[::1]"), std::string_view("fe80::1%eth0"),
              std::string_view("\xc3\xa4.test"), std::string_view(long_label),
              std::string_view(long_name)}) {
            Result<std::vector<IpAddress>> found = resolver.resolve(text, in_ten_seconds());
            EXPECT_EQ(kind_of(found), ErrorKind::Dns) << text;
        }
        EXPECT_EQ(resolver.queries(), 0U);
        return {};
    });
}

TEST(Resolver, NET_3h_NET_5_a_name_that_is_not_there_is_an_error_and_remembered) {
    with_resolver({}, [](Resolver& resolver, DnsServer& server) -> Result<void> {
        Result<std::vector<IpAddress>> found = resolver.resolve("absent.test", in_ten_seconds());
        EXPECT_EQ(kind_of(found), ErrorKind::Dns);
        EXPECT_THAT(message_of(found), HasSubstr("absent.test"));
        EXPECT_THAT(message_of(found), HasSubstr("NXDOMAIN"));
        int questions = server.questions();
        EXPECT_GT(questions, 0);
        EXPECT_THAT(message_of(resolver.resolve("absent.test")), HasSubstr("NXDOMAIN"));
        EXPECT_EQ(server.questions(), questions);
        return {};
    });
}

TEST(Resolver, NET_5_a_name_without_addresses_is_an_error) {
    with_resolver({{"empty.test", {}}}, [](Resolver& resolver, DnsServer&) -> Result<void> {
        Result<std::vector<IpAddress>> found = resolver.resolve("empty.test", in_ten_seconds());
        EXPECT_EQ(kind_of(found), ErrorKind::Dns);
        EXPECT_THAT(message_of(found), HasSubstr("no address"));
        return {};
    });
}

TEST(Resolver, NET_5_a_server_that_fails_is_an_error_and_not_remembered) {
    with_resolver({{"broken.test", {.code = DnsServer::kServfail}}},
                  [](Resolver& resolver, DnsServer&) -> Result<void> {
                      for (std::uint64_t i = 1; i <= 2; ++i) {
                          auto found = resolver.resolve("broken.test", in_ten_seconds());
                          EXPECT_EQ(kind_of(found), ErrorKind::Dns);
                          EXPECT_THAT(message_of(found), HasSubstr("SERVFAIL"));
                          EXPECT_EQ(resolver.queries(), i);
                      }
                      return {};
                  });
}

TEST(Resolver, NET_5_a_server_that_says_nothing_or_garbage_is_given_up) {
    with_resolver({{"silent.test", {.unanswered = 1000}}, {"garbage.test", {.only_garbage = true}}},
                  [](Resolver& resolver, DnsServer&) -> Result<void> {
                      auto silence = resolver.resolve("silent.test", in_ten_seconds());
                      EXPECT_EQ(kind_of(silence), ErrorKind::Dns);
                      EXPECT_THAT(message_of(silence), HasSubstr("no server answered in time"));
                      // Newer versions of c-ares do not wait for more from such a server.
                      auto garbage = resolver.resolve("garbage.test", in_ten_seconds());
                      EXPECT_EQ(kind_of(garbage), ErrorKind::Dns);
                      return {};
                  },
                  {.tries = 1, .query_timeout = milliseconds(30)});
}

TEST(Resolver, NET_5_nobody_listens_where_the_server_should_be) {
    in_runtime(1, []() -> Result<void> {
        Resolver resolver({.servers = {WEFT_TRY(free_tcp_address())},
                           .tries = 1,
                           .query_timeout = milliseconds(100)});
        EXPECT_EQ(kind_of(resolver.resolve("a.test", in_ten_seconds())), ErrorKind::Dns);
        return {};
    });
}

TEST(Resolver, NET_5_the_deadline_of_the_caller_ends_the_wait) {
    with_resolver({{"silent.test", {.unanswered = 1000}}},
                  [](Resolver& resolver, DnsServer&) -> Result<void> {
                      auto found =
                          resolver.resolve("silent.test", Deadline::after(milliseconds(20)));
                      EXPECT_EQ(kind_of(found), ErrorKind::TimedOut);
                      return {};
                  });
}

TEST(Resolver, NET_5_one_who_gives_up_does_not_end_it_for_the_others) {
    Event answer;
    with_resolver(
        {{"slow.test", {.addresses = {ip("10.0.0.1")}, .hold = &answer}}},
        [&](Resolver& resolver, DnsServer& server) -> Result<void> {
            CancelSource source;
            auto first = spawn([&] {
                CancelScope scope(source.token());
                return resolver.resolve("slow.test", in_ten_seconds());
            });
            WEFT_TRY(server.asked.wait_until(in_ten_seconds()));
            auto second = spawn([&] { return resolver.resolve("slow.test", in_ten_seconds()); });
            yield();
            source.cancel();
            EXPECT_EQ(kind_of(first.join(in_ten_seconds())), ErrorKind::Cancelled);
            answer.set();
            EXPECT_THAT(WEFT_TRY(second.join(in_ten_seconds())), ElementsAre(ip("10.0.0.1")));
            EXPECT_EQ(resolver.queries(), 1U);
            return {};
        });
}

TEST(Resolver, NET_5_a_query_under_way_does_not_hold_up_the_end_of_the_runtime) {
    UdpSocket silent = UdpSocket::open(Address::loopback(0)).value();
    Instant begun = Clock::now();
    {
        Resolver resolver(
            {.servers = {silent.local_address()}, .query_timeout = std::chrono::minutes(1)});
        in_runtime(2, [&]() -> Result<void> {
            auto found = resolver.resolve("a.test", Deadline::after(milliseconds(10)));
            EXPECT_EQ(kind_of(found), ErrorKind::TimedOut);
            return {};
        });
    }
    EXPECT_LT(Clock::now() - begun, seconds(20));
}

// ---------------------------------------------------------------- answers

TEST(Resolver, NET_5_both_families_are_found_and_remembered) {
    with_resolver(
        {{"both.test", {.addresses = {ip("10.0.0.1"), ip("2001:db8::1"), ip("10.0.0.2")}}}},
        [](Resolver& resolver, DnsServer& server) -> Result<void> {
            for (std::string_view name : {"both.test", "Both.TEST", "both.test."}) {
                EXPECT_THAT(
                    WEFT_TRY(resolver.resolve(name, in_ten_seconds())),
                    UnorderedElementsAre(ip("10.0.0.1"), ip("10.0.0.2"), ip("2001:db8::1")));
            }
            EXPECT_EQ(resolver.queries(), 1U);
            EXPECT_EQ(server.questions(), 2);
            return {};
        });
}

TEST(Resolver, NET_5_those_who_ask_at_once_share_one_query) {
    Event answer;
    with_resolver({{"slow.test", {.addresses = {ip("10.0.0.1")}, .hold = &answer}}},
                  [&](Resolver& resolver, DnsServer& server) -> Result<void> {
                      std::vector<Future<std::vector<IpAddress>>> askers;
                      for (int i = 0; i < 50; ++i) {
                          askers.push_back(spawn(
                              [&] { return resolver.resolve("slow.test", in_ten_seconds()); }));
                      }
                      WEFT_TRY(server.asked.wait_until(in_ten_seconds()));
                      for (int i = 0; i < 100; ++i) yield();
                      answer.set();
                      for (auto& asker : askers)
                          EXPECT_EQ(WEFT_TRY(asker.join(in_ten_seconds())).size(), 1U);
                      EXPECT_EQ(resolver.queries(), 1U);
                      return {};
                  });
}

TEST(Resolver, NET_5_the_time_to_live_is_that_of_the_answer) {
    // What follows from it is in the test of the cache.
    in_runtime(2, []() -> Result<void> {
        DnsRecord record{.addresses = {ip("10.0.0.1"), ip("2001:db8::1")}, .ttl_seconds = 77};
        return with_dns_server({{"a.test", record}}, [](DnsServer& server) -> Result<void> {
            ResolverOptions options{.servers = {server.address()}};
            DnsAnswer answer = WEFT_TRY(query_dns("a.test", options, in_ten_seconds()));
            EXPECT_EQ(answer.ttl, seconds(77));
            EXPECT_EQ(WEFT_TRY(answer.outcome).size(), 2U);
            return {};
        });
    });
}

TEST(Resolver, NET_5_a_lost_question_is_asked_again) {
    with_resolver({{"lossy.test", {.addresses = {ip("10.0.0.1")}, .unanswered = 1}}},
                  [](Resolver& resolver, DnsServer&) -> Result<void> {
                      EXPECT_THAT(WEFT_TRY(resolver.resolve("lossy.test", in_ten_seconds())),
                                  ElementsAre(ip("10.0.0.1")));
                      return {};
                  },
                  {.tries = 10, .query_timeout = milliseconds(200)});
}

TEST(Resolver, NET_5_a_family_that_is_never_answered_for_does_not_hold_up_the_other) {
    with_resolver({{"four.test", {.addresses = {ip("10.0.0.1")}, .v6_unanswered = true}}},
                  [](Resolver& resolver, DnsServer&) -> Result<void> {
                      EXPECT_THAT(WEFT_TRY(resolver.resolve("four.test", in_ten_seconds())),
                                  ElementsAre(ip("10.0.0.1")));
                      return {};
                  },
                  {.query_timeout = seconds(60)});
}

TEST(Resolver, NET_5_an_answer_that_is_cut_off_is_asked_for_over_tcp) {
    with_resolver({{"long.test", {.addresses = {ip("10.0.0.1")}, .only_by_tcp = true}}},
                  [](Resolver& resolver, DnsServer&) -> Result<void> {
                      EXPECT_THAT(WEFT_TRY(resolver.resolve("long.test", in_ten_seconds())),
                                  ElementsAre(ip("10.0.0.1")));
                      return {};
                  });
}

TEST(Resolver, NET_5_an_answer_to_another_question_is_not_believed) {
    with_resolver({{"target.test", {.addresses = {ip("10.0.0.1")}, .forged_first = true}}},
                  [](Resolver& resolver, DnsServer&) -> Result<void> {
                      EXPECT_THAT(WEFT_TRY(resolver.resolve("target.test", in_ten_seconds())),
                                  ElementsAre(ip("10.0.0.1")));
                      return {};
                  });
}

TEST(Resolver, NET_5_literals_localhost_and_the_table_need_no_server) {
    in_runtime(1, []() -> Result<void> {
        Resolver resolver({.servers = {WEFT_TRY(free_tcp_address())},
                           .table = {{"known.test", {ip("10.0.0.7")}}}});
        EXPECT_THAT(WEFT_TRY(resolver.resolve("192.0.2.1")), ElementsAre(ip("192.0.2.1")));
        EXPECT_THAT(WEFT_TRY(resolver.resolve("2001:db8::1")), ElementsAre(ip("2001:db8::1")));
        for (std::string_view name : {"localhost", "LocalHost.", "app.localhost"}) {
            EXPECT_THAT(WEFT_TRY(resolver.resolve(name)), ElementsAre(ip("::1"), ip("127.0.0.1")));
        }
        EXPECT_THAT(WEFT_TRY(resolver.resolve("Known.test")), ElementsAre(ip("10.0.0.7")));
        EXPECT_EQ(resolver.queries(), 0U);
        return {};
    });
}

TEST(Resolver, NET_5_a_plain_thread_may_ask) {
    with_resolver({{"a.test", {.addresses = {ip("10.0.0.1")}}}},
                  [](Resolver& resolver, DnsServer&) -> Result<void> {
                      Event done;
                      Result<std::vector<IpAddress>> found = ErrorKind::Other;
                      std::thread thread([&] {
                          found = resolver.resolve("a.test", in_ten_seconds());
                          done.set();
                      });
                      Result<void> waited = done.wait_until(in_ten_seconds());
                      thread.join();
                      EXPECT_THAT(WEFT_TRY(found), ElementsAre(ip("10.0.0.1")));
                      return waited;
                  });
}

}  // namespace
}  // namespace weft::net
