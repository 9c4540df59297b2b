#include "weft/data/pool.h"

#include "weft/base/assert.h"
#include "weft/data/internal/pool_core.h"

namespace weft::data {

Pool::Pool(std::unique_ptr<Provider> provider, const PoolOptions& options, std::string name)
    : core_(std::make_shared<pool_internal::Core>(std::move(provider), options, std::move(name))) {}

Pool::~Pool() { static_cast<void>(core_->close(Deadline::at(Instant::min()))); }

Result<Lease> Pool::acquire(std::string_view purpose) { return core_->acquire(purpose); }
Result<void> Pool::close(Deadline deadline) { return core_->close(deadline); }
bool Pool::is_closed() const { return core_->is_closed(); }
void Pool::prune() { static_cast<void>(core_->prune(Clock::now())); }
bool Pool::has_free() const { return core_->has_free(); }
std::size_t Pool::waiting() const { return core_->waiting(); }
Error Pool::timed_out() const { return core_->timed_out(); }
PoolStats Pool::stats() const { return core_->stats(); }
const PoolOptions& Pool::options() const { return core_->options(); }
Provider& Pool::provider() const { return core_->provider(); }

Lease::Lease(std::shared_ptr<pool_internal::Core> core, pool_internal::Slot* slot)
    : core_(std::move(core)), slot_(slot) {
    WEFT_ASSERT(slot_->connection, "a leased slot has a connection");
}

Lease::Lease(Lease&& other) noexcept
    : core_(std::move(other.core_)), slot_(std::exchange(other.slot_, nullptr)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
    if (this != &other) {
        give_back();
        core_ = std::move(other.core_);
        slot_ = std::exchange(other.slot_, nullptr);
    }
    return *this;
}

Lease::~Lease() { give_back(); }

Connection& Lease::operator*() const {
    WEFT_ASSERT(slot_, "a lease that was given back is not used");
    return *slot_->connection;
}

void Lease::give_back() {
    WEFT_ASSERT(!slot_ || core_, "a lease with a slot keeps its pool alive");
    if (pool_internal::Slot* slot = std::exchange(slot_, nullptr)) core_->give_back(slot);
    core_.reset();
}

}  // namespace weft::data
