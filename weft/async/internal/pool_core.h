// PoolCore: the queue of a pool and the fibers that work it off.
//
// Admission comes first (a place among workers + queue_size), then the job is stored and queued,
// and only then a fiber is started, if fewer than `workers` are at work. A fiber takes jobs until
// the queue is empty and then ends. The place of a job that has ended goes straight to the
// submitter that has waited longest.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/internal/first_error.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/job_count.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/internal/wait_queue.h"  // tidy: allow layers: it waits as sync/ does

namespace weft::async_internal {

// A stored function. Made once and used again, so that submitting does not allocate.
struct PoolJob {
    static constexpr std::size_t kStorageBytes = 40;

    PoolJob* next = nullptr;
    Result<void> (*call)(PoolJob& job, Context& context) = nullptr;
    void (*destroy)(PoolJob& job) = nullptr;
    std::string name;  // that was given; the fiber's while it runs
    alignas(void*) std::byte storage[kStorageBytes];

    template <class Function>
    void keep(Function&& function);
};

class PoolCore final : public CancelState {
public:
    static constexpr FiberLabel kLabel{"pool worker"};
    static PoolCore* create(const Context& parent, std::size_t workers, std::size_t queue_size) {
        return make<PoolCore>(parent_of_core(parent), workers, queue_size);
    }

    // A place for one job, to be filled by accept(), with the job that was there before, if any.
    Result<PoolJob*> admit_at_once();
    Result<PoolJob*> admit();  // as long as the ambient context goes on
    Result<PoolJob*> admit(const Context& waiting);
    Result<PoolJob*> admit_until(Deadline deadline);
    template <class Function>
    void accept(PoolJob* admitted, std::string_view name, Function&& function) {
        Place place(*this, admitted);
        if (!name.empty()) place.job->name = name;
        place.job->keep(std::forward<Function>(function));
        enqueue(*std::exchange(place.job, nullptr));
    }

    Result<void> close();
    void end();

    // For JobBody: a fiber that works.
    struct Work {};
    Result<void> call(Work&);
    void finish(Result<void> outcome);

private:
    friend class CancelState;
    static constexpr Nature kNature{destroy_as<PoolCore>};

    struct Submitter : sync_internal::WaitEntry {
        PoolJob* job = nullptr;  // none: the pool was closed
    };
    // An admitted job until it is queued: a function may throw when it is moved.
    struct Place {
        Place(PoolCore& owner, PoolJob* admitted);
        ~Place();
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        PoolCore& core;
        PoolJob* job;
    };

    PoolCore(CancelState* parent, std::size_t workers, std::size_t queue_size);
    ~PoolCore();

    bool try_take_place(PoolJob*& job);
    Result<PoolJob*> wait_for_place(Deadline deadline, const CancelToken& token);
    void close_to_submitters();
    void enqueue(PoolJob& job);
    PoolJob* first_job();
    PoolJob* take_job();
    static Result<void> run(PoolJob& job, Context& context);
    void clear(PoolJob& job, const Result<void>& outcome);
    enum class Then { TakeNext, Nothing };
    PoolJob* give_back(PoolJob& job, Then then);
    void fail_queue(const Error& error);

    const std::size_t workers_max_;
    const std::size_t accepted_max_;

    SpinLock lock_;  // all that follows, up to submitters_
    bool closed_ = false;
    std::size_t accepted_ = 0;  // for jobs_ all of them together are one
    std::size_t working_ = 0;   // fibers
    PoolJob* first_ = nullptr;
    PoolJob* last_ = nullptr;
    PoolJob* free_ = nullptr;
    sync_internal::WaitQueue submitters_;

    JobCount jobs_;
    FirstError errors_;
};

template <class Function>
void PoolJob::keep(Function&& function) {
    using Stored = StoredFunction<Function, kStorageBytes>;
    new (storage) Stored(store_function<kStorageBytes>(std::forward<Function>(function)));
    call = [](PoolJob& job, Context& context) -> Result<void> {
        return call_without_value(*std::launder(reinterpret_cast<Stored*>(job.storage)), context);
    };
    destroy = [](PoolJob& job) { std::launder(reinterpret_cast<Stored*>(job.storage))->~Stored(); };
}

}  // namespace weft::async_internal
