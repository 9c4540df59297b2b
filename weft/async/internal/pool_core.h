// PoolCore: the queue of a pool and the fibers that work it off.
//
// Admission comes first (a place among workers + queue_size), then the job is stored and queued,
// and only then a fiber is started, if fewer than `workers` are at work. A fiber takes jobs until
// the queue is empty and then ends. The place of a job that has ended goes straight to the
// submitter that has waited longest.
//
// A function that is no more than its bytes is stored and queued by the one who gives its place
// away: then a job costs the submitter one acquisition of the lock, and its fiber another one.
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
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/internal/wait_queue.h"  // tidy: allow layers: it waits as sync/ does

namespace weft::async_internal {

// A function with all that it needs to be called.
struct StoredJob {
    static constexpr std::size_t kStorageBytes = 40;

    Result<void> (*call)(StoredJob& job, Context& context) = nullptr;
    void (*destroy)(StoredJob& job) = nullptr;
    alignas(void*) std::byte storage[kStorageBytes];

    template <class Function>
    void keep(Function&& function);
};

// Made once and used again, so that submitting does not allocate.
struct PoolJob : StoredJob {
    PoolJob* next = nullptr;
    std::string name;  // that was given; the fiber's while it runs
};

// What a submitter brings along: the job itself, if it may be copied as bytes and has no name.
template <class Function>
class JobOffer {
public:
    JobOffer(std::string_view name, Function& function) {
        if constexpr (kIsBytes) {
            if (!name.empty()) return;
            job_.keep(function);
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

    // A place for one job, to be filled by accept(), with the job that was there before, if any. An
    // offered job is stored and queued at once, if there is memory in the pool for it.
    struct Admitted {
        PoolJob* job = nullptr;
        bool is_queued = false;
        bool starts = false;  // a fiber that was counted already
    };
    Result<Admitted> admit_at_once(const StoredJob* offered);
    Result<Admitted> admit(const StoredJob* offered);  // as long as the ambient context goes on
    Result<Admitted> admit(const StoredJob* offered, const Context& waiting);
    Result<Admitted> admit_until(const StoredJob* offered, Deadline deadline);
    template <class Function>
    Result<void> accept(const Result<Admitted>& admitted, std::string_view name,
                        Function&& function) {
        if (!admitted) return admitted.error();
        if (admitted->starts) start_fiber();
        if (admitted->is_queued) return {};
        Place place(*this, admitted->job);
        if (!name.empty()) place.job->name = name;
        place.job->keep(std::forward<Function>(function));
        enqueue(*std::exchange(place.job, nullptr));
        return {};
    }

    Result<void> close();
    void end();

    // For JobBody: a fiber that works.
    struct Work {};
    Result<void> call(Work&);
    void finish(Result<void> outcome);

private:
    friend class CancelState;
    static constexpr NodeType kNodeType{destroy_as<PoolCore>};

    struct Submitter : sync_internal::WaitEntry {
        const StoredJob* offered = nullptr;
        bool is_admitted = false;  // false when woken: the pool was closed
        Admitted admitted;
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
void StoredJob::keep(Function&& function) {
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
