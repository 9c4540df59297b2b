#include "weft/net/dial.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "weft/async/group.h"
#include "weft/base/assert.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/event.h"

namespace weft::net {
namespace {

// The most telling failure so far.
class Failure {
public:
    explicit Failure(std::string_view host) : host_(host) {}

    void note(const Error& error) {
        // An unreachable network says less than a host that has answered. An attempt is cancelled
        // when another one got no memory, or when the caller has given up.
        bool says_little =
            error.kind() == ErrorKind::Unreachable || error.kind() == ErrorKind::Cancelled;
        if (says_little && error_) return;
        error_ = error;
    }
    // The text has the address already; a name that was resolved to it is added.
    Error error() const {
        if (!error_) return Error(ErrorKind::Dns, "resolve " + std::string(host_) + ": no address");
        return IpAddress::parse(host_) ? *error_ : error_->with_context(host_);
    }

private:
    const std::string_view host_;
    std::optional<Error> error_;
};

Result<void> check(const Address& address, const DialOptions& options) {
    return options.allow ? options.allow(address) : Result<void>();
}

Error refusal(const Address& address, const Error& error) {
    return error.with_context("connect", address.to_string());
}

Result<Socket> dial_in_turn(const std::vector<Address>& addresses, std::string_view host,
                            Deadline deadline, const DialOptions& options) {
    Failure failure(host);
    for (const Address& address : addresses) {
        Result<void> allowed = check(address, options);
        Result<Socket> socket = allowed ? Socket::connect(address, deadline, options.socket)
                                        : Result<Socket>(refusal(address, allowed.error()));
        if (socket) return socket;
        failure.note(socket.error());
        WEFT_TRY(async::Context::current().check());
        if (deadline.expired(Clock::now())) break;
    }
    return failure.error();
}

// The attempts of one dial. It outlives them: its group waits for them.
class Race {
public:
    Race(std::string_view host, Deadline deadline, const DialOptions& options)
        : host_(host),
          deadline_(deadline),
          options_(options),
          owned_(async::Context::current().with_cancel()),
          failure_(host),
          group_(owned_.context) {}

    Result<Socket> run(const std::vector<Address>& addresses);

private:
    class Attempt;
    Result<void> try_all(const std::vector<Address>& addresses);
    Result<void> begin(const Address& address);
    void end(Result<Socket> socket);
    void note_failure(const Error& error);
    template <class Condition>
    Result<void> wait_for(Condition condition, Deadline until);

    const std::string_view host_;
    const Deadline deadline_;
    const DialOptions& options_;
    async::OwnedContext owned_;  // of the attempts

    Event changed_;  // an attempt has ended
    SpinLock lock_;  // guards the next four
    std::size_t running_ = 0;
    std::size_t failures_ = 0;
    std::optional<Socket> winner_;
    Failure failure_;

