// Platform: the implementation of v8::Platform, by which V8 runs its own tasks.
//
// Tasks that V8 runs beside the script (compiling, garbage collection) go to the blocking pool of a
// runtime. Tasks that must run on an isolate's thread are queued with that isolate, and a record is
// posted to its loop; so an empty queue costs the loop nothing.
//
// There is one for the process, made with the first isolate and never destroyed: V8 can be
// initialized only once. Any thread.
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

// The tasks that V8 wants to run on the thread of one isolate. Any thread, unless said otherwise.
class ForegroundTasks final : public v8::TaskRunner {
public:
    // Called by any thread when a task has been added and the owner has not been notified since its
    // last run_due().
    using Notify = std::function<void()>;

    // An empty function: the isolate ends, queued tasks are dropped and no more are accepted.
    void set_notify(Notify notify);

    // Owner only. Runs the tasks that are due; returns when the next delayed task is due.
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

    std::mutex lock_;  // guards the members below; never held while a task runs
    std::vector<Entry> entries_;
    Notify notify_;
    bool posted_ = false;  // the owner has been notified and has not yet called run_due()
};

class Platform final : public v8::Platform {
public:
    // The flags V8 is started with. A snapshot can be read only under the flags it was made with.
    //
    // The checksum of the snapshot is not verified: the snapshot is part of this library, and
    // verifying took a fifth of the time that an isolate needs to start. A WebAssembly memory is
    // limited to 1 GiB and cannot be shared, because V8 does not count shared memories. Buffers
    // are freed within a collection, so that their remaining size is known at its end. The young
    // generation is collected by the isolate's own thread alone: little survives, and the helper
    // threads of V8 take processor time from the isolates of other cores.
    static constexpr const char* kFlags =
#if V8_MAJOR_VERSION < 11  // later versions do not have this flag
        "--no-experimental-wasm-threads "
#endif
        "--no-verify-snapshot-checksum --wasm-max-mem-pages=16384 "
        "--no-concurrent-array-buffer-sweeping --no-parallel-scavenge";

    // Initializes V8 at the first call. If `pool` is given, V8's worker tasks run there from now
    // on. Without any pool they run on the thread that posts them, as in a tool with one thread.
    static Platform& start(BlockingPool* pool);
    // The pool ends with its runtime. If it is still in use, worker tasks run on the thread that
    // posts them from now on.
    void forget(BlockingPool* pool);

    // Around the life of an isolate: added before Initialize(), removed before Dispose().
    std::shared_ptr<ForegroundTasks> add_isolate(v8::Isolate* isolate);
    void remove_isolate(v8::Isolate* isolate);

    v8::PageAllocator* GetPageAllocator() override { return nullptr; }  // V8 uses its own
    int NumberOfWorkerThreads() override;
    std::shared_ptr<v8::TaskRunner> GetForegroundTaskRunner(v8::Isolate* isolate) override;
    void CallOnWorkerThread(std::unique_ptr<v8::Task> task) override;
    // V8 delays only tasks that may also run at once.
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
