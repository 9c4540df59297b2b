// Simulated pipes and the reactors that watch them: an edge-triggered kernel in memory.
//
// Descriptors are numbers from kFirstFd on, the lowest free one first, as in a kernel: so a closed
// number comes back soon, with events of its former owner perhaps still under way.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "weft/fiber/reactor.h"

namespace weft::sim {

class Machine;
class SimReactor;

class PipeTable {
public:
    static constexpr int kFirstFd = 1 << 20;

    explicit PipeTable(Machine& machine) : machine_(machine) {}

    int open(int (&ends)[2]);
    int close(int fd);
    long read(int fd, void* buffer, std::size_t size);
    long write(int fd, const void* buffer, std::size_t size);

    std::unique_ptr<Reactor> make_reactor();
    int watch(int fd, Ticket registration, SimReactor& reactor);
    void unwatch(int fd, Ticket registration);

private:
    struct Pipe {
        std::deque<std::byte> bytes;
        std::size_t capacity = 0;
        bool reader_open = true;
        bool writer_open = true;
        unsigned refusals = 0;  // of an EAGAIN storm under way
        bool broken = false;    // reset: both ends fail from now on
    };
    struct End {
        std::shared_ptr<Pipe> pipe;  // owned by its two ends
        bool reads = false;
        bool open = false;
        SimReactor* reactor = nullptr;
        Ticket registration;
    };

    End* find(int fd);
    int add(std::shared_ptr<Pipe> pipe, bool reads);
    std::uint8_t state_of(const End& end) const;
    void tell(const Pipe& pipe, bool readers);
    bool refuses(End& end);
    bool breaks(Pipe& pipe);
    std::size_t shortened(std::size_t count);

    Machine& machine_;
    std::vector<End> ends_;
};

class SimReactor final : public Reactor {
public:
    SimReactor(Machine& machine, PipeTable& pipes) : machine_(machine), pipes_(pipes) {}

    const char* name() const override { return "simulated"; }
    Result<void> add(int fd, Ticket registration) override;
    void remove(int fd, Ticket registration) override;
    std::size_t poll(std::span<IoEvent> events, std::int64_t deadline_ns) override;
    std::size_t poll_for_owner(std::span<IoEvent> events) override;
    void wake() override;

    void post(Ticket registration, std::uint8_t events);

private:
    struct Pending {
        IoEvent event;
        std::int64_t due_ns;
    };
    std::size_t take_due(std::span<IoEvent> events);

    Machine& machine_;
    PipeTable& pipes_;
    std::deque<Pending> pending_;
    bool woken_ = false;
};

}  // namespace weft::sim
