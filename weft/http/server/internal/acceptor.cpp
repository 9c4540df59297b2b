#include "weft/http/server/internal/acceptor.h"

#include <new>
#include <optional>
#include <utility>

#include "weft/base/assert.h"
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
    // Registered from here and not by a job for that worker: a worker that is stuck in a fiber
    // would never begin, while the kernel gives its listener a share of all connections. What comes
    // is then seen by the worker that polls for the stuck one.
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
        // Once the descriptor is armed, another worker may call or end this: the lock is the last
        // touch.
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
    // Clients in the backlog of an acceptor that never began must not wait for ever.
    if (!has_begun_) return listener_.close();
    // seq_cst: either it is found armed below, or it finds this after it has armed the descriptor.
    stopping_.store(true, std::memory_order_seq_cst);
    if (is_backing_off()) return resume();
    if (listener_.descriptor().disarm(*this)) end_with_backlog();
}

// Accepts the whole backlog, because the kernel has told those clients that they are connected; but
// at most as many as a backlog can hold, or new clients would keep the server from its end.
void Acceptor::end_with_backlog() {
    for (unsigned count = 0; count < kBacklogMax; count += kAcceptsAtOnceMax) {
        if (accept_some() != Backlog::More) break;
    }
    end();
}

void Acceptor::resume() {
    WEFT_ASSERT(is_backing_off(), "nothing else runs while it backs off");
    // Relaxed: only the caller reads it until the next back-off.
    is_backing_off_.store(false, std::memory_order_relaxed);
    post_turn();
}

// Accepts again later, because the worker has other things to run. Any worker will do that is not
// stuck, so the one that runs this.
void Acceptor::post_turn() {
    std::optional<unsigned> here = worker_here();
    if (!here || !post_here(*here, turn_)) end();
}

Acceptor::Backlog Acceptor::accept_some() {
    bool in_vain = false;  // an idle connection was closed, and that did not help
    for (unsigned count = 0; count < kAcceptsAtOnceMax; ++count) {
        auto accepted = listener_.try_accept();
        if (!accepted) {
            ErrorKind kind = accepted.error().kind();
            bool later = kind == ErrorKind::OutOfFds || kind == ErrorKind::OutOfMemory;
            if (later && !std::exchange(in_vain, true) && shard_.core().evict()) continue;
            // Relaxed: one that backs off although it is to stop is resumed by stop().
            bool stops = stopping_.load(std::memory_order_relaxed);
            return later && !stops ? Backlog::Failed : Backlog::Empty;
        }
        if (!*accepted) return Backlog::Empty;
        in_vain = false;
        // Not by make_unique(), whose exception nobody would catch in a worker's loop.
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
        // Another worker is to poll this descriptor if the connection lives there, or is for the
        // loop there. Without memory for that, the worker that runs this polls it.
        bool is_for_loop = shard_.core().options().loop_handler && !home.is_home();
        if (&home != &shard_ || is_for_loop)
            static_cast<void>(stream->descriptor().watch_by(home.worker(), kReadable));
        Connection::begin(home, std::move(stream), std::move(peer), tls_);
    }
    return Backlog::More;
}

void Acceptor::end() {
    // Taking the lock once guarantees that wait_for_connections() on another worker, which has
    // armed the descriptor, does not touch this any more.
    { SpinGuard guard(lock_); }
    listener_.close();
    shard_.core().accepting().leave();
}

}  // namespace weft::http
