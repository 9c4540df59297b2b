#include "weft/http/server/internal/places.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace weft::http {
namespace {

using Taken = Places::Taken;

net::Address from(std::string_view text) {
    return net::Address(net::IpAddress::parse(text).value(), 1);
}

TEST(Places, HTTP_11e_the_limits_follow_the_descriptors_of_the_process) {
    ServerLimits limits;
    Places::Limits few = Places::limits_for(limits, 600);
    EXPECT_EQ(few.connections, 525U);
    EXPECT_EQ(few.of_address, 131U);
    Places::Limits many = Places::limits_for(limits, 1'048'576);
    EXPECT_EQ(many.connections, 65'536U);
    EXPECT_EQ(many.of_address, 16'384U);
    Places::Limits hardly_any = Places::limits_for(limits, 16);
    EXPECT_EQ(hardly_any.connections, 1U);
}

TEST(Places, HTTP_11e_what_was_given_is_respected) {
    ServerLimits limits;
    limits.connections = 100'000;
    limits.connections_per_address = 3;
    Places::Limits given = Places::limits_for(limits, 600);
    EXPECT_EQ(given.connections, 100'000U);
    EXPECT_EQ(given.of_address, 3U);
}

TEST(Places, HTTP_11f_a_network_of_ipv6_is_one_address) {
    Places places;
    places.set_limits({.connections = 100, .of_address = 2});
    EXPECT_EQ(places.take(from("2001:db8::1")), Taken::Yes);
    EXPECT_EQ(places.take(from("2001:db8::ffff:1")), Taken::Yes);
    EXPECT_EQ(places.take(from("2001:db8::2")), Taken::AddressIsFull);
    EXPECT_EQ(places.take(from("2001:db8:0:1::1")), Taken::Yes) << "another network";
    EXPECT_FALSE(places.give_back(from("2001:db8::1")));
    EXPECT_EQ(places.take(from("2001:db8::2")), Taken::Yes);
}

TEST(Places, HTTP_11f_an_ipv4_address_is_the_same_by_either_name) {
    Places places;
    places.set_limits({.connections = 100, .of_address = 1});
    EXPECT_EQ(places.take(from("192.0.2.1")), Taken::Yes);
    EXPECT_EQ(places.take(from("::ffff:192.0.2.1")), Taken::AddressIsFull);
    EXPECT_EQ(places.take(from("::ffff:192.0.2.2")), Taken::Yes);
}

TEST(Places, HTTP_11_who_was_refused_takes_no_place) {
    Places places;
    places.set_limits({.connections = 1, .of_address = 1});
    EXPECT_EQ(places.take(from("192.0.2.1")), Taken::Yes);
    EXPECT_EQ(places.take(from("192.0.2.2")), Taken::Full);
    EXPECT_TRUE(places.give_back(from("192.0.2.1")));
    EXPECT_TRUE(places.is_empty());
    EXPECT_EQ(places.take(from("192.0.2.2")), Taken::Yes);
}

}  // namespace
}  // namespace weft::http
