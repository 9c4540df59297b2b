#include "weft/net/egress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "weft/testing/sockets.h"

namespace weft::net {
namespace {

using ::testing::HasSubstr;
using testing::kind_of;

Address at(std::string_view ip, std::uint16_t port = 80) {
    Result<IpAddress> parsed = IpAddress::parse(ip);
    EXPECT_TRUE(parsed) << ip;
    return {*parsed, port};
}

bool allows(const EgressPolicy& policy, std::string_view ip, std::uint16_t port = 80,
            std::string_view host = "host.test") {
    return policy.check(host, at(ip, port)).has_value();
}

// The first and the last of each special range, their neighbours outside, and each of them in every
// form in which IPv6 carries an IPv4 address.
constexpr std::string_view kInside[] = {
    "0.0.0.0",         "0.0.0.1",         "0.255.255.255",   "10.0.0.0",        "10.255.255.255",
    "100.64.0.0",      "100.100.100.200", "100.127.255.255", "127.0.0.0",       "127.0.0.1",
    "127.1.2.3",       "127.255.255.255", "168.63.129.16",   "169.254.0.0",     "169.254.169.254",
    "169.254.170.2",   "169.254.255.255", "172.16.0.0",      "172.31.255.255",  "192.0.0.0",
    "192.0.0.192",     "192.0.0.255",     "192.0.2.0",       "192.0.2.255",     "192.88.99.0",
    "192.88.99.255",   "192.168.0.0",     "192.168.255.255", "198.18.0.0",      "198.19.255.255",
    "198.51.100.0",    "198.51.100.255",  "203.0.113.0",     "203.0.113.255",   "224.0.0.0",
    "239.255.255.255", "240.0.0.0",       "255.255.255.254", "255.255.255.255",
};
constexpr std::string_view kOutside[] = {
    "1.0.0.0",         "1.1.1.1",         "8.8.8.8",         "9.255.255.255",   "11.0.0.0",
    "100.63.255.255",  "100.128.0.0",     "126.255.255.255", "128.0.0.0",       "168.63.129.15",
    "168.63.129.17",   "169.253.255.255", "169.255.0.0",     "172.15.255.255",  "172.32.0.0",
    "191.255.255.255", "192.0.1.0",       "192.0.3.0",       "192.88.98.255",   "192.88.100.0",
    "192.167.255.255", "192.169.0.0",     "198.17.255.255",  "198.20.0.0",      "198.51.99.255",
    "198.51.101.0",    "203.0.112.255",   "203.0.114.0",     "223.255.255.255",
};

std::string embedded(std::string_view prefix, std::string_view v4) {
    return std::string(prefix) + std::string(v4);
}

TEST(Egress, JS_11_what_is_not_public_is_refused_in_every_form_of_its_number) {
    EgressPolicy policy;
    for (std::string_view ip : kInside) {
        EXPECT_FALSE(allows(policy, ip)) << ip;
        for (std::string_view prefix : {"::ffff:", "::ffff:0:", "64:ff9b::", "::"}) {
            std::string v6 = embedded(prefix, ip);
            EXPECT_FALSE(allows(policy, v6)) << v6;
        }
    }
}

TEST(Egress, JS_11_public_addresses_are_allowed_up_to_the_edges) {
    EgressPolicy policy;
    for (std::string_view ip : kOutside) {
        EXPECT_TRUE(allows(policy, ip)) << ip;
        EXPECT_TRUE(allows(policy, embedded("::ffff:", ip))) << ip;
        EXPECT_TRUE(allows(policy, embedded("64:ff9b::", ip))) << ip;
    }
    for (std::string_view ip :
         {"2000::", "2001:200::", "2001:4860:4860::8888", "2606:4700::1111",
          "2001:db7:ffff::", "2001:db9::", "2003::", "3ffe:ffff::", "3fff:1000::"})
        EXPECT_TRUE(allows(policy, ip)) << ip;
}

TEST(Egress, JS_11_addresses_of_ipv6_that_are_not_public_are_refused) {
    EgressPolicy policy;
    for (std::string_view ip : {"::",
                                "::1",
                                "fc00::",
                                "fd00:ec2::254",
                                "fdff:ffff::1",
                                "fe80::1",
                                "febf::1",
                                "fec0::1",
                                "ff02::1",
                                "ff0e::1",
                                "100::",
                                "100::1",
                                "2001::1",
                                "2001:0:7f00:1::",
                                "2001:2::1",
                                "2001:10::1",
                                "2001:20::1",
                                "2001:1ff:ffff::1",
                                "2001:db8::1",
                                "2001:db8:ffff::1",
                                "2002::1",
                                "2002:7f00:1::",
                                "2002:a00:1::",
                                "3fff::1",
                                "3fff:fff::1",
                                "4000::1",
                                "5f00::1",
                                "64:ff9b:1::1",
                                "64:ff9b:1::808:808",
                                "8000::1",
                                "1fff::1"})
        EXPECT_FALSE(allows(policy, ip)) << ip;
}

TEST(Egress, JS_11_the_refusal_says_which_number_and_why) {
    Result<void> refused = EgressPolicy().check("metadata.test", at("169.254.169.254"));
    EXPECT_EQ(kind_of(refused), ErrorKind::PermissionDenied);
    EXPECT_THAT(refused.error().message(), HasSubstr("169.254.169.254 is a link-local address"));
    EXPECT_THAT(
        EgressPolicy().check("unix:/run/x", *Address::unix_path("/run/x")).error().message(),
        HasSubstr("a socket of this host"));
}

TEST(Egress, JS_11_networks_addresses_and_hosts_are_allowed_by_rules) {
    EgressPolicy policy;
    for (std::string_view rule :
         {"10.1.0.0/16", "192.168.7.9", "172.16.0.0/12:8080", "fd00:1::/32", "[fd00:2::1]:443",
          "[fd00:3::/32]:80", "db.internal", "Cache.Internal:6379", "unix:/run/app.sock"})
        EXPECT_TRUE(policy.allow(rule)) << rule;
    EXPECT_TRUE(allows(policy, "10.1.255.255"));
    EXPECT_TRUE(allows(policy, "::ffff:10.1.0.1"));
    EXPECT_FALSE(allows(policy, "10.2.0.0"));
    EXPECT_TRUE(allows(policy, "192.168.7.9"));
    EXPECT_FALSE(allows(policy, "192.168.7.8"));
    EXPECT_TRUE(allows(policy, "172.20.0.1", 8080));
    EXPECT_FALSE(allows(policy, "172.20.0.1", 80));
    EXPECT_TRUE(allows(policy, "fd00:1:ffff::1"));
    EXPECT_FALSE(allows(policy, "fd00:4::1"));
    EXPECT_TRUE(allows(policy, "fd00:2::1", 443));
    EXPECT_FALSE(allows(policy, "fd00:2::1", 80));
    EXPECT_TRUE(allows(policy, "fd00:3::9", 80));
    EXPECT_TRUE(allows(policy, "127.0.0.1", 80, "DB.internal."));
    EXPECT_FALSE(allows(policy, "127.0.0.1", 80, "xdb.internal"));
    EXPECT_TRUE(allows(policy, "127.0.0.1", 6379, "cache.internal"));
    EXPECT_FALSE(allows(policy, "127.0.0.1", 6380, "cache.internal"));
    EXPECT_TRUE(policy.check("unix:/run/app.sock", *Address::unix_path("/run/app.sock")));
    EXPECT_FALSE(policy.check("unix:/run/other", *Address::unix_path("/run/other")));
}

TEST(Egress, JS_11_a_rule_that_is_none_is_refused_with_its_text) {
    for (std::string_view rule : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "fd00::/129", "a b",
                                  "host:0", "host:65536", "host:", "[::1", "[::1]80", "[host]:80",
                                  "http://example.test", "unix:", "*", "10.0.0.0/8:"}) {
        EgressPolicy policy;
        Result<void> refused = policy.allow(rule);
        EXPECT_EQ(kind_of(refused), ErrorKind::Misuse) << rule;
        EXPECT_THAT(refused.error().message(), HasSubstr("'" + std::string(rule) + "'"));
    }
}

TEST(Egress, JS_11_anywhere_is_anywhere) {
    EgressPolicy policy = EgressPolicy::anywhere();
    EXPECT_TRUE(allows(policy, "127.0.0.1"));
    EXPECT_TRUE(allows(policy, "fe80::1"));
    EXPECT_TRUE(policy.check("unix:/run/other", *Address::unix_path("/run/other")));
}

}  // namespace
}  // namespace weft::net
