// Executor: runs the calls of one connection on threads that may block, each for a fiber that
// waits.
//
// The thread shares ownership of the session: if a driver does not return, the fiber continues
// without it and the connection is given up. A plain thread that calls waits for its call to the
// end. One fiber at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/odbc/internal/session.h"
#include "weft/sync/channel.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"

namespace weft::data::odbc {

// CancelThread: cancels calls on a thread of its own, because cancelling blocks too, and all
// threads of the pool may be busy with the calls to be cancelled. Any fiber, any thread. The
// destructor joins the thread.
class CancelThread {
public:
    CancelThread() = default;
    ~CancelThread();
    CancelThread(const CancelThread&) = delete;
    CancelThread& operator=(const CancelThread&) = delete;

    // Asks for one cancel. The request is dropped when too many are queued; the caller repeats it
    // while it waits.
    void request(std::shared_ptr<Session> session, std::uint64_t number);

private:
    static constexpr std::size_t kRequestsMax = 256;
    struct Request {
        std::shared_ptr<Session> session;
        std::uint64_t number = 0;
    };
    void serve();

    Channel<Request> requests_{kRequestsMax};
    Mutex start_;
    bool started_ = false;
    EnvThread thread_ = {};
};

class Executor {
public:
    // The connections of a provider share the cancel thread.
    Executor(std::shared_ptr<Session> session, std::shared_ptr<CancelThread> cancel_thread)
        : session_(std::move(session)), cancel_thread_(std::move(cancel_thread)) {}
    ~Executor();  // closes the session, which may take kTidyTimeout
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // Calls the function with the session and waits for it. A successful result is returned even if
    // the wait was cancelled meanwhile; if the function failed and the wait was cancelled, the
    // error says why the wait ended. The function owns everything it uses, because it may still run
    // after run() has returned.
    template <class T, class Function>
    Result<T> run(Function function) {
        auto outcome = std::make_shared<std::optional<Result<T>>>();
        auto body = [outcome, function = std::move(function)](Session& session) mutable {
            outcome->emplace(function(session));
        };
        Result<void> waited;
        if (run_body(std::move(body), waited) != End::Done) return waited.error();
        WEFT_ASSERT(outcome->has_value(), "work that is done has an outcome");
        if (!**outcome && !waited) return waited.error();
        return std::move(**outcome);
    }
    // The first call, which drivers cannot cancel: given up at the deadline.
    Result<void> connect(Deadline deadline);

    // The session was given up; nothing can be run any more.
    bool is_lost() const { return !session_ || is_given_up_; }
    // Gives the session up between calls; the destructor closes it.
    void give_up() { is_given_up_ = true; }
    // Only between calls, and if not lost.
    const Session& session() const {
        WEFT_ASSERT(!is_lost(), "the session was not given up");
        return *session_;
    }

private:
    struct Job;
    enum class End : std::uint8_t { Done, NotRun, Lost };
    using Body = std::function<void(Session& session)>;

    End run_body(Body body, Result<void>& waited);
    std::shared_ptr<Job> start(Body body);
    bool cancel(Job& job);
    static void perform(Job& job);
    static void finish(Job& job);

    std::shared_ptr<Session> session_;  // owners: this, the running call and the cancel thread
    std::shared_ptr<CancelThread> cancel_thread_;  // owners: the connections and their provider
    std::uint64_t last_number_ = 0;
    bool is_given_up_ = false;
};

}  // namespace weft::data::odbc
