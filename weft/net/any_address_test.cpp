// Address::any(): a listener for every interface and both families, or for the only one there is.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "weft/net/address.h"
#include "weft/net/socket.h"
#include "weft/testing/sockets.h"

namespace weft::net {
namespace {

using namespace testing;

Result<Address> peer_by(const Address& listening, const IpAddress& ip, Listener& listener) {
    Socket client = WEFT_TRY(Socket::connect(Address(ip, listening.port()), in_ten_seconds()));
    Socket server = WEFT_TRY(listener.accept(in_ten_seconds()));
    return server.peer_address();
}

TEST(AnyAddress, NET_7a_a_listener_on_any_address_takes_both_families) {
    if (!has_ipv6()) GTEST_SKIP() << "this machine has no IPv6";
    in_runtime(1, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::any(0)));
        EXPECT_FALSE(listener.address().ip().is_v4());
        Address by_v4 = WEFT_TRY(peer_by(listener.address(), IpAddress::loopback(), listener));
        EXPECT_EQ(by_v4.ip(), IpAddress::loopback());
        Address by_v6 =
            WEFT_TRY(peer_by(listener.address(), WEFT_TRY(IpAddress::parse("::1")), listener));
        EXPECT_EQ(by_v6.ip().to_string(), "::1");
        return {};
    });
}

// From now on the kernel tells this process that there is no IPv6.
bool lose_ipv6() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{sizeof program / sizeof *program, program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

[[noreturn]] void listen_without_ipv6() {
    if (!lose_ipv6()) {
        std::fprintf(stderr, "cannot lose IPv6\n");
        std::exit(0);
    }
    auto listener = Listener::open(Address::any(0));
    auto only_v6 = Listener::open(Address::any(0), {.v6_only = true});
    auto asked_for = Listener::open(*Address::parse("[::1]:0"));
    bool right = listener && listener->address().ip() == IpAddress() && !only_v6 && !asked_for &&
                 Socket::connect(Address::loopback(listener->address().port()), in_ten_seconds());
    std::fprintf(stderr, right ? "by IPv4 alone\n" : "wrong\n");
    std::exit(0);
}

TEST(AnyAddressDeathTest, NET_7a_without_ipv6_it_listens_on_ipv4_alone) {
    EXPECT_EXIT(listen_without_ipv6(), ::testing::ExitedWithCode(0),
                "by IPv4 alone|cannot lose IPv6");
}

}  // namespace
}  // namespace weft::net
