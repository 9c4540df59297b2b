#include "weft/sim/internal/reactor.h"

#include <algorithm>
#include <utility>

#include "weft/sim/internal/descriptors.h"
#include "weft/sim/internal/machine.h"

namespace weft::sim {

Result<void> SimReactor::add(int fd, Ticket registration) {
    machine_.step();
    int error = descriptors_.watch(fd, registration, *this);
    if (error != 0) return Error::from_errno(error);
    return {};
}

void SimReactor::remove(int fd, Ticket registration) { descriptors_.unwatch(fd, registration); }

void SimReactor::post(Ticket registration, std::uint8_t events, std::int64_t due_ns) {
    std::int64_t delay = 0;
    if (machine_.injects(FaultKind::Delay, 3))
        delay = static_cast<std::int64_t>(machine_.fault_random().below(3'000'000));
    std::int64_t due = std::max(due_ns, machine_.now_ns());
    pending_.push_back({{registration, events}, due + delay});
    if (machine_.injects(FaultKind::SpuriousReadiness, 4))
        pending_.push_back({{registration, kReadable | kWritable}, machine_.now_ns()});
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
        machine_.block(this, until);
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
