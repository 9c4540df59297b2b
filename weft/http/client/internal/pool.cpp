#include "weft/http/client/internal/pool.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "weft/async/context.h"
#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/base/planted.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/schedule/placement.h"
#include "weft/http/client/internal/connect.h"
#include "weft/http/client/internal/phase.h"
#include "weft/net/resolver.h"
#include "weft/net/tls/tls_config.h"

namespace weft::http {
namespace {

// When there are more origins than this, those without connections are removed.
constexpr std::size_t kOriginsKept = 256;
// A connection that became idle so recently is not tested: its server had no reason to close it.
constexpr Nanoseconds kTrustedIdleTime = std::chrono::milliseconds(1);
// Subtracted from the server's keep-alive time, which began to run when the server sent its
// response, earlier than ours.
constexpr std::chrono::seconds kKeepAliveMargin{1};
// The sweeping fiber runs at most this often.
constexpr Nanoseconds kSweepPause = std::chrono::milliseconds(100);

// The time that a server announces by "Keep-Alive: timeout=5".
std::optional<std::chrono::seconds> keep_alive_timeout(const Headers& headers) {
    auto field = headers.get("keep-alive");
    if (!field) return std::nullopt;
    constexpr std::string_view kName = "timeout=";
    std::size_t at = field->find(kName);
    if (at == std::string_view::npos) return std::nullopt;
    std::uint32_t seconds = 0;
    const char* begin = field->data() + at + kName.size();
    auto read = std::from_chars(begin, field->data() + field->size(), seconds);
    if (read.ec != std::errc()) return std::nullopt;
    return std::chrono::seconds(seconds);
}

// Whether no byte of a response has come through an idle connection. Reading is the only way to
// know with TLS: its own records, such as session tickets, make the socket readable too.
bool has_no_input(ClientConnection& connection) {
    WEFT_DASSERT(connection.buffer.empty(), "an idle connection holds no bytes");
    ByteSpace space = connection.buffer.space();
    if (space.empty()) return false;
    auto count = connection.stream().try_read(space);
    return count && !*count;
}

void destroy(ClientConnection* connection) {
    WEFT_ASSERT(connection->state != ClientConnection::State::Idle, "an idle one is in its list");
    connection->stream().close();
    delete connection;  // tidy: allow delete: made by Origin::connect
}

}  // namespace

// ---------------------------------------------------------------- leases

void EndLease::operator()(ClientConnection* connection) const {
    std::shared_ptr<Origin> origin = connection->origin;
    origin->end_lease(connection);
}

void Origin::end_lease(ClientConnection* connection) {
    WEFT_ASSERT(connection->state == ClientConnection::State::Leased, "there is no lease to end");
    // After ClientResponse::take_stream() the stream belongs to the caller.
    if (connection->has_stream()) connection->stream().close();
    bool had_permit = connection->has_permit;
    delete connection;  // tidy: allow delete: made by connect()
    if (had_permit) release_permit();
}

void Origin::release_permit() {
    WEFT_DASSERT(permits_.available() < pool_->options().limits.connections_per_origin,
                 "only a permit that was acquired is released");
    permits_.release();
}

Origin::Origin(std::shared_ptr<ClientPool> pool, const OriginName& name)
    : pool_(std::move(pool)),
      host_(name.host),
      port_(name.port),
      is_secure_(name.is_secure),
      route_(name.route),
      permits_(pool_->options().limits.connections_per_origin) {}

Origin::~Origin() { WEFT_ASSERT(idle_count_ == 0, "an idle connection shares its origin"); }

std::string Origin::to_string() const {
    if (host_.starts_with(kUnixPrefix)) return host_;
    bool is_ipv6 = host_.find(':') != std::string::npos;
    return is_ipv6 ? format("[{}]:{}", host_, port_) : format("{}:{}", host_, port_);
}

Result<void> Origin::wait_for_permit(const AcquireOptions& options) {
    if (permits_.try_acquire()) return {};
    // Relaxed, twice: it only bounds the queue; no other memory is read through it.
    bool room = waiting_.fetch_add(1, std::memory_order_relaxed) <
                pool_->options().limits.waiting_per_origin;
    Result<void> got;
    if (!room) {
        got = Error::limit("more requests wait for a connection than",
                           pool_->options().limits.waiting_per_origin,
                           "ClientLimits::waiting_per_origin");
    } else {
        Deadline deadline = earlier(options.total, Deadline::after(options.timeouts.queue));
        got = permits_.acquire_until(deadline);
    }
    [[maybe_unused]] std::size_t waited = waiting_.fetch_sub(1, std::memory_order_relaxed);
    WEFT_DASSERT(waited > 0, "this request was counted");
    if (got) return {};
    std::string doing = "wait for a free connection to " + to_string();
    return in_phase(got.error(), {doing, options.timeouts.queue, "ClientTimeouts::queue"},
                    {options.total, options.timeouts.total});
}

Result<Lease> Origin::acquire(const AcquireOptions& options) {
    if (!options.admitted) WEFT_TRY(wait_for_permit(options));
    if (!options.fresh) {
        if (Lease lease = take_idle(options.test_idle)) {
            lease->has_permit = !options.admitted;
            pool_->tally.reused.add();
            return lease;
        }
    }
    Result<Lease> lease = connect(options);
    bool leaves = !lease && !options.admitted && !WEFT_PLANTED("client.keeps_the_place");
    if (leaves) release_permit();
    return lease;
}

Result<Lease> Origin::connect(const AcquireOptions& options) {
    std::unique_ptr<net::Stream> stream =
        WEFT_TRY(open_connection(*this, options.timeouts, options.total));
    const ClientLimits& limits = pool_->options().limits;
    // tidy: allow new: destroyed by whoever finds it without a user, see EndLease and on_event
    Lease lease(new ClientConnection(shared_from_this(), std::move(stream), limits.head,
                                     Deadline::after(limits.connection_age)));
    lease->has_permit = !options.admitted;
    pool_->tally.connected.add();
    return lease;
}

ClientConnection* Origin::pop_idle() {
    std::size_t here = worker_here().value_or(0) % kShards;
    SpinGuard guard(lock_);
    for (std::size_t step = 0; step < kShards && idle_count_ > 0; ++step) {
        Idle& list = idle_[(here + step) % kShards];
        while (ClientConnection* connection = list.front()) {
            remove_idle(*connection);
            connection->state = ClientConnection::State::Leased;
            // Disarm under the lock. If on_event() is running for it already, that waits for the
            // lock, then finds the connection no longer Idle, and closes it; take another one.
            if (WEFT_PLANTED("client.takes_without_the_lock")) return connection;
            if (connection->stream().descriptor().disarm(*connection)) return connection;
        }
    }
    return nullptr;
}

void Origin::remove_idle(ClientConnection& connection) {
    WEFT_DASSERT(lock_.is_locked());
    WEFT_ASSERT(connection.state == ClientConnection::State::Idle, "only idle ones are listed");
    WEFT_ASSERT(idle_count_ > 0, "every idle connection is counted");
    WEFT_ASSERT(connection.shard < kShards);
    idle_[connection.shard].erase(connection);
    --idle_count_;
    pool_->remove_idle();
}

Lease Origin::take_idle(bool test_idle) {
    while (ClientConnection* connection = pop_idle()) {
        if (WEFT_PLANTED("client.takes_without_the_lock") &&
            !connection->stream().descriptor().disarm(*connection))
            continue;
        Instant now = Clock::now();
        bool usable = !connection->idle_until.expired(now) && !connection->ends_at.expired(now);
        bool unsure = test_idle || now - connection->idle_since > kTrustedIdleTime;
        if (usable && (!unsure || has_no_input(*connection))) {
            connection->is_reused = true;
            return Lease(connection);
        }
        if (usable) pool_->tally.dropped.add();
        destroy(connection);
    }
    return nullptr;
}

// ---------------------------------------------------------------- idle connections

void Origin::give_back(Lease lease) {
    ClientConnection& connection = *lease;
    if (!connection.is_clean() || connection.stream().has_buffered()) return;
    Instant now = Clock::now();
    if (connection.ends_at.expired(now)) return;
    // A reference of our own: another fiber may close the connection as soon as it is idle.
    std::shared_ptr<Origin> origin = connection.origin;
    bool had_permit = connection.has_permit;
    ClientPool& pool = *origin->pool_;
    Nanoseconds time = pool.options().limits.idle_time;
    if (auto said = keep_alive_timeout(connection.head().headers)) {
        if (*said <= kKeepAliveMargin) return;
        time = std::min<Nanoseconds>(time, *said - kKeepAliveMargin);
    }
    connection.idle_since = now;
    connection.idle_until = Deadline::after(time, now);
    connection.end_exchange();
    if (!pool.add_idle()) return;
    IdleOutcome outcome = origin->enter_idle_list(connection);
    // Ready: there may be bytes. If a read finds none, arming succeeds at the second attempt,
    // unless something came meanwhile.
    if (outcome == IdleOutcome::Ready && has_no_input(connection))
        outcome = origin->enter_idle_list(connection);
    if (outcome != IdleOutcome::Idle) return pool.remove_idle();
    static_cast<void>(lease.release());
    if (had_permit) origin->release_permit();
    pool.watch_idle();
}

// Arms the connection and puts it into its list under one lock: on_event() and close_idle(), which
// take the lock, must find it in the list.
Origin::IdleOutcome Origin::enter_idle_list(ClientConnection& connection) {
    WEFT_ASSERT(connection.state != ClientConnection::State::Idle, "it is in its list already");
    WEFT_ASSERT(connection.buffer.empty(), "an idle connection holds no bytes");
    unsigned shard = static_cast<unsigned>(worker_here().value_or(0) % kShards);
    SpinGuard guard(lock_);
    if (pool_->is_closed() || idle_count_ >= pool_->options().limits.idle_per_origin)
        return IdleOutcome::Refused;
    auto armed = connection.stream().descriptor().arm(connection, kReadable | kHangUp);
    if (!armed) return IdleOutcome::Refused;
    if (!*armed) return IdleOutcome::Ready;
    connection.state = ClientConnection::State::Idle;
    connection.shard = shard;
    idle_[shard].push_front(connection);
    ++idle_count_;
    return IdleOutcome::Idle;
}

void Origin::on_event(Dormant& dormant, std::uint8_t) {
    auto& connection = static_cast<ClientConnection&>(dormant);
    std::shared_ptr<Origin> origin = connection.origin;
    bool was_idle = false;
    {
        SpinGuard guard(origin->lock_);
        was_idle = connection.state == ClientConnection::State::Idle;
        if (was_idle) origin->remove_idle(connection);
        connection.state = ClientConnection::State::Closing;
    }
    if (was_idle && connection.stream().tls() && has_no_input(connection) &&
        origin->pool_->add_idle()) {
        if (origin->enter_idle_list(connection) == IdleOutcome::Idle) return;
        origin->pool_->remove_idle();
    }
    if (was_idle) origin->pool_->tally.dropped.add();
    destroy(&connection);
}

Deadline Origin::close_idle(Instant now, bool all) {
    Idle closing;
    Deadline next = Deadline::never();
    {
        SpinGuard guard(lock_);
        for (Idle& list : idle_) {
            for (ClientConnection* connection = list.front(); connection;) {
                ClientConnection* following = Idle::next(*connection);
                if (all || connection->idle_until.expired(now)) {
                    remove_idle(*connection);
                    connection->state = ClientConnection::State::Closing;
                    // If on_event() is running for it already, that closes it; see pop_idle().
                    if (connection->stream().descriptor().disarm(*connection))
                        closing.push_back(*connection);
                } else {
                    next = earlier(next, connection->idle_until);
                }
                connection = following;
            }
        }
    }
    while (ClientConnection* connection = closing.pop_front()) destroy(connection);
    return next;
}

bool Origin::is_unused() const {
    SpinGuard guard(lock_);
    return idle_count_ == 0;
}

// ---------------------------------------------------------------- the pool

ClientPool::ClientPool(ClientOptions options)
    : options_(std::move(options)),
      resolver_(options_.resolver ? options_.resolver : std::make_shared<net::Resolver>()),
      tls_(options_.tls) {}

ClientPool::~ClientPool() {
    // Relaxed: whoever dropped the last reference has seen all changes.
    WEFT_ASSERT(idle_.load(std::memory_order_relaxed) == 0, "an idle connection shares its pool");
}

Result<std::shared_ptr<net::tls::ClientContext>> ClientPool::tls() {
    {
        SpinGuard guard(lock_);
        if (tls_) return tls_;
    }
    // Made without the lock, because it reads files. If two fibers make one, the first is used.
    auto made = std::make_shared<net::tls::ClientContext>(
        WEFT_TRY(net::tls::ClientContext::create({.alpn = {"http/1.1"}})));
    SpinGuard guard(lock_);
    if (!tls_) tls_ = std::move(made);
    return tls_;
}

std::shared_ptr<Origin> ClientPool::origin(const OriginName& name) {
    std::vector<std::shared_ptr<Origin>> forgotten;  // destroyed without the lock
    SpinGuard guard(lock_);
    auto found = origins_.find(name);
    if (found != origins_.end()) return found->second;
    if (origins_.size() >= kOriginsKept) {
        for (auto it = origins_.begin(); it != origins_.end();) {
            // A reference besides the map's belongs to a lease, or to a fiber that acquires one.
            bool unused = it->second.use_count() == 1 && it->second->is_unused();
            if (unused) forgotten.push_back(std::move(it->second));
            it = unused ? origins_.erase(it) : std::next(it);
        }
    }
    auto made = std::make_shared<Origin>(shared_from_this(), name);
    Name key{std::string(name.host), name.port, name.is_secure, name.route};
    origins_.emplace(std::move(key), made);
    return made;
}

bool ClientPool::add_idle() {
    // Relaxed, here and below: it only bounds a number; no other memory is read through it.
    if (idle_.fetch_add(1, std::memory_order_relaxed) < options_.limits.idle) return true;
    idle_.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

void ClientPool::remove_idle() {
    std::size_t before = idle_.fetch_sub(1, std::memory_order_relaxed);
    WEFT_ASSERT(before > 0, "add_idle() has counted it");
}

ClientCounters ClientPool::counters() const {
    // Relaxed: statistics only.
    std::size_t idle = idle_.load(std::memory_order_relaxed);
    return {.connected = tally.connected.value(),
            .reused = tally.reused.value(),
            .retried = tally.retried.value(),
            .dropped = tally.dropped.value(),
            .idle = idle};
}

void ClientPool::close() {
    // seq_cst: before close_idle() goes through the lists. A fiber that adds a connection to a list
    // after that sees the store under the lock of the origin.
    closed_.store(true, std::memory_order_seq_cst);
    wake_.set();
    static_cast<void>(close_idle(Clock::now(), true));
    std::map<Name, std::shared_ptr<Origin>, Less> origins;
    SpinGuard guard(lock_);
    origins.swap(origins_);
}

// The origin that follows in the order of the map, or the first one; null behind the last.
std::shared_ptr<Origin> ClientPool::origin_after(const Origin* origin) const {
    SpinGuard guard(lock_);
    auto next = origin ? origins_.upper_bound(origin->name()) : origins_.begin();
    return next == origins_.end() ? nullptr : next->second;
}

// Allocates nothing, because on_sweep_not_started() must not throw. An origin that is removed
// meanwhile has no idle connection to close.
Deadline ClientPool::close_idle(Instant now, bool all) {
    Deadline next = Deadline::never();
    for (auto origin = origin_after(nullptr); origin; origin = origin_after(origin.get()))
        next = earlier(next, origin->close_idle(now, all));
    return next;
}

void ClientPool::watch_idle() {
    // Relaxed: the common case, the fiber runs already.
    if (sweeping_.load(std::memory_order_relaxed)) return;
    // seq_cst, here and in sweep(): the connection was counted before this exchange, and sweep()
    // reads the count after it has cleared sweeping_. One of the two sees the other's store.
    if (sweeping_.exchange(true, std::memory_order_seq_cst)) return;
    // In the background context, because the fiber outlives the request that starts it.
    async::Context root = async::Context::background();
    Result<void> started =
        spawn_detached([self = shared_from_this()] { self->sweep(); },
                       [self = shared_from_this()](const Error&) { self->on_sweep_not_started(); },
                       {.name = "http client idle", .token = root.token().state()});
    if (!started) on_sweep_not_started();
}

// Called when the sweeping fiber cannot be started. Nothing would close the idle connections later,
// so they are closed now, which also frees memory. A connection that becomes idle meanwhile is
// either found in its list here, or its watch_idle() sees that no fiber runs and starts one.
void ClientPool::on_sweep_not_started() {
    sweeping_.store(false, std::memory_order_seq_cst);
    static_cast<void>(close_idle(Clock::now(), true));
}

// Runs on a fiber that closes the connections which have been idle for too long. It ends when there
// are no idle connections, and watch_idle() starts it again.
void ClientPool::sweep() {
    for (;;) {
        // Relaxed: only the fiber that runs this clears it.
        WEFT_DASSERT(sweeping_.load(std::memory_order_relaxed), "another fiber might sweep too");
        Instant now = Clock::now();
        Deadline next = close_idle(now, is_closed());
        bool ended = is_closed() || !CancelToken::current().check();
        if (next.is_never() || ended) {
            sweeping_.store(false, std::memory_order_seq_cst);
            bool more = idle_.load(std::memory_order_seq_cst) > 0;
            if (ended || !more || sweeping_.exchange(true, std::memory_order_seq_cst)) return;
        }
        Deadline soon = Deadline::after(kSweepPause, now);
        // No deadline, but a connection is counted: it is not in its list yet, so check again soon.
        bool check_soon = next.is_never() && !WEFT_PLANTED("client.sweeps_no_more");
        static_cast<void>(wake_.wait_until(check_soon ? soon : std::max(next, soon)));
    }
}

}  // namespace weft::http
