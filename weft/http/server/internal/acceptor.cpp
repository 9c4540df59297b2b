#include "weft/http/server/internal/acceptor.h"

#include <new>
#include <optional>
#include <utility>

#include "weft/fiber/schedule/placement.h"
#include "weft/http/server/internal/connection.h"
#include "weft/http/server/internal/core.h"

namespace weft::http {
namespace {

constexpr unsigned kAcceptsAtOnceMax = 64;
constexpr unsigned kBacklogMax = 4096;

}  // namespace

Acceptor::Acceptor(ServerShard& shard, net::Listener listener,
                   std::shared_ptr<net::tls::ServerContext> tls)
    : Dormant{wake}, shard_(shard), listener_(std::move(listener)), tls_(std::move(tls)) {
    turn_.acceptor = this;
    turn_.run = [](Completion& turn) { static_cast<Turn&>(turn).acceptor->accept(); };
}

Result<void> Acceptor::begin() {
    WEFT_TRY(shard_.core().accepting().enter());
    has_begun_ = true;
    // From here, not by a record for that worker: one that is stuck in a fiber would never begin,
    // while the kernel gives its listener a share of all connections. What comes is then seen by
    // whoever looks after the worker.
    if (Result<void> watched = listener_.descriptor().watch_by(shard_.worker(), kReadable);
        !watched) {
        end();
        return watched;
    }
    wait_for_connections();
    return {};
}

void Acceptor::wake(Dormant& dormant, std::uint8_t) { static_cast<Acceptor&>(dormant).accept(); }

void Acceptor::accept() {
    switch (accept_some()) {
    case Backlog::More: return post_turn();
    case Backlog::Failed:
        shard_.tally.accept_pauses.add();
        back_off_until_ = Clock::now() + kBackOff;
        // Release: publishes the time. From here on serve() may call resume().
        is_backing_off_.store(true, std::memory_order_release);
        return shard_.core().wake_serve();
    case Backlog::Empty: return wait_for_connections();
    }
}

void Acceptor::wait_for_connections() {
    // seq_cst: see stop().
    if (stopping_.load(std::memory_order_seq_cst)) return end();
    Result<bool> armed = false;
    bool stopped = false;
    {
        // Once it sleeps, another worker may wake it or end it: the lock is the last touch.
        SpinGuard guard(lock_);
        armed = listener_.descriptor().arm(*this, kReadable);
        stopped = armed && *armed && stopping_.load(std::memory_order_seq_cst) &&
                  listener_.descriptor().disarm(*this);
    }
    if (!armed) return end();
    if (!*armed) return post_turn();
    if (stopped) end_with_backlog();
}

void Acceptor::stop() {
    // Who knocks at one that never began must not wait for ever.
    if (!has_begun_) return listener_.close();
    // seq_cst: either it is found asleep below, or it finds this after it has gone to sleep.
    stopping_.store(true, std::memory_order_seq_cst);
    if (is_backing_off()) return resume();
    if (listener_.descriptor().disarm(*this)) end_with_backlog();
}

// All of it: who is in there has been told by the kernel that he is connected. At most as many as a
// backlog can hold, or those who keep coming would keep the server from its end.
void Acceptor::end_with_backlog() {
    for (unsigned count = 0; count < kBacklogMax; count += kAcceptsAtOnceMax) {
        if (accept_some() != Backlog::More) break;
    }
    end();
}

void Acceptor::resume() {
    // Relaxed: only the caller looks at it, until the next rest.
    is_backing_off_.store(false, std::memory_order_relaxed);
    post_turn();
}

// Not at once: the worker has others to look after. Any will do that is not stuck, so this one.
void Acceptor::post_turn() {
    std::optional<unsigned> here = worker_here();
    if (!here || !post_here(*here, turn_)) end();
}

Acceptor::Backlog Acceptor::accept_some() {
    bool in_vain = false;  // somebody was closed, and that did not help
    for (unsigned count = 0; count < kAcceptsAtOnceMax; ++count) {
        auto accepted = listener_.try_accept();
        if (!accepted) {
            ErrorKind kind = accepted.error().kind();
            bool later = kind == ErrorKind::OutOfFds || kind == ErrorKind::OutOfMemory;
            if (later && !std::exchange(in_vain, true) && shard_.core().evict()) continue;
            // Relaxed: whoever rests in vain is woken once more.
            bool stops = stopping_.load(std::memory_order_relaxed);
            return later && !stops ? Backlog::Failed : Backlog::Empty;
        }
        if (!*accepted) return Backlog::Empty;
        in_vain = false;
        // Not by make_unique: in a worker's loop nobody would catch what that throws.
        // tidy: allow new: owned at once
        std::unique_ptr<net::Socket> stream(new (std::nothrow) net::Socket(std::move(**accepted)));
        if (!stream) {
            shard_.tally.refused.add();
            continue;
        }
        net::Address peer = stream->peer_address();
        if (!shard_.core().admit(peer)) {
            shard_.tally.refused.add();
            continue;
        }
        ServerShard& home = shard_.core().choose_shard(shard_);
        home.tally.accepted.add();
        // Without memory to hand it over it stays with the worker that runs this.
        // What is for the loop of a worker is watched by that one, also if another has accepted it.
        bool is_for_loop = shard_.core().options().loop_handler && !home.is_home();
        if (&home != &shard_ || is_for_loop)
            static_cast<void>(stream->descriptor().watch_by(home.worker(), kReadable));
        Connection::begin(home, std::move(stream), std::move(peer), tls_);
    }
    return Backlog::More;
}

void Acceptor::end() {
    // Whoever has put it to sleep has left.
    { SpinGuard guard(lock_); }
    listener_.close();
    shard_.core().accepting().leave();
}

}  // namespace weft::http
