// A DNS server for tests, on a free port of the loopback: over UDP, and over TCP for answers that
// are too long for it.
//
//     with_dns_server({{"a.test", {.addresses = {IpAddress::loopback()}}}},
//                     [](DnsServer& server) -> Result<void> {
//                         Resolver resolver({.servers = {server.address()}});
//                         ...
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/async/group.h"
#include "weft/base/atomic.h"
#include "weft/base/spin_lock.h"
#include "weft/net/resolver.h"
#include "weft/net/socket.h"
#include "weft/net/udp.h"
#include "weft/sync/event.h"

namespace weft::testing {

struct DnsRecord {
    std::vector<net::IpAddress> addresses = {};
    std::uint32_t ttl_seconds = 60;
    std::uint8_t code = 0;       // 2: SERVFAIL, 3: NXDOMAIN
    int unanswered = 0;          // this many questions get no answer
    bool v6_unanswered = false;  // no question for IPv6 gets an answer
    bool only_by_tcp = false;    // over UDP the answer is truncated
    bool only_garbage = false;   // garbage is sent in place of an answer
    bool forged_first = false;   // an answer to another question is sent first
    Event* hold = nullptr;       // the answer is sent when it is set
};

class DnsServer {
public:
    static constexpr std::uint8_t kServfail = 2;
    static constexpr std::uint8_t kNxdomain = 3;

    explicit DnsServer(std::map<std::string, DnsRecord> names) : names_(std::move(names)) {}

    Result<void> start() {
        listener_ = WEFT_TRY(net::Listener::open(net::Address::loopback(0)));
        udp_ = WEFT_TRY(net::UdpSocket::open(listener_.address()));
        WEFT_TRY(group_.go([this] { serve_datagrams(); }));
        return group_.go([this] { serve_connections(); });
    }
    // Must be called before the end of the test.
    void stop() {
        udp_.close();
        listener_.close();
        static_cast<void>(group_.wait());
    }

    net::Address address() const { return listener_.address(); }
    // Relaxed: a count for the test.
    int questions() const { return questions_.load(std::memory_order_relaxed); }
    Event asked;  // set by the first question

private:
    using Packet = std::vector<std::uint8_t>;
    enum class Transport : bool { Udp, Tcp };

    void serve_datagrams() {
        for (;;) {
            std::byte space[1500];
            Result<net::Datagram> got = udp_.receive_from(space);
            if (!got) return;
            static_cast<void>(group_.go(
                [this, from = got->from, question = packet(Bytes(space).first(got->count))] {
                    for (const Packet& reply : replies(question, Transport::Udp))
                        static_cast<void>(udp_.send_to(std::as_bytes(std::span(reply)), from));
                }));
        }
    }

    void serve_connections() {
        for (;;) {
            Result<net::Socket> socket = listener_.accept();
            if (!socket) return;
            std::byte space[1500];
            Result<std::size_t> count =
                socket->read(space, Deadline::after(std::chrono::seconds(5)));
            if (!count || *count < 14) continue;
            for (Packet reply :
                 replies(packet(Bytes(space).first(*count).subspan(2)), Transport::Tcp)) {
                reply.insert(reply.begin(), {static_cast<std::uint8_t>(reply.size() >> 8),
                                             static_cast<std::uint8_t>(reply.size())});
                static_cast<void>(socket->write_all(std::as_bytes(std::span(reply))));
            }
        }
    }

    int count(const std::string& name) {
        SpinGuard guard(lock_);
        return ++asked_of_[name];
    }

    static Packet packet(Bytes bytes) {
        Packet made(bytes.size());
        std::ranges::transform(bytes, made.begin(), [](std::byte b) { return std::uint8_t(b); });
        return made;
    }

    static std::string name_in(const Packet& question, std::size_t& end) {
        std::string name;
        std::size_t at = 12;
        while (at < question.size() && question[at] != 0) {
            if (!name.empty()) name += '.';
            for (std::size_t i = 1; i <= question[at] && at + i < question.size(); ++i)
                name += static_cast<char>(question[at + i]);
            at += question[at] + 1U;
        }
        end = at + 5;  // the zero, the type and the class
        return name;
    }

    std::vector<Packet> replies(const Packet& question, Transport transport) {
        questions_.fetch_add(1, std::memory_order_relaxed);
        asked.set();
        std::size_t end = 0;
        std::string name = name_in(question, end);
        if (question.size() < end) return {};
        bool wants_v6 = question[end - 3] == 28;
        auto found = names_.find(name);
        DnsRecord record = found == names_.end() ? DnsRecord{.code = kNxdomain} : found->second;
        if (wants_v6 && record.v6_unanswered) return {};
        if (record.hold && !record.hold->wait()) return {};
        // Each try consists of a question for A and one for AAAA.
        if (count(name) <= 2 * record.unanswered) return {};
        if (record.only_garbage) return {Packet(7, 0xAB), Packet(600, 0xCD)};
        Packet reply(question.begin(), question.begin() + static_cast<std::ptrdiff_t>(end));
        bool cut = record.only_by_tcp && transport == Transport::Udp;
        reply[2] = static_cast<std::uint8_t>(0x81 | (cut ? 0x02 : 0));
        reply[3] = static_cast<std::uint8_t>(0x80 | record.code);
        std::fill(reply.begin() + 6, reply.begin() + 12, std::uint8_t(0));
        if (cut) return {reply};
        Packet forged = reply;
        for (const net::IpAddress& ip : record.addresses) {
            if (ip.is_v4() != wants_v6) add(reply, ip, record.ttl_seconds);
        }
        if (!record.forged_first) return {reply};
        forged[0] ^= 0xFF;
        if (!wants_v6) add(forged, net::IpAddress::v4({6, 6, 6, 6}), record.ttl_seconds);
        return {forged, reply};
    }

    static void add(Packet& reply, const net::IpAddress& ip, std::uint32_t ttl) {
        ++reply[7];
        std::uint8_t size = ip.is_v4() ? 4 : 16;
        std::uint8_t type = ip.is_v4() ? 1 : 28;
        auto byte = [&](int shift) { return static_cast<std::uint8_t>(ttl >> shift); };
        reply.insert(reply.end(),
                     {0xC0, 12, 0, type, 0, 1, byte(24), byte(16), byte(8), byte(0), 0, size});
        reply.insert(reply.end(), ip.bytes().begin(), ip.bytes().begin() + size);
    }

    const std::map<std::string, DnsRecord> names_;  // all other names do not exist
    net::Listener listener_;
    net::UdpSocket udp_;
    Atomic<int> questions_{0};
    SpinLock lock_;
    std::map<std::string, int> asked_of_;  // under lock_
    async::Group group_;
};

template <class Body>
Result<void> with_dns_server(std::map<std::string, DnsRecord> names, Body body) {
    DnsServer server(std::move(names));
    Result<void> outcome = server.start();
    if (outcome) outcome = body(server);
    server.stop();
    return outcome;
}

}  // namespace weft::testing
