// Platform: what V8 asks of the program around it.
//
// V8's own work for other threads (compiling, collecting) goes to the blocking pool of a runtime.
// What must run on an isolate's thread is queued with that isolate, whose loop is told by a posted
// record; so when nothing is queued, nobody looks.
//
// One for a process, made with the first isolate: V8 can be initialized once and has no end that it
// could be started again from. Any thread.
#pragma once

// tidy: allow-file threads: plain threads of V8's post tasks here, and no fiber ever waits

#include <v8-platform.h>
#include <v8.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "weft/base/function.h"
#include "weft/base/time.h"

namespace weft {
class BlockingPool;
}

namespace weft::js {

// The tasks that V8 wants to run on the thread of one isolate.
class ForegroundTasks final : public v8::TaskRunner {
public:
    // Called by any thread when there is something to do that nobody has been told of yet.
    using Notify = std::function<void()>;

    void set_notify(Notify notify);  // empty: the isolate ends; nothing is taken any more

    // Owner only. Runs what is queued and due now; gives when the next delayed one is due.
    Instant run_due(Instant now);

    void PostTask(std::unique_ptr<v8::Task> task) override;
    void PostNonNestableTask(std::unique_ptr<v8::Task> task) override { PostTask(std::move(task)); }
    void PostDelayedTask(std::unique_ptr<v8::Task> task, double delay_s) override;
    void PostNonNestableDelayedTask(std::unique_ptr<v8::Task> task, double delay_s) override {
        PostDelayedTask(std::move(task), delay_s);
    }
    void PostIdleTask(std::unique_ptr<v8::IdleTask>) override {}
    bool IdleTasksEnabled() override { return false; }
    bool NonNestableTasksEnabled() const override { return true; }
    bool NonNestableDelayedTasksEnabled() const override { return true; }

private:
    struct Entry {
        Instant due;
        std::unique_ptr<v8::Task> task;
    };
    void add(Entry entry);

    std::mutex lock_;  // the rest; never held while a task runs
    std::vector<Entry> entries_;
    Notify notify_;
    bool posted_ = false;  // the owner has been told
};

class Platform final : public v8::Platform {
public:
    // What V8 is started with. A snapshot is read by whoever has the same.
    //
    // The snapshot is a part of this library, whose bytes nobody doubts; a sum over all of them was
    // a fifth of what an isolate takes to begin. One memory of WebAssembly has 1 GiB at most, and
    // none is shared, as V8 does not count those and there is nobody to share them with. Buffers
    // are freed within a collection, so that what is left is known at its end.
    static constexpr const char* kFlags =
#if V8_MAJOR_VERSION < 11  // later ones cannot do without
        "--no-experimental-wasm-threads "
#endif
        "--no-verify-snapshot-checksum --wasm-max-mem-pages=16384 "
        "--no-concurrent-array-buffer-sweeping";

    // Initializes V8 at the first call. `pool` is where V8's worker tasks run from now on; null:
    // they run where they are posted, as in a tool with one thread.
    static Platform& start(BlockingPool* pool);
    // The pool ends with its runtime: from now on worker tasks run where they are posted.
    void forget(BlockingPool* pool);

    std::shared_ptr<ForegroundTasks> add_isolate(v8::Isolate* isolate);
    void remove_isolate(v8::Isolate* isolate);

    v8::PageAllocator* GetPageAllocator() override { return nullptr; }  // V8's own
    int NumberOfWorkerThreads() override;
    std::shared_ptr<v8::TaskRunner> GetForegroundTaskRunner(v8::Isolate* isolate) override;
    void CallOnWorkerThread(std::unique_ptr<v8::Task> task) override;
    // V8 delays only what may as well be done at once.
    void CallDelayedOnWorkerThread(std::unique_ptr<v8::Task> task, double) override {
        CallOnWorkerThread(std::move(task));
    }
    std::unique_ptr<v8::JobHandle> PostJob(v8::TaskPriority priority,
                                           std::unique_ptr<v8::JobTask> task) override;
#if V8_MAJOR_VERSION >= 11
    std::unique_ptr<v8::JobHandle> CreateJob(v8::TaskPriority priority,
                                             std::unique_ptr<v8::JobTask> task) override;
#endif
    double MonotonicallyIncreasingTime() override;
    double CurrentClockTimeMillis() override;
    v8::TracingController* GetTracingController() override { return &tracing_; }

private:
    Platform() = default;

    std::mutex lock_;
    BlockingPool* pool_ = nullptr;
    std::unordered_map<v8::Isolate*, std::shared_ptr<ForegroundTasks>> isolates_;
    v8::TracingController tracing_;
};

}  // namespace weft::js
