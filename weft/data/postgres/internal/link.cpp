#include "weft/data/postgres/internal/link.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/provider.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/turn.h"
#include "weft/sync/event.h"

namespace weft::data::postgres {
namespace {

// A plain thread cannot wait for both directions at once, so it waits for one in slices of this
// length.
constexpr Nanoseconds kThreadSlice = std::chrono::milliseconds(5);
// Time for the first cancel to take effect; doubled for each further one.
constexpr Nanoseconds kCancelSlice = std::chrono::milliseconds(30);
// At most this many reads at once from a server that sends without end.
constexpr int kReadsMax = 8;
constexpr int kReceiveCost = 2;  // a system call beside the operations that turn.h counts

// Out of line, like everything that reads errno: a fiber may continue on another thread.
[[gnu::noinline]] int duplicate(int fd) {
    int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 ? copy : -errno;
}

// The ready ones of these events, and those that poll() reports unasked.
short ready_events(int fd, short events) {
    pollfd entry{};
    entry.fd = fd;
    entry.events = events;
    return ::poll(&entry, 1, 0) > 0 ? entry.revents : short{0};
}

bool is_ready(int fd, short events) { return ready_events(fd, events) != 0; }

std::string_view field(const PGresult* result, int code) {
    const char* text = PQresultErrorField(result, code);
    return text ? std::string_view(text) : std::string_view();
}

Error report(std::string_view state, const PGresult* result = nullptr) {
    DriverReport told;
    told.provider = "postgres";
    told.sqlstate = state;
    if (result) {
        told.message = field(result, PG_DIAG_MESSAGE_PRIMARY);
        told.constraint = field(result, PG_DIAG_CONSTRAINT_NAME);
        told.table = field(result, PG_DIAG_TABLE_NAME);
        told.column = field(result, PG_DIAG_COLUMN_NAME);
    }
    return data::to_error(told);
}

// With PQERRORS_SQLSTATE libpq's message ends with ":  28P01" if the server refused; otherwise it
// says why the server was not reached.
Error connect_error(PGconn* pg) {
    constexpr std::size_t kStateLength = 5;
    std::string_view text = PQerrorMessage(pg);
    while (text.ends_with('\n')) text.remove_suffix(1);
    std::size_t severity = text.rfind(":  ");
    if (severity != std::string_view::npos && text.size() - severity == 3 + kStateLength)
        return report(text.substr(severity + 3));
    // "connection to server at ..., port 5432 failed: reason". The reason contains neither
    // credentials nor what was sent.
    constexpr std::string_view kFailed = " failed: ";
    std::size_t why = text.find(kFailed);
    if (why == std::string_view::npos) return data::to_error("postgres", "08001", "no connection");
    std::string_view reason = text.substr(why + kFailed.size());
    reason = reason.substr(0, reason.find('\n'));
    // This message quotes a part of the connection string.
    if (reason.starts_with("invalid integer value")) reason = "a setting is no number";
    return data::to_error("postgres", "08001", reason);
}

}  // namespace

Error to_error(const PGresult* result) {
    std::string_view state = field(result, PG_DIAG_SQLSTATE);
    // An error of libpq itself: the connection is lost.
    if (state.empty()) return connection_lost();
    // A wrong number of parameters concerns only the statement; the connection stays usable.
    bool is_wrong_count =
        state == "08P01" && field(result, PG_DIAG_SEVERITY_NONLOCALIZED) == "ERROR";
    return report(is_wrong_count ? "07001" : state, result);
}

Error connection_lost() {
    return data::to_error("postgres", "08006", "the server has closed the connection");
}

// ---------------------------------------------------------------- connecting

Result<std::unique_ptr<Link>> Link::connect(const std::vector<Setting>& settings,
                                            const CancelTls& cancel_tls, Deadline deadline) {
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const Setting& setting : settings) {
        keywords.push_back(setting.keyword.c_str());
        values.push_back(setting.value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    PGconn* pg = PQconnectStartParams(keywords.data(), values.data(), 0);
    if (!pg) return ErrorKind::OutOfMemory;
    // tidy: allow new: the constructor is private
    std::unique_ptr<Link> link(new Link(pg));
    // Notices may quote values; by default libpq prints them to stderr.
    PQsetNoticeReceiver(pg, take_notice, link.get());
    PQsetErrorVerbosity(pg, PQERRORS_SQLSTATE);
    WEFT_TRY(link->poll_until_connected(deadline));
    if (PQsetnonblocking(pg, 1) != 0) return connect_error(pg);
    WEFT_TRY(link->adopt_socket());
    link->cancel_key_ = WEFT_TRY(CancelKey::of(pg));
    link->cancel_tls_ = cancel_tls;
    return link;
}

// A fatal error that belongs to no statement arrives as a notice: the server ends the session.
void Link::take_notice(void* link, const PGresult* result) {
    std::string_view severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == "FATAL" || severity == "PANIC")
        static_cast<Link*>(link)->ended_by_server_ = true;
}

Result<void> Link::poll_until_connected(Deadline deadline) {
    PostgresPollingStatusType polling = PGRES_POLLING_WRITING;
    while (polling != PGRES_POLLING_OK) {
        if (polling == PGRES_POLLING_FAILED || PQstatus(pg()) == CONNECTION_BAD)
            return connect_error(pg());
        WEFT_TRY(adopt_socket());
        if (polling == PGRES_POLLING_READING) {
            WEFT_TRY(socket_.wait_readable(deadline));
        } else {
            WEFT_TRY(socket_.wait_writable(deadline));
        }
        polling = PQconnectPoll(pg());
    }
    return {};
}

Result<void> Link::adopt_socket() {
    int copy = duplicate(PQsocket(pg()));
    if (copy < 0) return Error::from_errno(-copy);
    socket_ = Descriptor::adopt_nonblocking(copy, Flow::Unknown);
    return {};
}

Link::~Link() = default;

// ---------------------------------------------------------------- waiting

// OpenSSL may have read more than libpq has asked for; polling the socket does not show that.
bool Link::has_pending_plaintext() const {
    void* tls = PQsslStruct(pg(), "OpenSSL");
    return tls && SSL_pending(static_cast<const SSL*>(tls)) > 0;
}

Result<void> Link::wait_readable(Deadline deadline) {
    if (has_pending_plaintext()) return {};
    return socket_.wait_readable(deadline);
}

// Waits for either direction: the server may stop reading until its output is read.
Result<void> Link::wait_either(Deadline deadline) {
    if (has_pending_plaintext()) return {};
    if (!weft::current()) {
        Result<void> waited =
            socket_.wait_writable(earlier(deadline, Deadline::after(kThreadSlice)));
        bool is_slice = !waited && waited.error().kind() == ErrorKind::TimedOut &&
                        !deadline.expired(Clock::now());
        if (!is_slice) return waited;
        return CancelToken::current().check();
    }
    struct Wakeup : Dormant {
        Event event;
    };
    for (;;) {
        auto readable = [](int fd) { return is_ready(fd, POLLIN | POLLRDHUP) ? 0L : -EAGAIN; };
        auto writable = [](int fd) { return is_ready(fd, POLLOUT) ? 0L : -EAGAIN; };
        if (WEFT_TRY(socket_.try_once(kReadable, readable)).has_value()) return {};
        if (WEFT_TRY(socket_.try_once(kWritable, writable)).has_value()) return {};
        Wakeup wakeup;
        wakeup.on_ready = [](Dormant& dormant, std::uint8_t) {
            static_cast<Wakeup&>(dormant).event.set();
        };
        bool armed = WEFT_TRY(socket_.arm(wakeup, kReadable | kWritable));
        if (!armed) continue;
        Result<void> waited = wakeup.event.wait_until(deadline);
        // A callback that has begun is waited for, because it uses this frame.
        if (!socket_.disarm(wakeup)) {
            shield(Deadline::never(), [&] { static_cast<void>(wakeup.event.wait()); });
        }
        WEFT_TRY(std::move(waited));
    }
}

Result<void> Link::wait_with_event(Event& event, bool to_write, Deadline deadline) {
    WEFT_ASSERT(weft::current(), "a plain thread cannot wait for a socket and an event");
    struct Wakeup : Dormant {
        Event* event;
        Event called;
    };
    if (has_pending_plaintext()) return {};
    // The descriptor does not see what libpq reads, so the kernel is asked.
    auto readable = [](int fd) { return is_ready(fd, POLLIN | POLLRDHUP) ? 0L : -EAGAIN; };
    auto writable = [](int fd) { return is_ready(fd, POLLOUT) ? 0L : -EAGAIN; };
    if (WEFT_TRY(socket_.try_once(kReadable, readable)).has_value()) return {};
    if (to_write && WEFT_TRY(socket_.try_once(kWritable, writable)).has_value()) return {};
    Wakeup wakeup;
    wakeup.event = &event;
    wakeup.on_ready = [](Dormant& dormant, std::uint8_t) {
        auto& self = static_cast<Wakeup&>(dormant);
        self.event->set();
        self.called.set();
    };
    bool armed = WEFT_TRY(socket_.arm(wakeup, to_write ? kReadable | kWritable : kReadable));
    if (!armed) return {};
    Result<void> waited = event.wait_until(deadline);
    // A callback that has begun is waited for, because it uses this frame.
    if (!socket_.disarm(wakeup)) {
        shield(Deadline::never(), [&] { static_cast<void>(wakeup.called.wait()); });
    }
    return waited;
}

Result<void> Link::sent(int accepted) {
    if (accepted != 0) return {};
    if (is_broken()) return connection_lost();
    return data::to_error("postgres", "HY000", "the statement cannot be sent in this state");
}

Result<void> Link::flush() { return flush_until(Deadline::never()); }

Result<void> Link::flush_until(Deadline deadline) {
    for (;;) {
        int left = PQflush(pg());
        if (left == 0) return {};
        // The server's reason, if any, is still to be read.
        if (left < 0) return {};
        WEFT_TRY(wait_either(deadline));
        if (PQconsumeInput(pg()) == 0) return {};
    }
}

bool Link::has_next() { return PQisBusy(pg()) == 0; }

bool Link::is_lost() {
    for (int taken = 0; taken < kReadsMax; ++taken) {
        if (is_broken() || ended_by_server_) return true;
        short events = ready_events(PQsocket(pg()), POLLIN | POLLRDHUP);
        if (events == 0) return false;
        if ((events & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) return true;
        if (!read_available()) return true;
        // Makes libpq parse its input, so that it calls take_notice().
        static_cast<void>(PQisBusy(pg()));
    }
    return is_broken() || ended_by_server_;
}

Result<void> Link::receive(Deadline deadline) {
    WEFT_TRY(wait_readable(deadline));
    if (PQconsumeInput(pg()) == 0) return connection_lost();
    return {};
}

Result<ResultPointer> Link::next() { return next_until(Deadline::never()); }

Result<ResultPointer> Link::next_until(Deadline deadline) {
    while (PQisBusy(pg())) {
        // A server that sends without end must neither defeat the deadline nor block the worker.
        if (deadline.expired(Clock::now())) return ErrorKind::TimedOut;
        turn::may_wait("postgres.receive", this, kReceiveCost);
        WEFT_TRY(CancelToken::current().check());
        WEFT_TRY(wait_readable(deadline));
        // Input that arrived before the loss is kept, and PQgetResult() reports the loss.
        if (PQconsumeInput(pg()) == 0) break;
    }
    ResultPointer result(PQgetResult(pg()));
    copying_in_ = PQresultStatus(result.get()) == PGRES_COPY_IN;
    return result;
}

// ---------------------------------------------------------------- pipelines

Result<void> Link::enter_pipeline() {
    WEFT_ASSERT(broken_ || syncs_ == 0, "a pipeline begins without a pending sync");
    if (PQenterPipelineMode(pg()) == 1) return {};
    return sent(0);
}

Result<void> Link::sync() {
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
    // Does not flush each sync by itself.
    if (PQsendPipelineSync(pg()) != 1) return sent(0);
#else
    if (PQpipelineSync(pg()) != 1) return sent(0);
#endif
    ++syncs_;
    return {};
}

Result<ResultPointer> Link::next_in_pipeline(Deadline deadline) {
    WEFT_ASSERT(syncs_ > 0, "without a pending sync nothing may follow");
    for (int nulls = 0; nulls < kNullsInARowMax; ++nulls) {
        ResultPointer result = WEFT_TRY(next_until(deadline));
        if (result) return result;
        if (is_broken()) return connection_lost();
    }
    set_broken();
    return data::to_error("postgres", "08P01", "the server does not answer in step");
}

Result<void> Link::leave_pipeline() {
    WEFT_ASSERT(broken_ || syncs_ == 0, "a pipeline ends when every sync was answered");
    if (PQexitPipelineMode(pg()) == 1) return {};
    set_broken();
    return connection_lost();
}

// ---------------------------------------------------------------- tidying up

// Ends a copy that its user has given up.
Result<void> Link::end_copy(PGresult& result, Deadline deadline) {
    ExecStatusType status = PQresultStatus(&result);
    WEFT_ASSERT(status == PGRES_COPY_IN || status == PGRES_COPY_OUT, "the result begins a copy");
    if (status == PGRES_COPY_IN) {
        static_cast<void>(PQputCopyEnd(pg(), "given up"));
        return flush_until(deadline);
    }
    for (;;) {
        char* row = nullptr;
        int count = PQgetCopyData(pg(), &row, 1);
        PQfreemem(row);
        if (count < 0) return {};
        if (count > 0) continue;
        WEFT_TRY(wait_readable(deadline));
        if (PQconsumeInput(pg()) == 0) return connection_lost();
    }
}

Result<void> Link::drain(Deadline deadline) {
    WEFT_TRY(flush_until(deadline));
    // In a pipeline null only ends a statement; the last sync ends the exchange.
    bool in_pipeline = PQpipelineStatus(pg()) != PQ_PIPELINE_OFF;
    while (in_pipeline ? syncs_ > 0 : true) {
        Result<ResultPointer> next =
            in_pipeline ? next_in_pipeline(deadline) : next_until(deadline);
        ResultPointer result = WEFT_TRY(std::move(next));
        if (is_broken()) return connection_lost();
        if (!result) return {};
        ExecStatusType status = PQresultStatus(result.get());
        if (status == PGRES_PIPELINE_SYNC) note_sync();
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT)
            WEFT_TRY(end_copy(*result, deadline));
    }
    if (!in_pipeline) return {};
    return leave_pipeline();
}

// A copy to the server is ended by the client, without a cancel: if the server saw a cancel first,
// it might report twice that it is ready.
//
// A cancel that arrives before the server has begun the statement is ignored, so it is repeated.
Result<void> Link::stop_and_drain() {
    if (copying_in_) return drain(Deadline::never());
    Nanoseconds slice = kCancelSlice;
    while (is_busy()) {
        // If all results have arrived already, no cancel is needed.
        static_cast<void>(PQconsumeInput(pg()));
        Result<void> drained = drain(Deadline::at(Clock::now()));
        if (drained) return {};
        if (drained.error().kind() != ErrorKind::TimedOut) return drained;
        WEFT_TRY(CancelToken::current().check());
        if (!cancel_key_) return connection_lost();
        WEFT_TRY(cancel_key_->send(pg(), cancel_tls_));
        drained = drain(Deadline::after(slice));
        if (drained) return {};
        if (drained.error().kind() != ErrorKind::TimedOut) return drained;
        slice *= 2;
    }
    return {};
}

void Link::tidy() {
    if (is_broken()) return;
    Result<void> tidied = shield(Deadline::after(kTidyTimeout), [&] { return stop_and_drain(); });
    if (tidied && PQpipelineStatus(pg()) != PQ_PIPELINE_OFF) tidied = leave_pipeline();
    if (!tidied || status() == PQTRANS_ACTIVE || status() == PQTRANS_UNKNOWN) set_broken();
    WEFT_ASSERT(broken_ || !is_busy(), "a tidied link is idle or broken");
}

}  // namespace weft::data::postgres
