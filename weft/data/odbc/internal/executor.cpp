#include "weft/data/odbc/internal/executor.h"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"

namespace weft::data::odbc {
namespace {

// The pause between two cancels of the same work; it doubles each time.
constexpr Nanoseconds kCancelPause = std::chrono::milliseconds(10);
constexpr Nanoseconds kCancelPauseMax = std::chrono::milliseconds(200);

}  // namespace

CancelThread::~CancelThread() {
    requests_.close();
    if (started_) env::join_thread(thread_);
}

void CancelThread::request(std::shared_ptr<Session> session, std::uint64_t number) {
    WEFT_ASSERT(session && number != 0, "the request names a piece of work");
    {
        std::lock_guard guard(start_);
        if (!started_) {
            auto entry = [](void* self) { static_cast<CancelThread*>(self)->serve(); };
            thread_ = env::start_thread(entry, this, "weft-odbc-stop");
            started_ = thread_.handle != 0;
        }
    }
    static_cast<void>(requests_.try_send(Request{std::move(session), number}));
}

void CancelThread::serve() {
    while (Result<Request> next = requests_.receive()) next->session->cancel(next->number);
}

// Shared by the caller and the thread that runs it.
struct Executor::Job {
    enum class State : std::uint8_t { Queued, Taken, Withdrawn };

    // True for the one that may run the job, or withdraw it.
    bool try_move(State to) {
        State queued = State::Queued;
        // Relaxed: the queue has published what the thread reads, and a withdrawn job is not read.
        return state.compare_exchange_strong(queued, to, std::memory_order_relaxed,
                                             std::memory_order_relaxed);
    }

    std::shared_ptr<Session> session;
    std::uint64_t number = 0;
    Body body;
    Atomic<State> state{State::Queued};
    Event done;
    EnvThread thread = {};  // if a plain thread is the caller
};

void Executor::perform(Job& job) {
    if (!job.try_move(Job::State::Taken)) return;
    job.session->begin_work(job.number);
    job.body(*job.session);
    job.session->end_work();
    finish(job);
}

// If the caller has given up, the session is destroyed here, where it may block.
void Executor::finish(Job& job) {
    WEFT_ASSERT(job.session, "a job is finished once");
    job.body = {};
    job.session.reset();
    job.done.set();
}

std::shared_ptr<Executor::Job> Executor::start(Body body) {
    WEFT_ASSERT(session_, "a session that was given up takes no work");
    auto job = std::make_shared<Job>();
    job->session = session_;
    job->number = ++last_number_;
    job->body = std::move(body);
    if (BlockingPool* pool = blocking_internal::pool_here()) {
        pool->run_detached([job] { perform(*job); });
        return job;
    }
    job->thread = env::start_thread([](void* raw) { perform(*static_cast<Job*>(raw)); }, job.get(),
                                    "weft-odbc");
    if (job->thread.handle == 0) perform(*job);
    return job;
}

// Cancels the job until it has ended. False: it did not end within kTidyTimeout.
bool Executor::cancel(Job& job) {
    WEFT_ASSERT(session_, "the session is given up after its work was cancelled");
    Deadline end = Deadline::after(kTidyTimeout);
    bool is_plain = job.thread.handle != 0;
    return shield(is_plain ? Deadline::never() : end, [&] {
        for (Nanoseconds pause = kCancelPause;; pause = std::min(pause * 2, kCancelPauseMax)) {
            cancel_thread_->request(session_, job.number);
            if (job.done.wait_for(pause)) return true;
            if (!is_plain && end.expired(Clock::now())) return false;
        }
    });
}

Executor::End Executor::run_body(Body body, Result<void>& waited) {
    if (is_lost()) {
        waited = data::to_error(kName, "08003", "the connection was given up");
        return End::Lost;
    }
    waited = CancelToken::current().check();
    if (!waited) return End::NotRun;
    std::shared_ptr<Job> job = start(std::move(body));
    waited = job->done.wait();
    End end = End::Done;
    if (!waited && job->try_move(Job::State::Withdrawn)) {
        end = End::NotRun;
    } else if (!waited && !cancel(*job)) {
        end = End::Lost;
        session_.reset();
    }
    if (job->thread.handle != 0) env::join_thread(job->thread);
    return end;
}

Result<void> Executor::connect(Deadline deadline) {
    WEFT_TRY(CancelToken::current().check());
    auto outcome = std::make_shared<Result<void>>();
    std::shared_ptr<Job> job = start([outcome](Session& session) { *outcome = session.connect(); });
    Result<void> waited = job->done.wait_until(deadline);
    if (!waited && job->thread.handle != 0)
        static_cast<void>(shield(Deadline::never(), [&] { return job->done.wait(); }));
    if (job->thread.handle != 0) env::join_thread(job->thread);
    if (waited) return *outcome;
    static_cast<void>(job->try_move(Job::State::Withdrawn));
    session_.reset();
    WEFT_TRY(CancelToken::current().check());
    return data::to_error(kName, "08001", "no answer in time");
}

Executor::~Executor() {
    if (!session_) return;
    shield(Deadline::after(kTidyTimeout), [&] {
        std::shared_ptr<Job> job = start([](Session& session) { session.close_rows(); });
        session_.reset();
        Result<void> waited = job->done.wait();
        if (job->thread.handle == 0) return;
        if (!waited) static_cast<void>(shield(Deadline::never(), [&] { return job->done.wait(); }));
        env::join_thread(job->thread);
    });
}

}  // namespace weft::data::odbc
