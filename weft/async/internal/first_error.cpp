#include "weft/async/internal/first_error.h"

#include <utility>

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/fiber.h"

namespace weft::async_internal {

bool FirstError::add(const Error& error, const CancelState& jobs) {
    // Allocated before the lock is taken.
    std::list<Error> entry;
    if (collected_max_ != 0) entry.push_back(error);
    bool first = false;
    bool kept = false;
    std::size_t one_more = WEFT_PLANTED("first_error.collects_one_more") ? 1 : 0;
    {
        SpinGuard guard(lock_);
        first = !first_;
        bool takes = first || WEFT_PLANTED("first_error.keeps_the_last");
        if (takes && !dropped_) first_ = error;
        kept = first && !dropped_;
        if (collected_.size() < collected_max_ + one_more && !dropped_) {
            kept = true;
            collected_.splice(collected_.end(), entry);
        }
        WEFT_DASSERT(collected_.size() <= collected_max_ + one_more);
    }
    if (!kept) fiber_internal::dropped("a job", error, &jobs);
    return first;
}

std::optional<Error> FirstError::get() const {
    SpinGuard guard(lock_);
    return first_;
}

std::vector<Error> FirstError::collected() const {
    std::vector<Error> copy;
    if (collected_max_ == 0) return copy;
    std::size_t count = 0;
    {
        SpinGuard guard(lock_);
        count = collected_.size();
    }
    copy.reserve(count);
    SpinGuard guard(lock_);
    WEFT_ASSERT(collected_.size() >= count, "collected errors are never removed");
    // Errors added meanwhile are left out: nothing is allocated under the lock.
    for (auto error = collected_.begin(); copy.size() < count; ++error) copy.push_back(*error);
    return copy;
}

void FirstError::drop(const CancelState& jobs) {
    std::optional<Error> first;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(!dropped_, "the kept error would be logged and counted twice");
        dropped_ = true;
        first = first_;
    }
    if (first) fiber_internal::dropped("a job", *first, &jobs);
}

}  // namespace weft::async_internal
