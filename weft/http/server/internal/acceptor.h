// Acceptor: a listener of a server on one worker.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/completion.h"
#include "weft/fiber/io.h"
#include "weft/net/socket.h"

namespace weft::net::tls {
class ServerContext;
}

namespace weft::http {

class ServerShard;

// Accepts in the worker's loop, without a fiber, until there is nobody left in the backlog; then it
// sleeps. It is inside its gate of the core until its listener is closed.
class Acceptor : public Dormant {
public:
    // Without descriptors or memory; then accepting is tried again.
    static constexpr Nanoseconds kBackOff = std::chrono::milliseconds(50);

    Acceptor(ServerShard& shard, net::Listener listener,
             std::shared_ptr<net::tls::ServerContext> tls);

    Result<void> begin();
    // Takes who is in the backlog, and ends; in its own time if it is at work.
    void stop();
    // It ran out of descriptors or memory; call resume() a little later.
    bool is_backing_off() const { return is_backing_off_.load(std::memory_order_acquire); }
    bool back_off_has_passed(Instant now) const { return back_off_until_ <= now; }
    void resume();

private:
    struct Turn : Completion {
        Acceptor* acceptor = nullptr;
    };
    enum class Backlog : std::uint8_t { Empty, More, Failed };

    static void wake(Dormant& dormant, std::uint8_t events);
    void accept();  // on the shard's worker, or on one that looks after it
    void wait_for_connections();
    Backlog accept_some();
    void end_with_backlog();
    void end();
    void post_turn();

    ServerShard& shard_;
    net::Listener listener_;
    const std::shared_ptr<net::tls::ServerContext> tls_;  // with whoever reloads it
    Turn turn_;
    SpinLock lock_;           // held while it goes to sleep
    bool has_begun_ = false;  // for the one that begins and stops it
    Atomic<bool> stopping_{false};
    Atomic<bool> is_backing_off_{false};
    Instant back_off_until_{};
};

}  // namespace weft::http
