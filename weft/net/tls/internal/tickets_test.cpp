#include "weft/net/tls/internal/tickets.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weft::net::tls {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr Instant kBegin{hours(1000)};

TEST(TicketRing, NET_2_a_key_is_used_for_its_lifetime_and_accepted_for_another) {
    TicketRing ring{hours(1)};
    auto first = ring.keys(kBegin).value();
    EXPECT_EQ(ring.keys(kBegin + minutes(59)).value(), first);
    auto second = ring.keys(kBegin + minutes(61)).value();
    EXPECT_NE(second->current.name, first->current.name);
    EXPECT_EQ(second->previous.name, first->current.name);
    auto third = ring.keys(kBegin + minutes(122)).value();
    EXPECT_EQ(third->previous.name, second->current.name);
    EXPECT_NE(third->current.name, first->current.name);
}

TEST(TicketRing, NET_2_after_a_long_silence_no_old_key_is_accepted) {
    TicketRing ring{hours(1)};
    static_cast<void>(ring.keys(kBegin));
    auto later = ring.keys(kBegin + hours(2)).value();
    EXPECT_EQ(later->previous.name, TicketKey().name);
}

TEST(TicketRing, NET_2_a_ticket_under_an_unknown_key_is_no_ticket) {
    TicketRing ring{hours(1)};
    auto keys = ring.keys(kBegin).value();
    unsigned char name[16] = {};  // also the name of a previous key when there is none
    unsigned char iv[16] = {};
    EXPECT_EQ(keys->open(name, iv, nullptr, nullptr), 0);
}

}  // namespace
}  // namespace weft::net::tls
