// Link: one connection of libpq whose waits park the fiber.
//
// libpq reads and writes its socket itself but never waits: Weft uses PQsend...() and
// PQconsumeInput() in non-blocking mode and waits for the socket in the reactor between them. A
// wait that is cancelled or times out leaves the exchange as it is; tidy() then stops the statement
// at the server and reads the remaining results, or breaks the link.
//
// One user at a time; any fiber, any thread. Owns the PGconn and a duplicate of its socket; the
// destructor closes both without waiting.
#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/postgres/internal/cancel.h"
#include "weft/fiber/io.h"
#include "weft/sync/event.h"

namespace weft::data::postgres {

struct ResultDeleter {
    void operator()(PGresult* result) const { PQclear(result); }
};
// Null between the statements of an exchange, and at its end.
using ResultPointer = std::unique_ptr<PGresult, ResultDeleter>;

// Keyword and value, as libpq names them.
struct Setting {
    std::string keyword;
    std::string value;
};

// The server's error as an Error that contains no value.
Error to_error(const PGresult* result);
Error connection_lost();

class Link {
public:
    // The settings contain hostaddr or a Unix socket: names are not resolved here.
    static Result<std::unique_ptr<Link>> connect(const std::vector<Setting>& settings,
                                                 const CancelTls& cancel_tls, Deadline deadline);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    PGconn* pg() const { return pg_.get(); }
    bool is_broken() const { return broken_ || PQstatus(pg()) != CONNECTION_OK; }
    // From here on the link can only be closed.
    void set_broken() { broken_ = true; }
    PGTransactionStatusType status() const { return PQtransactionStatus(pg()); }

    // Converts the result of a PQsend...() call: 0 means that it failed, before anything was sent.
    Result<void> sent(int accepted);
    // Writes everything that libpq has buffered to the socket, and reads what arrives meanwhile.
    Result<void> flush();
    // The next result of the exchange: null as PQgetResult() gives it.
    Result<ResultPointer> next();
    // Whether next() would return without waiting.
    bool has_next();
    // Waits until the socket is readable, and reads.
    Result<void> receive(Deadline deadline = Deadline::never());

    // Reads what has arrived, without waiting. False: the connection is lost, and next() returns
    // the error.
    bool read_available() { return PQconsumeInput(pg()) != 0; }
    // Whether the server has ended the session, while no exchange is under way. Reads what has
    // arrived, without waiting.
    bool is_lost();
    // Waits until the socket is readable, or writable if `to_write`, or the event is set. Fibers
    // only.
    Result<void> wait_with_event(Event& event, bool to_write, Deadline deadline);

    // Pipelines. pending_syncs() counts the syncs that were sent and not yet answered.
    Result<void> enter_pipeline();
    Result<void> sync();
    // Called for each PGRES_PIPELINE_SYNC.
    void note_sync() {
        WEFT_ASSERT(syncs_ > 0, "the caller reads results only while a sync is pending");
        --syncs_;
    }
    // A null ends each statement of a pipeline. libpq gives no two in a row while more is to come,
    // but gives them without end when it expects nothing more.
    static constexpr int kNullsInARowMax = 8;
    // Reads the next result of a pipeline while a sync is pending, and skips the nulls that end
    // statements. Breaks the link if the server has answered everything but the sync.
    Result<ResultPointer> next_in_pipeline(Deadline deadline = Deadline::never());
    // Only after the last sync was answered; breaks the link otherwise.
    Result<void> leave_pipeline();
    std::size_t pending_syncs() const { return syncs_; }

    // Whether an exchange is under way.
    bool is_busy() const { return status() == PQTRANS_ACTIVE || syncs_ > 0; }
    // Cancels the statement under way, repeatedly if necessary, and waits for its end and for that
    // of the cancel itself, so that a cancel never meets the next statement. Takes at most
    // kTidyTimeout, then the link is broken. Not cancellable.
    void tidy();
    // Reads and drops the results of what is under way, without cancelling it.
    Result<void> drain(Deadline deadline);

    struct Finish {
        void operator()(PGconn* pg) const { PQfinish(pg); }
    };

private:
    explicit Link(PGconn* pg) : pg_(pg) {}

    Result<void> poll_until_connected(Deadline deadline);
    // Duplicates the socket that libpq uses now; libpq may close its own descriptor at any time.
    Result<void> adopt_socket();
    Result<void> wait_readable(Deadline deadline);
    Result<void> wait_either(Deadline deadline);
    Result<void> flush_until(Deadline deadline);
    Result<ResultPointer> next_until(Deadline deadline);
    Result<void> end_copy(PGresult& result, Deadline deadline);
    Result<void> stop_and_drain();
    bool has_pending_plaintext() const;
    static void take_notice(void* link, const PGresult* result);

    std::unique_ptr<PGconn, Finish> pg_;
    Descriptor socket_;
    std::optional<CancelKey> cancel_key_;
    CancelTls cancel_tls_;
    std::size_t syncs_ = 0;
    bool copying_in_ = false;       // the server waits for the data of a copy
    bool ended_by_server_ = false;  // the server said so; the end of the stream may follow later
    bool broken_ = false;
};

}  // namespace weft::data::postgres
