#include "weft/data/sqlite/internal/executor.h"

#include "weft/base/assert.h"

namespace weft::data::sqlite_internal {

Result<void> Executor::start() {
    WEFT_ASSERT(!started_, "the thread is started once");
    thread_ = env::start_thread([](void* self) { static_cast<Executor*>(self)->serve(); }, this,
                                "weft-sqlite");
    started_ = thread_.handle != 0;
    if (started_) return {};
    return Error(ErrorKind::OutOfMemory, "sqlite: no thread for a connection could be started");
}

Executor::~Executor() {
    if (!started_) return;
    WEFT_ASSERT(number_ == last_number_, "no work is under way when the executor ends");
    work_.close();
    env::join_thread(thread_);
}

Result<void> Executor::run_body(std::function<void()> body) {
    WEFT_ASSERT(started_, "the thread was started");
    Work work{.body = std::move(body), .number = ++last_number_, .done = Event()};
    // The channel has room for the only piece of work and is closed only by the destructor, so this
    // never waits or fails.
    WEFT_ASSERT(work_.send(&work).has_value(), "the executor takes one piece of work");
    Result<void> waited = work.done.wait();
    if (waited) return {};
    cancel_(owner_, work.number);
    static_cast<void>(shield(Deadline::never(), [&] { return work.done.wait(); }));
    return waited;
}

void Executor::serve() {
    while (Result<Work*> work = work_.receive()) {
        WEFT_ASSERT((*work)->number == number_ + 1, "work is done in order, and each piece once");
        number_ = (*work)->number;
        (*work)->body();
        // The last access: set() lets the calling fiber leave the frame that contains the work.
        (*work)->done.set();
    }
}

}  // namespace weft::data::sqlite_internal