    async::Group group_;  // last, because its jobs use all of the above
};

void Race::note_failure(const Error& error) {
    SpinGuard guard(lock_);
    ++failures_;
    failure_.note(error);
}

// What the fiber of an attempt runs. The destructor reports the outcome to the race, because a
// fiber that gets no stack destroys its function without having called it.
class Race::Attempt {
public:
    Attempt(Race& race, const Address& address) : race_(&race), address_(address) {}
    Attempt(Attempt&& other) noexcept
        : race_(std::exchange(other.race_, nullptr)),
          address_(std::move(other.address_)),
          outcome_(std::move(other.outcome_)) {}
    Attempt& operator=(Attempt&&) = delete;
    ~Attempt() {
        if (race_) race_->end(std::move(outcome_));
    }
    void operator()() {
        WEFT_ASSERT(race_, "an attempt that was moved from does not run");
        outcome_ = Socket::connect(address_, race_->deadline_, race_->options_.socket);
    }

private:
    Race* race_;  // null: moved from; the new object reports
    Address address_;
    Result<Socket> outcome_ = ErrorKind::OutOfMemory;
};

Result<void> Race::begin(const Address& address) {
    {
        SpinGuard guard(lock_);
        ++running_;
        WEFT_ASSERT(running_ <= kDialAddressesMax, "one attempt for each address");
    }
    return group_.go(Attempt(*this, address));
}

void Race::end(Result<Socket> socket) {
    if (!socket) note_failure(socket.error());
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(running_ > 0, "each attempt reports its outcome once");
        --running_;
        if (socket && !winner_) winner_ = std::move(*socket);
    }
    changed_.set();
}

// Returns when the condition holds, or at `until`. An error means that the caller was cancelled, or
// that the deadline of its context has passed.
template <class Condition>
Result<void> Race::wait_for(Condition condition, Deadline until) {
    for (;;) {
        changed_.reset();
        {
            SpinGuard guard(lock_);
            if (condition()) return {};
        }
        Result<void> changed = changed_.wait_until(until);
        if (changed) continue;
        WEFT_TRY(async::Context::current().check());
        if (changed.error().kind() == ErrorKind::TimedOut) return {};
        return changed;
    }
}

// RFC 8305 §5: the next attempt begins after the delay, or at once when one has failed.
Result<void> Race::try_all(const std::vector<Address>& addresses) {
    for (const Address& address : addresses) {
        if (Result<void> allowed = check(address, options_); !allowed) {
            note_failure(refusal(address, allowed.error()));
            continue;
        }
        std::size_t failures_before = [&] {
            SpinGuard guard(lock_);
            return failures_;
        }();
        WEFT_TRY(begin(address));
        Deadline delay = Deadline::after(options_.attempt_delay);
        bool has_winner = false;
        auto may_go_on = [&] {
            has_winner = winner_.has_value();
            return has_winner || failures_ != failures_before;
        };
        WEFT_TRY(wait_for(may_go_on, earlier(delay, deadline_)));
        if (has_winner || deadline_.expired(Clock::now())) return {};
    }
    return wait_for([&] { return winner_ || running_ == 0; }, deadline_);
}

Result<Socket> Race::run(const std::vector<Address>& addresses) {
    Result<void> outcome = try_all(addresses);
    owned_.source.cancel();
    static_cast<void>(group_.wait());  // each attempt has reported its own outcome
    // From here on lock_ is not needed.
    WEFT_ASSERT(running_ == 0, "a job is destroyed, and so reports, before the group counts it");
    if (winner_) return std::move(*winner_);
    if (!outcome) return outcome.error();
    if (deadline_.expired(Clock::now()))
        return Error(ErrorKind::TimedOut).with_context("connect", host_);
    // An attempt that was cancelled before it began has not reported Cancelled.
    WEFT_TRY(async::Context::current().check());
    return failure_.error();
}

}  // namespace

std::vector<IpAddress> interleaved(const std::vector<IpAddress>& addresses) {
    std::vector<IpAddress> six;
    std::vector<IpAddress> four;
    for (const IpAddress& address : addresses) (address.is_v4() ? four : six).push_back(address);
    std::vector<IpAddress> ordered;
    for (std::size_t i = 0; i < std::max(six.size(), four.size()); ++i) {
        if (i < six.size()) ordered.push_back(six[i]);
        if (i < four.size()) ordered.push_back(four[i]);
    }
    WEFT_DASSERT(ordered.size() == addresses.size(), "every address is tried once");
    return ordered;
}

Result<Socket> dial(Resolver& resolver, std::string_view host, std::uint16_t port,
                    Deadline deadline, const DialOptions& options) {
    std::vector<IpAddress> found = interleaved(WEFT_TRY(resolver.resolve(host, deadline)));
    if (found.size() > kDialAddressesMax) found.resize(kDialAddressesMax);
    std::vector<Address> addresses;
    for (const IpAddress& ip : found) addresses.emplace_back(ip, port);
    if (addresses.size() == 1 || !current())
        return dial_in_turn(addresses, host, deadline, options);
    return Race(host, deadline, options).run(addresses);
}

}  // namespace weft::net
