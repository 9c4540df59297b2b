// PoolCore: the queue of a pool and the fibers that run its jobs. Any fiber, any thread.
//
// A submitter is first admitted to one of workers + queue_size places; then the job is stored and
// queued, and only then a fiber is started, if fewer than `workers` run. A fiber takes jobs until
// the queue is empty and then ends. The place of a job that has ended is handed over to the
// submitter that has waited longest.
//
// A trivially copyable function is offered with the request for a place: it is stored and queued by
// whoever grants the place. Then a job costs the submitter one acquisition of the lock, and its
// fiber another one.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/internal/first_error.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/job_count.h"
#include "weft/base/assert.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/internal/wait_queue.h"  // tidy: allow layers: it waits as sync/ does

namespace weft::async_internal {

// A function with the means to call and to destroy it.
struct StoredJob {
    static constexpr std::size_t kStorageBytes = 40;

    Result<void> (*call)(StoredJob& job, Context& context) = nullptr;
    void (*destroy)(StoredJob& job) = nullptr;
    alignas(void*) std::byte storage[kStorageBytes];

    template <class Function>
    void emplace(Function&& function);
};

// Kept in a free list and reused, so that submitting rarely allocates.
struct PoolJob : StoredJob {
    PoolJob* next = nullptr;
    std::string name;  // as given by the submitter; the name of the fiber while it runs the job
};

// What a submitter offers: the job itself, if it is trivially copyable and has no name.
template <class Function>
class JobOffer {
public:
    JobOffer(std::string_view name, Function& function) {
        if constexpr (kIsBytes) {
            if (!name.empty()) return;
            job_.emplace(function);
            has_job_ = true;
        }
    }
    const StoredJob* job() const { return has_job_ ? &job_ : nullptr; }

private:
    using Plain = std::remove_const_t<Function>;
    static constexpr bool kIsBytes =
        std::is_same_v<StoredFunction<Plain, StoredJob::kStorageBytes>, Plain> &&
        std::is_trivially_copyable_v<Plain> && std::is_trivially_copy_constructible_v<Plain>;

    StoredJob job_;
    bool has_job_ = false;
};

class PoolCore final : public CancelState {
public:
    static constexpr FiberLabel kLabel{"pool worker"};
    static PoolCore* create(const Context& parent, std::size_t workers, std::size_t queue_size) {
        return make<PoolCore>(parent_of_core(parent), workers, queue_size);
    }

    // A place for one job, to be filled by accept(), with an object from the free list, if any. An
    // offered job is stored and queued at once if there was such an object.
    struct Admitted {
        PoolJob* job = nullptr;
        bool is_queued = false;
        bool starts_fiber = false;  // the caller starts a fiber, which working_ counts already
    };
    Result<Admitted> admit_at_once(const StoredJob* offered);
    Result<Admitted> admit(const StoredJob* offered);  // waits until the ambient context ends
    Result<Admitted> admit(const StoredJob* offered, const Context& waiting);
    Result<Admitted> admit_until(const StoredJob* offered, Deadline deadline);
    template <class Function>
    Result<void> accept(const Result<Admitted>& admitted, std::string_view name,
                        Function&& function) {
        if (!admitted) return admitted.error();
        WEFT_DASSERT(!admitted->is_queued || !admitted->job, "the job of a free place is queued");
        WEFT_DASSERT(admitted->is_queued || !admitted->starts_fiber,
                     "a fiber is started for a queued job");
        if (admitted->starts_fiber) start_fiber();
        if (admitted->is_queued) return {};
        Place place(*this, admitted->job);
        if (!name.empty()) place.job->name = name;
        place.job->emplace(std::forward<Function>(function));
        enqueue(*std::exchange(place.job, nullptr));
        return {};
    }

    Result<void> close();
    void end();

    // For JobBody: a fiber that runs jobs of the queue.
    struct Work {};
    Result<void> call(Work&);
    void finish(Result<void> outcome);

private:
    friend class CancelState;
    static constexpr NodeType kNodeType{destroy_as<PoolCore>};

    struct Submitter : sync_internal::WaitEntry {
        const StoredJob* offered = nullptr;
        bool is_admitted = false;  // still false when the wait is over: the pool was closed
        Admitted admitted;
    };
    // Owns an admitted place until its job is queued: moving the function may throw.
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

    bool try_take_place(const StoredJob* offered, Admitted& admitted);
    Result<Admitted> wait_for_place(const StoredJob* offered, Deadline deadline,
                                    const CancelToken& token);
    void close_to_submitters();
    void append(PoolJob& job);
    Admitted fill(PoolJob* job, const StoredJob* offered);
    bool count_fiber();
    void start_fiber();
    void enqueue(PoolJob& job);
    PoolJob* first_job();
    PoolJob* take_job();
    static Result<void> run(PoolJob& job, Context& context);
    void end_job(PoolJob& job, const Result<void>& outcome);
    enum class Then { TakeNext, Nothing };
    PoolJob* release_place(PoolJob& job, Then then);
    void fail_queue(const Error& error);

    const std::size_t workers_max_;
    const std::size_t accepted_max_;

    SpinLock lock_;  // all that follows, up to submitters_
    bool closed_ = false;
    std::size_t accepted_ = 0;  // taken places; jobs_ counts one while there are any
    std::size_t working_ = 0;   // fibers that run, or are about to
    PoolJob* first_ = nullptr;
    PoolJob* last_ = nullptr;
    PoolJob* free_ = nullptr;
    sync_internal::WaitQueue submitters_;

    JobCount jobs_;
    FirstError errors_;
};

template <class Function>
void StoredJob::emplace(Function&& function) {
    using Stored = StoredFunction<Function, kStorageBytes>;
    new (storage) Stored(store_function<kStorageBytes>(std::forward<Function>(function)));
    call = [](StoredJob& job, Context& context) -> Result<void> {
        return call_without_value(*std::launder(reinterpret_cast<Stored*>(job.storage)), context);
    };
    destroy = [](StoredJob& job) {
        std::launder(reinterpret_cast<Stored*>(job.storage))->~Stored();
    };
}

}  // namespace weft::async_internal
