// FirstError: keeps the first error of many jobs. Up to a given number the errors are also
// collected; those that are neither kept nor collected are logged and counted. Any fiber, any
// thread.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"

namespace weft::async_internal {

class FirstError {
public:
    explicit FirstError(std::size_t collected_max = 0) : collected_max_(collected_max) {}

    // True if it is the first. `jobs` is the token of the jobs: their runtime counts what is
    // dropped.
    bool add(const Error& error, const CancelState& jobs);
    std::optional<Error> get() const;
    std::vector<Error> collected() const;

    // The owner will not ask: the kept error, and those still to come, are logged and counted.
    void drop(const CancelState& jobs);

private:
    mutable SpinLock lock_;
    bool dropped_ = false;
    std::optional<Error> first_;
    std::list<Error> collected_;
    const std::size_t collected_max_;
};

}  // namespace weft::async_internal
