// Simulated descriptors: pipes and stream sockets of an edge-triggered kernel in memory.
//
// Descriptors are numbers from kFirstFd on, and the lowest free one is given first, as in a kernel:
// so a closed number is soon used again, perhaps with events for its former owner still pending.
// Addresses are the bytes that the kernel would take; the machine is one host, so that of an IP
// address only the port counts. A connection takes some time to be established; when the backlog is
// full the next ones wait. Owning thread only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/env.h"
#include "weft/base/env_sockets.h"
#include "weft/base/ticket.h"
#include "weft/fiber/io/reactor.h"

namespace weft::sim {

class Machine;
class SimReactor;

class DescriptorTable final : public EnvSockets {
public:
    static constexpr int kFirstFd = 1 << 20;

    explicit DescriptorTable(Machine& machine) : machine_(machine) {}

    int pipe(int (&ends)[2]);
    int close(int fd);
    long read(int fd, void* buffer, std::size_t size);
    long write(int fd, const void* buffer, std::size_t size);

    int socket(int family, int type) override;
    int socket_pair(int (&ends)[2]) override;
    int bind(int fd, const void* address, std::size_t bytes) override;
    int listen(int fd, int backlog) override;
    int accept(int fd) override;
    int connect(int fd, const void* address, std::size_t bytes) override;
    int shutdown(int fd, int how) override;
    int local_name(int fd, void* space, std::size_t bytes) override;
    int peer_name(int fd, void* space, std::size_t bytes) override;
    int set_option(int fd, int level, int name, const void* value, std::size_t bytes) override;
    long send_parts(int fd, std::span<const iovec> parts) override;
    long receive_parts(int fd, std::span<const iovec> parts) override;

    std::unique_ptr<Reactor> make_reactor();
    int watch(int fd, Ticket registration, SimReactor& reactor);
    void unwatch(int fd, Ticket registration);

private:
    // One direction.
    struct Flow {
        std::deque<std::byte> bytes;
        std::size_t capacity = 0;
        bool reader_open = true;
        bool writer_open = true;
        bool broken = false;  // reset: both ends fail from now on
    };
    // Two ends: side 0 writes flows[0] and reads flows[1]. A pipe uses flows[0] only. Side 0 of a
    // connection is the one that called connect().
    struct Link {
        std::array<Flow, 2> flows;
        std::array<int, 2> errors{};  // the error that each side gets once
        std::int64_t due_ns = 0;      // established then; kNeverNs: when the backlog has room
        int failure = 0;              // not 0: connect() fails with it at due_ns
        bool abandoned = false;       // the connecting side closed before due_ns
        bool is_pipe = false;
    };
    struct Waiting {
        std::shared_ptr<Link> link;
        std::string local;
        std::string peer;
    };
    struct End {
        enum class Stage : std::uint8_t { Closed, Fresh, Listening, Connecting, Connected };

        Stage stage = Stage::Closed;
        bool reads = true;
        bool writes = true;
        std::uint8_t side = 0;
        std::shared_ptr<Link> link;  // owned by its two ends, or an end and a backlog
        std::deque<Waiting> backlog;
        std::size_t backlog_max = 0;
        std::string local;
        std::string peer;
        bool resets_on_close = false;
        bool shares_port = false;
        unsigned would_block_left = 0;  // further EAGAINs to inject
        SimReactor* reactor = nullptr;
        Ticket registration;

        Flow& in() { return link->flows[1 - side]; }
        Flow& out() { return link->flows[side]; }
        const Flow& in() const { return link->flows[1 - side]; }
        const Flow& out() const { return link->flows[side]; }
    };

    End* find(int fd);
    int add(End end);
    End connected(std::shared_ptr<Link> link, std::uint8_t side);
    std::shared_ptr<Link> make_link();
    std::uint8_t state_of(const End& end) const;
    std::uint8_t state_of_stream(const End& end) const;
    void notify(const Link& link, unsigned side);
    void notify(const End& end, std::int64_t due_ns = 0);
    bool injects_would_block(End& end);
    bool breaks(End& end);
    void reset(Link& link, unsigned told);
    std::size_t shortened(std::size_t count);
    void close_stream(End& end);
    void close_listener(End& end);
    long write_to_closed_reader(End& end, std::size_t size);
    int connection_error(const End& end) const;

    bool out_of_descriptors();
    bool is_due(const Link& link) const;
    std::int64_t some_time_from_now();
    std::string name_with_a_port(std::string name);
    bool is_taken(const std::string& name, bool shares) const;
    End* listener_at(const std::string& name);
    int begin_connect(End& end, std::string name);
    int finish_connect(End& end);
    void fail_connect(End& end, int error, std::int64_t due_ns);
    void admit_the_next(End& listener);

    Machine& machine_;
    std::vector<End> ends_;
    std::uint16_t next_port_ = 49'152;
};

}  // namespace weft::sim
