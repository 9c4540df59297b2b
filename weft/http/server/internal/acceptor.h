// Acceptor: accepts connections from a listener of a server on one worker.
//
// It runs in the loop of that worker, without a fiber: it accepts until the backlog is empty, then
// waits for its descriptor. Without descriptors or memory it backs off, until serve() resumes it.
// It is inside ServerCore::accepting() from begin() until its listener is closed.
//
// begin(), stop() and resume(): the fiber of serve(). Everything else: the shard's worker, or one
// that polls for it while it is stuck, one at a time.
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

class Acceptor : public Dormant {
public:
    // After which accepting is tried again.
    static constexpr Nanoseconds kBackOff = std::chrono::milliseconds(50);

    Acceptor(ServerShard& shard, net::Listener listener,
             std::shared_ptr<net::tls::ServerContext> tls);

    Result<void> begin();
    // Accepts what is in the backlog, and ends. Where it is accepting at the moment it does so
    // later by itself.
    void stop();
    // It ran out of descriptors or memory: call resume() when the back-off has passed.
    bool is_backing_off() const { return is_backing_off_.load(std::memory_order_acquire); }
    bool back_off_has_passed(Instant now) const { return back_off_until_ <= now; }
    void resume();

private:
    struct Turn : Completion {
        Acceptor* acceptor = nullptr;
    };
    enum class Backlog : std::uint8_t { Empty, More, Failed };

    static void wake(Dormant& dormant, std::uint8_t events);
    void accept();
    void wait_for_connections();
    Backlog accept_some();
    void end_with_backlog();
    void end();
    void post_turn();

    ServerShard& shard_;
    net::Listener listener_;
    const std::shared_ptr<net::tls::ServerContext> tls_;  // shared with whoever reloads it
    Turn turn_;
    SpinLock lock_;           // held while the descriptor is armed
    bool has_begun_ = false;  // of serve()
    Atomic<bool> stopping_{false};
    Atomic<bool> is_backing_off_{false};
    Instant back_off_until_{};
};

}  // namespace weft::http
