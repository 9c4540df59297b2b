#include "weft/sim/pipes.h"

#include <algorithm>
#include <cerrno>

#include "weft/sim/machine.h"

namespace weft::sim {

PipeTable::End* PipeTable::find(int fd) {
    auto index = static_cast<std::size_t>(fd - kFirstFd);
    return fd >= kFirstFd && index < ends_.size() && ends_[index].open ? &ends_[index] : nullptr;
}

int PipeTable::add(std::shared_ptr<Pipe> pipe, bool reads) {
    auto free = std::ranges::find(ends_, false, &End::open);
    if (free == ends_.end()) free = ends_.insert(ends_.end(), End{});
    *free = End{std::move(pipe), reads, true, nullptr, {}};
    return kFirstFd + static_cast<int>(free - ends_.begin());
}

int PipeTable::open(int (&ends)[2]) {
    auto pipe = std::make_shared<Pipe>();
    Random& random = machine_.fault_random();
    pipe->capacity = random.once_in(2) ? 1 + random.below(16) : 4096;
    ends[0] = add(pipe, true);
    ends[1] = add(pipe, false);
    return 0;
}

int PipeTable::close(int fd) {
    End* end = find(fd);
    if (!end) return -EBADF;
    std::shared_ptr<Pipe> pipe = std::move(end->pipe);
    bool reads = end->reads;
    *end = End{};
    (reads ? pipe->reader_open : pipe->writer_open) = false;
    tell(*pipe, !reads);
    return 0;
}

// A storm of refusals although the pipe is ready; it ends with a new edge.
bool PipeTable::refuses(End& end) {
    Random& random = machine_.fault_random();
    if (!machine_.faults().would_block || !end.reactor) return false;
    if (end.pipe->refusals == 0 && random.once_in(8))
        end.pipe->refusals = 1 + static_cast<unsigned>(random.below(5));
    if (end.pipe->refusals == 0) return false;
    --end.pipe->refusals;
    ++machine_.injected().would_block;
    end.reactor->post(end.registration, state_of(end));
    return true;
}

// The pipe is reset: what is in it is lost, and both ends are told.
bool PipeTable::breaks(Pipe& pipe) {
    if (!machine_.faults().resets || pipe.broken) return pipe.broken;
    if (!machine_.fault_random().once_in(16)) return false;
    ++machine_.injected().resets;
    pipe.broken = true;
    pipe.bytes.clear();
    tell(pipe, true);
    tell(pipe, false);
    return true;
}

// How much of `count` bytes is really transferred.
std::size_t PipeTable::shortened(std::size_t count) {
    Random& random = machine_.fault_random();
    if (!machine_.faults().short_transfers || !random.once_in(2)) return count;
    std::size_t part = 1 + random.below(count);
    if (part != count) ++machine_.injected().short_transfers;
    return part;
}

long PipeTable::read(int fd, void* buffer, std::size_t size) {
    End* end = find(fd);
    if (!end || !end->reads) return -EBADF;
    Pipe& pipe = *end->pipe;
    if (size == 0) return 0;
    if (breaks(pipe)) return -ECONNRESET;
    if (pipe.bytes.empty()) return pipe.writer_open ? -EAGAIN : 0;
    if (refuses(*end)) return -EAGAIN;
    std::size_t wanted = std::min(size, pipe.bytes.size());
    std::size_t count = shortened(wanted);
    std::copy_n(pipe.bytes.begin(), count, static_cast<std::byte*>(buffer));
    pipe.bytes.erase(pipe.bytes.begin(), pipe.bytes.begin() + static_cast<std::ptrdiff_t>(count));
    tell(pipe, false);
    // A short read tells the reader that the pipe is empty; what is left makes a new edge.
    if (count < wanted) tell(pipe, true);
    return static_cast<long>(count);
}

long PipeTable::write(int fd, const void* buffer, std::size_t size) {
    End* end = find(fd);
    if (!end || end->reads) return -EBADF;
    Pipe& pipe = *end->pipe;
    if (!pipe.reader_open || breaks(pipe)) return -EPIPE;
    if (size == 0) return 0;
    std::size_t room = pipe.capacity - pipe.bytes.size();
    if (room == 0 || refuses(*end)) return -EAGAIN;
    std::size_t wanted = std::min(size, room);
    std::size_t count = shortened(wanted);
    const auto* bytes = static_cast<const std::byte*>(buffer);
    pipe.bytes.insert(pipe.bytes.end(), bytes, bytes + count);
    tell(pipe, true);
    if (count < wanted) tell(pipe, false);
    return static_cast<long>(count);
}

std::uint8_t PipeTable::state_of(const End& end) const {
    const Pipe& pipe = *end.pipe;
    unsigned events = 0;
    if (pipe.broken) {
        events = kReadable | kWritable | kHangUp | kFailed;
    } else if (end.reads) {
        if (!pipe.bytes.empty()) events |= kReadable;
        if (!pipe.writer_open) events |= kReadable | kHangUp;
    } else {
        if (pipe.bytes.size() < pipe.capacity) events |= kWritable;
        if (!pipe.reader_open) events |= kWritable | kFailed;
    }
    return static_cast<std::uint8_t>(events);
}

// An edge for the watched ends of one side.
void PipeTable::tell(const Pipe& pipe, bool readers) {
    for (const End& end : ends_) {
        if (end.open && end.pipe.get() == &pipe && end.reads == readers && end.reactor)
            end.reactor->post(end.registration, state_of(end));
    }
}

std::unique_ptr<Reactor> PipeTable::make_reactor() {
    return std::make_unique<SimReactor>(machine_, *this);
}

int PipeTable::watch(int fd, Ticket registration, SimReactor& reactor) {
    End* end = find(fd);
    if (!end) return EBADF;
    end->reactor = &reactor;
    end->registration = registration;
    // As a kernel does: the state at the time of the registration is an event.
    if (std::uint8_t events = state_of(*end)) reactor.post(registration, events);
    return 0;
}

void PipeTable::unwatch(int fd, Ticket registration) {
    End* end = find(fd);
    if (end && end->registration == registration) end->reactor = nullptr;
}

// ---------------------------------------------------------------- the reactor

Result<void> SimReactor::add(int fd, Ticket registration) {
    machine_.step();
    int error = pipes_.watch(fd, registration, *this);
    if (error != 0) return Error::from_errno(error);
    return {};
}

void SimReactor::remove(int fd, Ticket registration) { pipes_.unwatch(fd, registration); }

void SimReactor::post(Ticket registration, std::uint8_t events) {
    Random& random = machine_.fault_random();
    std::int64_t delay = 0;
    if (machine_.faults().delays && random.once_in(3)) {
        ++machine_.injected().delays;
        delay = static_cast<std::int64_t>(random.below(3'000'000));
    }
    pending_.push_back({{registration, events}, machine_.now_ns() + delay});
    if (machine_.faults().spurious_readiness && random.once_in(4)) {
        ++machine_.injected().spurious_readiness;
        pending_.push_back({{registration, kReadable | kWritable}, machine_.now_ns()});
    }
    machine_.wake(this);
}

std::size_t SimReactor::take_due(std::span<IoEvent> events) {
    std::size_t count = 0;
    for (auto it = pending_.begin(); it != pending_.end() && count < events.size();) {
        if (it->due_ns > machine_.now_ns()) {
            ++it;
            continue;
        }
        events[count++] = it->event;
        it = pending_.erase(it);
    }
    return count;
}

std::size_t SimReactor::poll(std::span<IoEvent> events, std::int64_t deadline_ns) {
    machine_.step();
    for (;;) {
        if (std::exchange(woken_, false)) return take_due(events);
        std::size_t count = take_due(events);
        if (count != 0 || deadline_ns <= machine_.now_ns()) return count;
        std::int64_t until = deadline_ns;
        for (const Pending& pending : pending_) until = std::min(until, pending.due_ns);
        machine_.sleep(this, until);
    }
}

std::size_t SimReactor::poll_for_owner(std::span<IoEvent> events) {
    machine_.step();
    return take_due(events);
}

void SimReactor::wake() {
    woken_ = true;
    machine_.wake(this);
    machine_.step();
}

}  // namespace weft::sim
