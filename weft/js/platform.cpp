#include "weft/js/platform.h"

#include <libplatform/libplatform.h>

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/fiber/blocking.h"

namespace weft::js {

void ForegroundTasks::set_notify(Notify notify) {
    std::vector<Entry> dropped;
    std::lock_guard lock(lock_);
    notify_ = std::move(notify);
    if (!notify_) dropped.swap(entries_);
}

void ForegroundTasks::add(Entry entry) {
    Notify notify;
    {
        std::lock_guard lock(lock_);
        if (!notify_) return;
        entries_.push_back(std::move(entry));
        if (std::exchange(posted_, true)) return;
        notify = notify_;
    }
    notify();
}

void ForegroundTasks::PostTask(std::unique_ptr<v8::Task> task) {
    add(Entry{Instant::min(), std::move(task)});
}

void ForegroundTasks::PostDelayedTask(std::unique_ptr<v8::Task> task, double delay_s) {
    add(Entry{Clock::now() + saturate(std::chrono::duration<double>(delay_s)), std::move(task)});
}

Instant ForegroundTasks::run_due(Instant now) {
    std::vector<Entry> due;
    Instant next = Instant::max();
    {
        std::lock_guard lock(lock_);
        posted_ = false;
        auto later = std::stable_partition(entries_.begin(), entries_.end(),
                                           [&](const Entry& entry) { return entry.due > now; });
        due.assign(std::make_move_iterator(later), std::make_move_iterator(entries_.end()));
        entries_.erase(later, entries_.end());
        for (const Entry& entry : entries_) next = std::min(next, entry.due);
        WEFT_DASSERT(entries_.empty() || next > now, "only tasks that are not due are left");
    }
    for (Entry& entry : due) entry.task->Run();
    return next;
}

Platform& Platform::start(BlockingPool* pool) {
    static Platform* platform = [] {
        // It is never destroyed: V8 calls it until the process has ended.
        auto* made = new Platform;  // tidy: allow new: see above
        v8::V8::InitializePlatform(made);
        v8::V8::SetFlagsFromString(kFlags);
        v8::V8::Initialize();
        return made;
    }();
    if (pool) {
        std::lock_guard lock(platform->lock_);
        platform->pool_ = pool;
    }
    return *platform;
}

void Platform::forget(BlockingPool* pool) {
    std::lock_guard lock(lock_);
    if (pool_ == pool) pool_ = nullptr;
}

std::shared_ptr<ForegroundTasks> Platform::add_isolate(v8::Isolate* isolate) {
    auto tasks = std::make_shared<ForegroundTasks>();
    std::lock_guard lock(lock_);
    isolates_[isolate] = tasks;
    return tasks;
}

void Platform::remove_isolate(v8::Isolate* isolate) {
    std::lock_guard lock(lock_);
    std::size_t removed = isolates_.erase(isolate);
    WEFT_ASSERT(removed == 1, "an isolate is removed once, before its address is used again");
}

int Platform::NumberOfWorkerThreads() { return 2; }

std::shared_ptr<v8::TaskRunner> Platform::GetForegroundTaskRunner(v8::Isolate* isolate) {
    std::lock_guard lock(lock_);
    auto found = isolates_.find(isolate);
    // V8 also asks while it disposes of an isolate. A runner without a notify function drops what
    // is posted then.
    if (found == isolates_.end()) return std::make_shared<ForegroundTasks>();
    return found->second;
}

void Platform::CallOnWorkerThread(std::unique_ptr<v8::Task> task) {
    BlockingPool* pool = nullptr;
    {
        std::lock_guard lock(lock_);
        pool = pool_;
    }
    if (!pool) return task->Run();
    // Shared because std::function must be copyable; the task still has only one owner.
    pool->run_detached([shared = std::shared_ptr<v8::Task>(std::move(task))] { shared->Run(); });
}

std::unique_ptr<v8::JobHandle> Platform::PostJob(v8::TaskPriority priority,
                                                 std::unique_ptr<v8::JobTask> task) {
    auto handle = v8::platform::NewDefaultJobHandle(
        this, priority, std::move(task), static_cast<std::size_t>(NumberOfWorkerThreads()));
    handle->NotifyConcurrencyIncrease();
    return handle;
}

#if V8_MAJOR_VERSION >= 11
std::unique_ptr<v8::JobHandle> Platform::CreateJob(v8::TaskPriority priority,
                                                   std::unique_ptr<v8::JobTask> task) {
    return v8::platform::NewDefaultJobHandle(this, priority, std::move(task),
                                             static_cast<std::size_t>(NumberOfWorkerThreads()));
}
#endif

double Platform::MonotonicallyIncreasingTime() { return static_cast<double>(env::now_ns()) / 1e9; }

double Platform::CurrentClockTimeMillis() { return static_cast<double>(env::wall_ns()) / 1e6; }

}  // namespace weft::js
