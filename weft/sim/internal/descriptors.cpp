#include "weft/sim/internal/descriptors.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "weft/sim/internal/machine.h"
#include "weft/sim/internal/reactor.h"

namespace weft::sim {
namespace {

constexpr std::uint8_t kAllEvents = kReadable | kWritable | kHangUp | kFailed;

}  // namespace

auto DescriptorTable::find(int fd) -> End* {
    auto index = static_cast<std::size_t>(fd - kFirstFd);
    if (fd < kFirstFd || index >= ends_.size()) return nullptr;
    return ends_[index].stage == End::Stage::Closed ? nullptr : &ends_[index];
}

int DescriptorTable::add(End end) {
    auto free = std::ranges::find(ends_, End::Stage::Closed, &End::stage);
    if (free == ends_.end()) free = ends_.insert(ends_.end(), End{});
    *free = std::move(end);
    return kFirstFd + static_cast<int>(free - ends_.begin());
}

auto DescriptorTable::make_link() -> std::shared_ptr<Link> {
    auto link = std::make_shared<Link>();
    Random& random = machine_.fault_random();
    for (Flow& flow : link->flows) flow.capacity = random.once_in(2) ? 1 + random.below(16) : 4096;
    return link;
}

auto DescriptorTable::connected(std::shared_ptr<Link> link, std::uint8_t side) -> End {
    End end;
    end.stage = End::Stage::Connected;
    end.link = std::move(link);
    end.side = side;
    return end;
}

int DescriptorTable::pipe(int (&ends)[2]) {
    if (out_of_descriptors()) return -EMFILE;
    std::shared_ptr<Link> link = make_link();
    link->is_pipe = true;
    End reader = connected(link, 1);
    reader.writes = false;
    End writer = connected(link, 0);
    writer.reads = false;
    ends[0] = add(std::move(reader));
    ends[1] = add(std::move(writer));
    return 0;
}

int DescriptorTable::close(int fd) {
    End* end = find(fd);
    if (!end) return -EBADF;
    End closed = std::exchange(*end, End{});
    if (closed.stage == End::Stage::Listening) close_listener(closed);
    if (closed.link) close_stream(closed);
    return 0;
}

void DescriptorTable::close_stream(End& end) {
    Link& link = *end.link;
    if (!is_due(link)) link.abandoned = true;
    // Closing with unread bytes resets the connection, so that the peer knows they were lost.
    bool unread = !link.is_pipe && !end.in().bytes.empty();
    bool broken = end.in().broken || end.out().broken;
    if (!broken && (unread || end.resets_on_close)) reset(link, 1U - end.side);
    if (end.reads) end.in().reader_open = false;
    if (end.writes) end.out().writer_open = false;
    notify(link, 1U - end.side);
}

// Resets the connection at once; side `told` gets the error.
void DescriptorTable::reset(Link& link, unsigned told) {
    link.errors[told] = ECONNRESET;
    bool loses_bytes = machine_.fault_random().once_in(2);
    for (Flow& flow : link.flows) {
        flow.broken = true;
        if (loses_bytes) flow.bytes.clear();
    }
    notify(link, told);
}

// Injects a few EAGAINs although the descriptor is ready; each is followed by a new event.
bool DescriptorTable::injects_would_block(End& end) {
    if (!end.reactor) return false;
    if (end.would_block_left != 0) {
        --end.would_block_left;
    } else if (machine_.injects(FaultKind::WouldBlock, 8)) {
        end.would_block_left = static_cast<unsigned>(machine_.fault_random().below(5));
    } else {
        return false;
    }
    notify(end);
    return true;
}

// Injects a reset that neither side has caused: the bytes under way are lost, and both ends get the
// error. True if the connection is broken.
bool DescriptorTable::breaks(End& end) {
    Link& link = *end.link;
    if (end.in().broken || end.out().broken) return true;
    if (!machine_.injects(FaultKind::Reset, 16)) return false;
    for (unsigned side : {0U, 1U}) {
        link.errors[side] = ECONNRESET;
        link.flows[side].broken = true;
        link.flows[side].bytes.clear();
    }
    notify(link, 0);
    notify(link, 1);
    return true;
}

// How many of `count` bytes are transferred: fewer by fault injection.
std::size_t DescriptorTable::shortened(std::size_t count) {
    if (count < 2 || !machine_.injects(FaultKind::ShortTransfer, 2)) return count;
    return 1 + machine_.fault_random().below(count - 1);
}

// 0 when the stream is established, else the error for reading and writing.
int DescriptorTable::connection_error(const End& end) const {
    if (!end.link) return -ENOTCONN;
    if (!is_due(*end.link)) return -EAGAIN;
    return 0;
}

long DescriptorTable::read(int fd, void* buffer, std::size_t size) {
    End* end = find(fd);
    if (!end || !end->reads) return -EBADF;
    if (int error = connection_error(*end); error != 0) return error;
    Link& link = *end->link;
    Flow& flow = end->in();
    if (size == 0) return 0;
    bool broken = breaks(*end) || link.failure != 0;
    if (broken && link.is_pipe) return -ECONNRESET;
    // A socket gets the error once, and after that the end of the stream.
    if (broken && flow.bytes.empty()) return -std::exchange(link.errors[end->side], 0);
    if (flow.bytes.empty()) return flow.writer_open ? -EAGAIN : 0;
    if (injects_would_block(*end)) return -EAGAIN;
    std::size_t wanted = std::min(size, flow.bytes.size());
    std::size_t count = shortened(wanted);
    std::copy_n(flow.bytes.begin(), count, static_cast<std::byte*>(buffer));
    flow.bytes.erase(flow.bytes.begin(), flow.bytes.begin() + static_cast<std::ptrdiff_t>(count));
    notify(link, 1U - end->side);
    // After a short read the reader believes that nothing is left, so the rest needs a new event.
    if (count < wanted) notify(*end);
    return static_cast<long>(count);
}

long DescriptorTable::write(int fd, const void* buffer, std::size_t size) {
    End* end = find(fd);
    if (!end || !end->writes) return -EBADF;
    if (int error = connection_error(*end); error != 0) return error;
    Link& link = *end->link;
    Flow& flow = end->out();
    if (!flow.writer_open) return -EPIPE;
    if (!flow.reader_open && size != 0) return write_to_closed_reader(*end, size);
    if (breaks(*end) || link.failure != 0) {
        int error = std::exchange(link.errors[end->side], 0);
        return error == 0 || link.is_pipe ? -EPIPE : -error;
    }
    if (size == 0) return 0;
    std::size_t room = flow.capacity - flow.bytes.size();
    if (room == 0 || injects_would_block(*end)) return -EAGAIN;
    std::size_t wanted = std::min(size, room);
    std::size_t count = shortened(wanted);
    const auto* bytes = static_cast<const std::byte*>(buffer);
    flow.bytes.insert(flow.bytes.end(), bytes, bytes + count);
    notify(link, 1U - end->side);
    if (count < wanted) notify(*end);
    return static_cast<long>(count);
}

// The reader is closed. TCP learns that by the answer to the first bytes, a Unix socket at once;
// chance decides which of the two this is.
long DescriptorTable::write_to_closed_reader(End& end, std::size_t size) {
    if (end.link->is_pipe || std::exchange(end.out().broken, true)) return -EPIPE;
    if (machine_.fault_random().once_in(2)) return -EPIPE;
    reset(*end.link, end.side);
    return static_cast<long>(size);
}

// ---------------------------------------------------------------- events

std::uint8_t DescriptorTable::state_of_stream(const End& end) const {
    const Link& link = *end.link;
    if (!is_due(link)) return 0;
    if (link.failure != 0 || end.in().broken || end.out().broken) return kAllEvents;
    unsigned events = 0;
    if (end.reads) {
        if (!end.in().bytes.empty()) events |= kReadable;
        if (!end.in().writer_open) events |= kReadable | kHangUp;
    }
    if (end.writes) {
        if (end.out().bytes.size() < end.out().capacity) events |= kWritable;
        if (!end.out().reader_open) events |= link.is_pipe ? kWritable | kFailed : kWritable;
    }
    return static_cast<std::uint8_t>(events);
}

std::uint8_t DescriptorTable::state_of(const End& end) const {
    switch (end.stage) {
    case End::Stage::Closed: return 0;
    case End::Stage::Fresh: return kWritable | kHangUp;
    case End::Stage::Connecting:
    case End::Stage::Connected: return state_of_stream(end);
    case End::Stage::Listening: break;
    }
    auto due = [this](const Waiting& waiting) { return is_due(*waiting.link); };
    return std::ranges::any_of(end.backlog, due) ? kReadable : 0;
}

// Posts an event to the reactor that watches the end. One that is due later reports the state that
// the end will have then.
void DescriptorTable::notify(const End& end, std::int64_t due_ns) {
    if (!end.reactor || due_ns == kNeverNs) return;
    std::uint8_t events = state_of(end);
    if (due_ns > machine_.now_ns()) {
        events = kWritable;
        if (end.stage == End::Stage::Listening) events = kReadable;
        if (end.link && end.link->failure != 0) events = kAllEvents;
    }
    if (events != 0) end.reactor->post(end.registration, events, due_ns);
}

void DescriptorTable::notify(const Link& link, unsigned side) {
    for (const End& end : ends_) {
        if (end.link.get() == &link && end.side == side) notify(end, link.due_ns);
    }
}

std::unique_ptr<Reactor> DescriptorTable::make_reactor() {
    return std::make_unique<SimReactor>(machine_, *this);
}

int DescriptorTable::watch(int fd, Ticket registration, SimReactor& reactor) {
    End* end = find(fd);
    if (!end) return EBADF;
    end->reactor = &reactor;
    end->registration = registration;
    // As in a kernel, the state at the time of the registration gives an event.
    notify(*end, end->link ? end->link->due_ns : 0);
    for (const Waiting& waiting : end->backlog) {
        if (!is_due(*waiting.link)) notify(*end, waiting.link->due_ns);
    }
    return 0;
}

void DescriptorTable::unwatch(int fd, Ticket registration) {
    End* end = find(fd);
    if (end && end->registration == registration) end->reactor = nullptr;
}

}  // namespace weft::sim
