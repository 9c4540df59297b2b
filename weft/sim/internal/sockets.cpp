// The stream sockets of a simulated machine; see descriptors.h.
#include <sys/uio.h>  // tidy: allow foreign: parts of a vectored call

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "weft/base/bytes.h"
#include "weft/sim/internal/descriptors.h"
#include "weft/sim/internal/machine.h"

namespace weft::sim {
namespace {

// Values of <sys/socket.h>, which only net/ includes.
constexpr int kUnix = 1;
constexpr int kIpv4 = 2;
constexpr int kIpv6 = 10;
constexpr int kStream = 1;
constexpr int kWriteSide = 1;
constexpr int kSocketLevel = 1;
constexpr int kLinger = 13;
constexpr int kReusePort = 15;

constexpr std::size_t kFamilyBytes = 2;
constexpr std::size_t kPortAt = 2;
constexpr std::size_t kPortEnd = 4;

constexpr std::uint64_t kConnectNsMax = 200'000;
constexpr std::uint64_t kGiveUpNsMax = 130'000'000'000;

int family_of(const std::string& name) {
    std::uint16_t family = 0;
    std::memcpy(&family, name.data(), sizeof family);
    return family;
}

bool is_ip(const std::string& name) { return family_of(name) != kUnix; }

// The part of a name that counts for a connection: the host is always this one.
std::string key_of(const std::string& name) {
    return is_ip(name) ? name.substr(0, kPortEnd) : name;
}

std::string with_port(std::string name, std::uint16_t port) {
    name[kPortAt] = static_cast<char>(port >> 8);
    name[kPortAt + 1] = static_cast<char>(port & 0xff);
    return name;
}

std::string name_from(const void* address, std::size_t bytes) {
    return {static_cast<const char*>(address), bytes};
}

std::string unnamed() {
    std::uint16_t family = kUnix;
    return name_from(&family, kFamilyBytes);
}

int give(const std::string& name, void* space, std::size_t bytes) {
    std::memcpy(space, name.data(), std::min(bytes, name.size()));
    return static_cast<int>(name.size());
}

}  // namespace

// ---------------------------------------------------------------- names and times

bool DescriptorTable::out_of_descriptors() { return machine_.injects(FaultKind::Descriptor, 4); }

bool DescriptorTable::is_due(const Link& link) const { return link.due_ns <= machine_.now_ns(); }

std::int64_t DescriptorTable::some_time_from_now() {
    Random& random = machine_.fault_random();
    if (random.once_in(3)) return machine_.now_ns();
    return machine_.now_ns() + static_cast<std::int64_t>(random.below(kConnectNsMax));
}

// Whether another socket has the name and does not share it.
bool DescriptorTable::is_taken(const std::string& name, bool shares) const {
    return std::ranges::any_of(ends_, [&](const End& end) {
        bool holds = end.stage == End::Stage::Fresh || end.stage == End::Stage::Listening;
        bool shared = shares && end.shares_port;
        return holds && !shared && !end.local.empty() && key_of(end.local) == key_of(name);
    });
}

std::string DescriptorTable::name_with_a_port(std::string name) {
    if (!is_ip(name) || name[kPortAt] != 0 || name[kPortAt + 1] != 0) return name;
    do {
        name = with_port(std::move(name), next_port_++);
    } while (is_taken(name, false));
    return name;
}

auto DescriptorTable::listener_at(const std::string& name) -> End* {
    std::vector<End*> found;
    for (End& end : ends_) {
        if (end.stage == End::Stage::Listening && key_of(end.local) == key_of(name))
            found.push_back(&end);
    }
    if (found.size() < 2) return found.empty() ? nullptr : found.front();
    return found[machine_.fault_random().below(found.size())];
}

int DescriptorTable::local_name(int fd, void* space, std::size_t bytes) {
    machine_.step();
    End* end = find(fd);
    return end ? give(end->local, space, bytes) : -EBADF;
}

int DescriptorTable::peer_name(int fd, void* space, std::size_t bytes) {
    machine_.step();
    End* end = find(fd);
    if (!end) return -EBADF;
    return end->stage == End::Stage::Connected ? give(end->peer, space, bytes) : -ENOTCONN;
}

// ---------------------------------------------------------------- opening

int DescriptorTable::socket(int family, int type) {
    machine_.step();
    bool known = family == kUnix || family == kIpv4 || family == kIpv6;
    if (!known || type != kStream) return -EAFNOSUPPORT;
    if (out_of_descriptors()) return -EMFILE;
    if (machine_.fails(Allocation::Buffer)) return -ENOBUFS;
    End end;
    end.stage = End::Stage::Fresh;
    return add(std::move(end));
}

int DescriptorTable::socket_pair(int (&ends)[2]) {
    machine_.step();
    if (out_of_descriptors()) return -EMFILE;
    std::shared_ptr<Link> link = make_link();
    for (std::uint8_t side = 0; side < 2; ++side) {
        End end = connected(link, side);
        end.local = end.peer = unnamed();
        ends[side] = add(std::move(end));
    }
    return 0;
}

int DescriptorTable::bind(int fd, const void* address, std::size_t bytes) {
    machine_.step();
    End* end = find(fd);
    if (!end) return -EBADF;
    if (end->stage != End::Stage::Fresh || !end->local.empty()) return -EINVAL;
    std::string name = name_with_a_port(name_from(address, bytes));
    if (is_taken(name, end->shares_port)) return -EADDRINUSE;
    end->local = std::move(name);
    return 0;
}

int DescriptorTable::listen(int fd, int backlog) {
    machine_.step();
    End* end = find(fd);
    if (!end) return -EBADF;
    if (end->stage != End::Stage::Fresh || end->local.empty()) return -EINVAL;
    end->stage = End::Stage::Listening;
    end->backlog_max = static_cast<std::size_t>(backlog) + 1;  // as Linux counts
    return 0;
}

int DescriptorTable::set_option(int fd, int level, int name, const void*, std::size_t) {
    machine_.step();
    End* end = find(fd);
    if (!end) return -EBADF;
    if (level == kSocketLevel && name == kLinger) end->resets_on_close = true;
    if (level == kSocketLevel && name == kReusePort) end->shares_port = true;
    return 0;
}

// ---------------------------------------------------------------- connecting

int DescriptorTable::connect(int fd, const void* address, std::size_t bytes) {
    machine_.step();
    End* end = find(fd);
    if (!end) return -EBADF;
    switch (end->stage) {
    case End::Stage::Fresh: return begin_connect(*end, name_from(address, bytes));
    case End::Stage::Connecting: return is_due(*end->link) ? finish_connect(*end) : -EALREADY;
    case End::Stage::Connected: return -EISCONN;
    case End::Stage::Closed:
    case End::Stage::Listening: break;
    }
    return -EINVAL;
}

int DescriptorTable::begin_connect(End& end, std::string name) {
    End* listener = listener_at(name);
    bool full = listener && listener->backlog.size() >= listener->backlog_max;
    if (!is_ip(name) && !listener) return -ECONNREFUSED;
    if (!is_ip(name) && full) return -EAGAIN;
    if (end.local.empty())
        end.local = is_ip(name) ? name_with_a_port(with_port(name, 0)) : unnamed();
    end.peer = std::move(name);
    end.link = make_link();
    end.stage = End::Stage::Connecting;
    if (is_ip(end.peer) && machine_.injects(FaultKind::Connect, 3)) {
        Random& random = machine_.fault_random();
        constexpr std::array errors = {ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, ETIMEDOUT};
        int error = errors[random.below(errors.size())];
        auto time_limit = static_cast<std::int64_t>(random.below(kGiveUpNsMax));
        fail_connect(end, error,
                     error == ETIMEDOUT ? machine_.now_ns() + time_limit : some_time_from_now());
    } else if (!listener) {
        fail_connect(end, ECONNREFUSED, some_time_from_now());
    } else {
        end.link->due_ns = is_ip(end.peer) ? some_time_from_now() : machine_.now_ns();
        // It is not established before there is room.
        if (full) end.link->due_ns = kNeverNs;
        listener->backlog.push_back({end.link, listener->local, end.local});
        notify(*listener, end.link->due_ns);
    }
    if (is_due(*end.link)) return finish_connect(end);
    notify(end, end.link->due_ns);
    return -EINPROGRESS;
}

void DescriptorTable::fail_connect(End& end, int error, std::int64_t due_ns) {
    end.link->failure = error;
    end.link->errors[end.side] = error;
    end.link->due_ns = due_ns;
}

int DescriptorTable::finish_connect(End& end) {
    if (end.link->failure == 0) {
        end.stage = End::Stage::Connected;
        return 0;
    }
    int error = end.link->errors[end.side];
    end.link.reset();
    end.stage = End::Stage::Fresh;
    return error == 0 ? -ECONNABORTED : -error;
}

int DescriptorTable::accept(int fd) {
    machine_.step();
    End* end = find(fd);
    if (!end) return -EBADF;
    if (end->stage != End::Stage::Listening) return -EINVAL;
    if (out_of_descriptors()) return -EMFILE;
    if (machine_.fails(Allocation::Buffer)) return -ENOBUFS;
    std::erase_if(end->backlog, [](const Waiting& waiting) { return waiting.link->abandoned; });
    admit_the_next(*end);
    auto due = [this](const Waiting& waiting) { return is_due(*waiting.link); };
    auto first = std::ranges::find_if(end->backlog, due);
    if (first == end->backlog.end() || injects_would_block(*end)) return -EAGAIN;
    Waiting accepted = std::move(*first);
    end->backlog.erase(first);
    admit_the_next(*end);
    if (machine_.injects(FaultKind::Reset, 8)) {
        reset(*accepted.link, 0);
        return -ECONNABORTED;
    }
    End server = connected(accepted.link, 1);
    server.local = std::move(accepted.local);
    server.peer = std::move(accepted.peer);
    return add(std::move(server));
}

// The backlog has room: the first connections that wait for it are established.
void DescriptorTable::admit_the_next(End& listener) {
    std::size_t admitted = 0;
    for (const Waiting& waiting : listener.backlog) {
        Link& link = *waiting.link;
        if (++admitted > listener.backlog_max) return;
        if (link.due_ns != kNeverNs) continue;
        link.due_ns = some_time_from_now();
        notify(listener, link.due_ns);
        notify(link, 0);
    }
}

void DescriptorTable::close_listener(End& end) {
    for (Waiting& waiting : end.backlog) {
        Link& link = *waiting.link;
        if (is_due(link)) {
            reset(link, 0);
        } else {
            link.failure = link.errors[0] = ECONNREFUSED;
            link.due_ns = machine_.now_ns();
            notify(link, 0);
        }
    }
}

// ---------------------------------------------------------------- streams

int DescriptorTable::shutdown(int fd, int how) {
    machine_.step();
    End* end = find(fd);
    if (!end) return -EBADF;
    if (end->stage != End::Stage::Connected || end->out().broken) return -ENOTCONN;
    if (how != kWriteSide) return -EINVAL;
    end->out().writer_open = false;
    notify(*end->link, 1U - end->side);
    return 0;
}

long DescriptorTable::send_parts(int fd, std::span<const iovec> parts) {
    machine_.step();
    std::vector<std::byte> bytes;
    for (const iovec& part : parts) {
        const auto* begin = static_cast<const std::byte*>(part.iov_base);
        bytes.insert(bytes.end(), begin, begin + part.iov_len);
    }
    return write(fd, bytes.data(), bytes.size());
}

long DescriptorTable::receive_parts(int fd, std::span<const iovec> parts) {
    machine_.step();
    std::size_t size = 0;
    for (const iovec& part : parts) size += part.iov_len;
    std::vector<std::byte> bytes(size);
    long count = read(fd, bytes.data(), size);
    Bytes left = Bytes(bytes).first(count < 0 ? 0 : static_cast<std::size_t>(count));
    for (const iovec& part : parts) {
        Bytes here = left.first(std::min(left.size(), part.iov_len));
        std::ranges::copy(here, static_cast<std::byte*>(part.iov_base));
        left = left.subspan(here.size());
    }
    return count;
}

}  // namespace weft::sim
