#include "weft/net/address.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace weft::net {
namespace {

using namespace std::string_view_literals;

Result<Address> through_the_kernel(const Address& address) {
    sockaddr_storage storage{};
    std::size_t bytes = address.to_native(&storage);
    return Address::from_native(reinterpret_cast<const sockaddr*>(&storage), bytes);
}

TEST(Address, NET_1_what_is_not_an_address_is_refused) {
    for (std::string_view text : {""sv,
                                  ":"sv,
                                  "127.0.0.1"sv,
                                  "127.0.0.1:"sv,
                                  "127.0.0.1:65536"sv,
                                  "127.0.0.1:-1"sv,
                                  "127.0.0.1:+1"sv,
                                  "127.0.0.1: 1"sv,
                                  "127.0.0.1:1 "sv,
                                  "127.0.0.1:01"sv,
                                  "127.1:80"sv,
                                  "0x7f.0.0.1:80"sv,
                                  "0177.0.0.1:80"sv,
                                  "127.0.0.01:80"sv,
                                  "127.0.0.256:80"sv,
                                  "127.0.0.1.1:80"sv,
                                  "::1:80"sv,
                                  "[::1]"sv,
                                  "[::1:80"sv,
                                  "::1]:80"sv,
                                  "[::1%lo]:80"sv,
                                  "[127.0.0.1]:80"sv,
                                  "[1::2::3]:80"sv,
                                  "[12345::]:80"sv,
                                  ":http"sv,
                                  "Localhost:80"sv,
                                  "localhost"sv,
                                  "localhost:"sv,
                                  "localhost.:80"sv,
                                  "[localhost]:80"sv,
                                  "127.0.0.1\0x:80"sv,
                                  "[]:80"sv,
                                  "unix:"sv,
                                  "unix:@"sv,
                                  "unix:/a\0b"sv}) {
        Result<Address> address = Address::parse(text);
        ASSERT_FALSE(address.has_value()) << text;
        EXPECT_EQ(address.error().kind(), ErrorKind::Misuse) << text;
    }
}

TEST(Address, NET_1_addresses_are_written_as_they_are_read) {
    for (std::string_view text :
         {"127.0.0.1:80"sv, "0.0.0.0:0"sv, "255.255.255.255:65535"sv, "[::1]:8080"sv, "[::]:0"sv,
          "[2001:db8::8:800:200c:417a]:443"sv, "[::ffff:1.2.3.4]:1"sv, "unix:/run/weft.sock"sv,
          "unix:@abstract"sv}) {
        Result<Address> address = Address::parse(text);
        ASSERT_TRUE(address.has_value()) << text;
        EXPECT_EQ(address->to_string(), text);
        EXPECT_EQ(through_the_kernel(*address), *address) << text;
    }
    EXPECT_EQ(Address::parse("[2001:DB8:0:0:0:0:0:1]:1")->to_string(), "[2001:db8::1]:1");
    EXPECT_EQ(Address().to_string(), "0.0.0.0:0");
    EXPECT_EQ(Address::loopback(80), Address::parse("127.0.0.1:80"));
}

TEST(Address, NET_7a_a_port_alone_is_any_address_and_localhost_the_loopback) {
    EXPECT_EQ(Address::parse(":8080"), Address::any(8080));
    EXPECT_EQ(Address::any(8080).to_string(), "[::]:8080");
    EXPECT_EQ(Address::parse("localhost:80"), Address::loopback(80));
}

TEST(Address, NET_1_a_path_of_a_unix_socket_has_a_limit) {
    std::string longest(Address::kUnixPathBytesMax, 'a');
    for (const std::string& path : {longest, "@" + longest.substr(1)}) {
        Result<Address> address = Address::unix_path(path);
        ASSERT_TRUE(address.has_value());
        EXPECT_EQ(address->path(), path);
        EXPECT_EQ(through_the_kernel(*address), *address);
    }
    Result<Address> longer = Address::unix_path(longest + "a");
    ASSERT_FALSE(longer.has_value());
    EXPECT_EQ(longer.error().kind(), ErrorKind::Limit);
}

TEST(Address, NET_1_an_unnamed_unix_socket_has_an_empty_path) {
    sockaddr_un native{};
    native.sun_family = AF_UNIX;
    Result<Address> address =
        Address::from_native(reinterpret_cast<sockaddr*>(&native), sizeof native.sun_family);
    ASSERT_TRUE(address.has_value());
    EXPECT_EQ(address->kind(), Address::Kind::Unix);
    EXPECT_EQ(address->path(), "");
    EXPECT_EQ(through_the_kernel(*address), *address);
}

TEST(Address, NET_1_what_the_kernel_says_is_not_trusted_to_be_whole) {
    sockaddr_storage storage{};
    std::size_t bytes = Address::loopback(1).to_native(&storage);
    const auto* native = reinterpret_cast<const sockaddr*>(&storage);
    for (std::size_t cut = 0; cut < bytes; ++cut)
        EXPECT_FALSE(Address::from_native(native, cut).has_value()) << cut;
    storage.ss_family = AF_MAX;
    EXPECT_FALSE(Address::from_native(native, bytes).has_value());
}

TEST(Address, NET_1_a_path_that_no_unix_socket_can_have_is_refused) {
    for (char first : {'/', '\0'}) {
        sockaddr_storage storage{};
        std::memset(&storage, 'a', sizeof storage);
        storage.ss_family = AF_UNIX;
        reinterpret_cast<char*>(&storage)[offsetof(sockaddr_un, sun_path)] = first;
        const auto* native = reinterpret_cast<const sockaddr*>(&storage);
        Result<Address> longest = Address::from_native(native, sizeof(sockaddr_un));
        ASSERT_TRUE(longest.has_value());
        EXPECT_EQ(through_the_kernel(*longest), *longest);
        EXPECT_FALSE(Address::from_native(native, sizeof(sockaddr_un) + 1).has_value());
        EXPECT_FALSE(Address::from_native(native, sizeof storage).has_value());
    }
}

TEST(IpAddress, NET_1_a_mapped_address_is_the_ipv4_one) {
    EXPECT_EQ(IpAddress::parse("::ffff:10.0.0.1")->unmapped(), IpAddress::parse("10.0.0.1"));
    EXPECT_EQ(IpAddress::parse("::fffe:10.0.0.1")->unmapped(), IpAddress::parse("::fffe:10.0.0.1"));
    EXPECT_EQ(IpAddress::loopback().unmapped(), IpAddress::loopback());
    EXPECT_NE(*IpAddress::parse("::"), *IpAddress::parse("0.0.0.0"));
    EXPECT_EQ(Address::parse("[::ffff:10.0.0.1]:80")->unmapped(), Address::parse("10.0.0.1:80"));
    EXPECT_EQ(Address::parse("unix:/a")->unmapped(), Address::parse("unix:/a"));
}

}  // namespace
}  // namespace weft::net
