#include "weft/async/group.h"

#include "weft/base/planted.h"

namespace weft::async_internal {

Result<void> GroupCore::wait() {
    if (!jobs_.close_and_wait(*this)) return async::kGroupWaited();
    cancel(CancelReason::Cancelled);
    if (std::optional<Error> first = errors_.get()) return *first;
    return {};
}

void GroupCore::fail(const Error& error) {
    bool ends = errors_.add(error, *this) && !WEFT_PLANTED("group.spares_the_siblings");
    if (ends) cancel(CancelReason::Cancelled);
}

void GroupCore::end() {
    if (jobs_.end(*this) != JobCount::End::Awaited) errors_.drop(*this);
}

}  // namespace weft::async_internal

namespace weft::async {

Result<Group> Group::create(const Context& parent, GroupOptions options) {
    if (options.collect_errors && options.max_errors <= 0) return kGroupMaxErrors();
    std::size_t errors_max =
        options.collect_errors ? static_cast<std::size_t>(options.max_errors) : 0;
    return Group(async_internal::GroupCore::create(parent, errors_max));
}

}  // namespace weft::async
