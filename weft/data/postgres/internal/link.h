// Link: one connection of libpq, whose waits park the fiber.
//
// libpq reads and writes its socket itself and never waits here: PQsend... and PQconsumeInput in
// its non-blocking mode, and the wait for the socket between them by the reactor. A wait that is
// cancelled or times out leaves the exchange where it is; tidy() then stops the statement at the
// server and takes in what is left of it, or breaks the link.
//
// One user at a time; any fiber, any thread.
#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// Keyword and value, as libpq calls them.
struct Setting {
    std::string keyword;
    std::string value;
};

// What the server said, as an Error that holds no value.
Error to_error(const PGresult* result);
Error connection_lost();

class Link {
public:
    // Settings with hostaddr, or a Unix socket: names are not looked up here.
    static Result<std::unique_ptr<Link>> connect(const std::vector<Setting>& settings,
                                                 const CancelTls& cancel_tls, Deadline deadline);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    PGconn* pg() const { return pg_.get(); }
    bool is_broken() const { return broken_ || PQstatus(pg()) != CONNECTION_OK; }
    // Nothing but to close it is possible from here on.
    void set_broken() { broken_ = true; }
    PGTransactionStatusType status() const { return PQtransactionStatus(pg()); }

    // Of a PQsend...() call: 0 means that it failed, which it does before anything is sent.
    Result<void> sent(int accepted);
    // Hands everything that was sent to the kernel, and takes in what comes meanwhile.
    Result<void> flush();
    // The next result of the exchange: null as PQgetResult() gives it.
    Result<ResultPointer> next();
    // Whether next() would give something without waiting.
    bool has_next();
    // Waits until there is something to read, and takes it in.
    Result<void> receive(Deadline deadline = Deadline::never());

    // Takes in what has come, without waiting. False: the connection is lost, and next() tells.
    bool take_in() { return PQconsumeInput(pg()) != 0; }
    // While nothing is under way: whether the server has ended the session. Takes in what it has
    // said meanwhile, without waiting.
    bool is_lost();
    // Waits until there is something to read, or room to write if that is wanted, or the event is
    // set. Fibers.
    Result<void> wait_beside(Event& event, bool to_write, Deadline deadline);

    // Pipelines: so many syncs are to come.
    Result<void> enter_pipeline();
    Result<void> sync();
    // Of the result of a sync, which must be counted.
    void synced() { --syncs_; }
    // After the last sync was seen.
    Result<void> leave_pipeline();
    std::size_t syncs() const { return syncs_; }

    // Whether an exchange is under way.
    bool is_busy() const { return status() == PQTRANS_ACTIVE || syncs_ > 0; }
    // Cancels what the server does for us, as often as it takes, and waits for its end and for that
    // of the cancel itself; so a cancel never meets the next statement. At most kTidyTimeout, then
    // the link is broken. Not cancellable.
    void tidy();
    // The same without a cancel: takes in what is under way.
    Result<void> drain(Deadline deadline);

    struct Finish {
        void operator()(PGconn* pg) const { PQfinish(pg); }
    };

private:
    explicit Link(PGconn* pg) : pg_(pg) {}

    Result<void> poll_until_connected(Deadline deadline);
    // Takes another number for the socket that libpq has now, which closes its own when it likes.
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
    bool ended_by_server_ = false;  // it has said so; the end of the stream may come later
    bool broken_ = false;
};

}  // namespace weft::data::postgres
