// The reactor of a simulated machine: events of simulated descriptors, some of them late, repeated
// or spurious. Owning thread only.
#pragma once

#include <cstdint>
#include <deque>

#include "weft/fiber/io/reactor.h"

namespace weft::sim {

class DescriptorTable;
class Machine;

class SimReactor final : public Reactor {
public:
    SimReactor(Machine& machine, DescriptorTable& descriptors)
        : machine_(machine), descriptors_(descriptors) {}

    const char* name() const override { return "simulated"; }
    Result<void> add(int fd, Ticket registration) override;
    void remove(int fd, Ticket registration) override;
    std::size_t poll(std::span<IoEvent> events, std::int64_t deadline_ns) override;
    std::size_t poll_for_owner(std::span<IoEvent> events) override;
    void wake() override;

    // Adds an event that is due at `due_ns`, or now if that is past; fault injection delays some.
    void post(Ticket registration, std::uint8_t events, std::int64_t due_ns = 0);

private:
    struct Pending {
        IoEvent event;
        std::int64_t due_ns;
    };
    std::size_t take_due(std::span<IoEvent> events);

    Machine& machine_;
    DescriptorTable& descriptors_;
    std::deque<Pending> pending_;
    bool woken_ = false;
};

}  // namespace weft::sim
