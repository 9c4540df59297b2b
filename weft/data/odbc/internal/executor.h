// Executor: the calls of one connection on threads that may block, each for a fiber that waits.
//
// The thread shares what it works on: where a driver does not come back, the fiber goes on without
// it, and the connection is given up. A plain thread that calls stays with its call to the end.
// One fiber at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/odbc/internal/session.h"
#include "weft/sync/channel.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"

namespace weft::data::odbc {

// Cancels what others wait for, on a thread of its own: to cancel blocks as well, and the threads
// of the pool may all be busy with what is to be cancelled. Any fiber, any thread.
class Stopper {
public:
    Stopper() = default;
    ~Stopper();  // joins the thread
    Stopper(const Stopper&) = delete;
    Stopper& operator=(const Stopper&) = delete;

    // Lost when too many are under way; who still waits asks again.
    void ask(std::shared_ptr<Session> session, std::uint64_t number);

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
    // The stopper is shared by the connections of a provider.
    Executor(std::shared_ptr<Session> session, std::shared_ptr<Stopper> stopper)
        : session_(std::move(session)), stopper_(std::move(stopper)) {}
    ~Executor();  // closes the session, which may take kTidyTimeout
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // Calls the function with the session and waits for it. Its result counts if it has one, even
    // when the wait was ended meanwhile; if it failed then, the error is why the wait ended. What
    // it uses it owns: it may go on when this has returned.
    template <class T, class Function>
    Result<T> run(Function function) {
        auto outcome = std::make_shared<std::optional<Result<T>>>();
        auto body = [outcome, function = std::move(function)](Session& session) mutable {
            outcome->emplace(function(session));
        };
        Result<void> waited;
        if (run_body(std::move(body), waited) != End::Done) return waited.error();
        if (!**outcome && !waited) return waited.error();
        return std::move(**outcome);
    }
    // The same for its first call, which cannot be cancelled: given up when the time is over.
    Result<void> connect(Deadline deadline);

    // Given up; nothing can be run any more.
    bool is_lost() const { return !session_; }
    // Between calls, and not lost.
    const Session& session() const { return *session_; }

private:
    struct Job;
    enum class End : std::uint8_t { Done, Unrun, Lost };
    using Body = std::function<void(Session& session)>;

    End run_body(Body body, Result<void>& waited);
    std::shared_ptr<Job> start(Body body);
    bool stop(Job& job);
    static void perform(Job& job);
    static void finish(Job& job);

    std::shared_ptr<Session> session_;  // with what runs, and with the stopper
    std::shared_ptr<Stopper> stopper_;  // with the other connections
    std::uint64_t asked_ = 0;
};

}  // namespace weft::data::odbc
