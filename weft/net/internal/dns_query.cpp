#include "weft/net/internal/dns_query.h"

#include <ares.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>  // tidy: allow foreign: one descriptor that stands for those of c-ares
#include <sys/time.h>   // tidy: allow foreign: timeval

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/io.h"

namespace weft::net {
namespace {

constexpr int kEventsMax = 16;

bool start_library() {
    static const bool started = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
    return started;
}

// Functions that read errno stay out of line: their callers park and may resume on another thread.
[[gnu::noinline]] int make_epoll() {
    int fd = ::epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

// A channel of c-ares for one name. It asks for each family separately: servers and middleboxes
// that never answer for IPv6 must not delay IPv4 (RFC 8305 §3). c-ares opens and closes its own
// sockets and reports which events it waits for; they are registered with an epoll descriptor, for
// which a fiber can wait as for any other. Each query makes a channel: that is cheap beside the
// query, uses fresh ports and reads the current configuration.
class Query {
public:
    Query() = default;
    ~Query() {
        if (channel_) ares_destroy(channel_);  // a query under way gets a last callback
    }
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;

    Result<void> start(const std::string& name, const ResolverOptions& options);
    Result<DnsAnswer> wait(const std::string& name, Deadline deadline);

private:
    struct Family {
        int number;
        Query* query = nullptr;
        bool is_done = false;
        int status = ARES_SUCCESS;
    };

    static void on_sockets(void* query, ares_socket_t fd, int readable, int writable);
    static void on_answer(void* family, int status, int timeouts, ares_addrinfo* addresses);
    Result<void> open(const ResolverOptions& options);
    Deadline next_timeout() const;
    void serve();
    void keep(const ares_addrinfo& addresses);
    bool has_both_families() const;
    bool is_done(Instant now) const {
        return has_both_families() || missing_family_deadline_.expired(now);
    }
    int status() const;

    Descriptor epoll_;
    ares_channel channel_ = nullptr;
    std::array<Family, 2> families_{{{AF_INET6}, {AF_INET}}};
    Deadline missing_family_deadline_;  // set when the other family has answered
    std::vector<IpAddress> found_;
    Nanoseconds ttl_ = kDnsTtlMax;
};

void Query::on_sockets(void* query, ares_socket_t fd, int readable, int writable) {
    int epoll = static_cast<Query*>(query)->epoll_.fd();
    epoll_event event{};
    event.events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);
    event.data.fd = fd;
    if (event.events == 0) {
        ::epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr);
    } else if (::epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) != 0) {
        ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

void Query::on_answer(void* family, int status, int, ares_addrinfo* addresses) {
    auto& self = *static_cast<Family*>(family);
    self.is_done = true;
    self.status = status;
    if (!addresses) return;
    try {
        self.query->keep(*addresses);
    } catch (const std::bad_alloc&) {  // it must not pass through the library, which is C
        self.status = ARES_ENOMEM;
    }
    ares_freeaddrinfo(addresses);
}

void Query::keep(const ares_addrinfo& addresses) {
    auto keep_ttl = [&](int seconds) {
        ttl_ = std::min<Nanoseconds>(ttl_, std::chrono::seconds(std::max(seconds, 0)));
    };
    for (const ares_addrinfo_cname* alias = addresses.cnames; alias; alias = alias->next)
        keep_ttl(alias->ttl);
    for (const ares_addrinfo_node* node = addresses.nodes; node; node = node->ai_next) {
        Result<Address> address = Address::from_native(node->ai_addr, node->ai_addrlen);
        if (!address) continue;
        found_.push_back(address->ip());
        keep_ttl(node->ai_ttl);
    }
    if (!found_.empty() && missing_family_deadline_.is_never())
        missing_family_deadline_ = Deadline::after(kDnsResolutionDelay);
}

bool Query::has_both_families() const {
    return std::ranges::all_of(families_, [](const Family& family) { return family.is_done; });
}

// The status to report when neither family has an address. A failure comes first, because it leaves
// open whether there is an address; then "no data", which means that the name exists.
int Query::status() const {
    auto weight = [](const Family& family) {
        if (family.status == ARES_ENOTFOUND) return 0;
        return family.status == ARES_ENODATA || family.status == ARES_SUCCESS ? 1 : 2;
    };
    return std::ranges::max(families_, {}, weight).status;
}

Result<void> Query::open(const ResolverOptions& options) {
    WEFT_ASSERT(!channel_, "a query is started once");
    int epoll = make_epoll();
    if (epoll < 0) return Error::from_errno(-epoll);
    epoll_ = Descriptor::adopt_nonblocking(epoll, Flow::Unknown);
    if (!start_library()) return Error(ErrorKind::Dns, "c-ares cannot be used");
    char lookups[] = "fb";  // /etc/hosts, then the servers
    ares_options given{};
    given.sock_state_cb = on_sockets;
    given.sock_state_cb_data = this;
    given.timeout = static_cast<int>(options.query_timeout / std::chrono::milliseconds(1));
    given.tries = options.tries;
    given.lookups = lookups;
    // No search domains, and ndots is 0: the name is asked for exactly as it is.
    int mask = ARES_OPT_SOCK_STATE_CB | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
               ARES_OPT_DOMAINS | ARES_OPT_NDOTS;
    int status = ares_init_options(&channel_, &given, mask);
    if (status == ARES_SUCCESS && !options.servers.empty()) {
        std::string servers;
        for (const Address& server : options.servers)
            servers += (servers.empty() ? "" : ",") + server.to_string();
        status = ares_set_servers_ports_csv(channel_, servers.c_str());
    }
    if (status != ARES_SUCCESS) return Error(ErrorKind::Dns, ares_strerror(status));
    return {};
}

Result<void> Query::start(const std::string& name, const ResolverOptions& options) {
    WEFT_TRY(open(options));
    ares_addrinfo_hints hints{};
    hints.ai_flags = ARES_AI_NOSORT;  // dial() tries them in an order of its own
    for (Family& family : families_) {
        family.query = this;
        hints.ai_family = family.number;
        ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, on_answer, &family);
    }
    if (found_.empty()) return {};
    // The name is in /etc/hosts, whose answer is final.
    for (Family& family : families_) family.is_done = true;
    return {};
}

Deadline Query::next_timeout() const {
    timeval left{};
    if (!ares_timeout(channel_, nullptr, &left)) return Deadline::never();
    return Deadline::after(std::chrono::seconds(left.tv_sec) +
                           std::chrono::microseconds(left.tv_usec));
}

// Lets c-ares read from and write to the sockets that are ready, and repeat what has timed out.
void Query::serve() {
    std::array<epoll_event, kEventsMax> events{};
    int count = ::epoll_wait(epoll_.fd(), events.data(), kEventsMax, 0);
    for (const epoll_event& event : std::span(events).first(std::max(count, 0))) {
        bool failed = event.events & (EPOLLERR | EPOLLHUP);
        bool readable = failed || (event.events & EPOLLIN);
        bool writable = event.events & EPOLLOUT;
        ares_process_fd(channel_, readable ? event.data.fd : ARES_SOCKET_BAD,
                        writable ? event.data.fd : ARES_SOCKET_BAD);
    }
    ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

Result<DnsAnswer> Query::wait(const std::string& name, Deadline deadline) {
    while (!is_done(Clock::now())) {
        Deadline timeout = earlier(next_timeout(), missing_family_deadline_);
        Result<void> ready = epoll_.wait_readable(earlier(deadline, timeout));
        bool is_overdue = !ready && ready.error().kind() == ErrorKind::TimedOut &&
                          timeout.expired(Clock::now()) && !deadline.expired(Clock::now());
        if (!ready && !is_overdue) return ready.error().with_context("resolve", name);
        serve();
    }
    // The answer of one family alone is cached for the shortest time.
    if (!found_.empty())
        return DnsAnswer{std::move(found_), has_both_families() ? ttl_ : Nanoseconds()};
    // Only an address that was found sets missing_family_deadline_.
    WEFT_ASSERT(has_both_families(), "without an address the query ends by both answers");
    int status = this->status();
    auto failed = [&](std::string_view reason, Nanoseconds ttl) {
        return DnsAnswer{Error(ErrorKind::Dns, reason).with_context("resolve", name), ttl};
    };
    switch (status) {
    case ARES_ENOTFOUND: return failed("there is no such name (NXDOMAIN)", kDnsNegativeTtl);
    case ARES_SUCCESS:
    case ARES_ENODATA: return failed("the name has no address", kDnsNegativeTtl);
    case ARES_ETIMEOUT: return failed("no server answered in time", {});
    case ARES_ESERVFAIL: return failed("the server failed (SERVFAIL)", {});
    // Older versions of c-ares do not tell a server that fails from one that is not there.
    case ARES_ECONNREFUSED: return failed("no server could be asked, or all failed (SERVFAIL)", {});
    default: return failed(ares_strerror(status), {});
    }
}

}  // namespace

Result<DnsAnswer> query_dns(const std::string& name, const ResolverOptions& options,
                            Deadline deadline) {
    Query query;
    WEFT_TRY(in_context(query.start(name, options), "resolve", name));
    return query.wait(name, deadline);
}

}  // namespace weft::net
