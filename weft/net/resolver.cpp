#include "weft/net/resolver.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/net/internal/dns_cache.h"
#include "weft/net/internal/dns_query.h"
#include "weft/sync/event.h"

namespace weft::net {
namespace {

constexpr std::size_t kNameBytesMax = 253;
constexpr std::size_t kLabelBytesMax = 63;

bool is_label(std::string_view label) {
    return !label.empty() && label.size() <= kLabelBytesMax &&
           std::ranges::all_of(label, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
           });
}

// The name in lower case and without the dot at its end; no value when no host can have it.
std::optional<std::string> host_name(std::string_view text) {
    if (text.ends_with('.')) text.remove_suffix(1);
    if (text.empty() || text.size() > kNameBytesMax) return std::nullopt;
    std::string name(text);
    for (char& c : name) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    std::string_view rest = name;
    for (;;) {
        std::size_t dot = rest.find('.');
        std::string_view label = rest.substr(0, dot);
        if (!is_label(label)) return std::nullopt;
        if (dot != std::string_view::npos) {
            rest.remove_prefix(dot + 1);
            continue;
        }
        // Old resolvers read a name that ends in a number as an address, each in its own way.
        bool is_number = label[0] >= '0' && label[0] <= '9' &&
                         (label.starts_with("0x") ||
                          std::ranges::all_of(label, [](char c) { return c >= '0' && c <= '9'; }));
        if (is_number) return std::nullopt;
        return name;
    }
}

}  // namespace

struct Resolver::State : std::enable_shared_from_this<State> {
    // A query that is under way. Shared by its fiber, those who wait for it and `lookups`.
    struct Lookup {
        explicit Lookup(std::string its_name) : name(std::move(its_name)) {}

        const std::string name;
        Event done;
        DnsOutcome outcome = ErrorKind::Dns;  // published by done
    };

    explicit State(ResolverOptions given)
        : options(std::move(given)), cache(options.cached_names_max) {}

    DnsOutcome ask(const std::string& name, Deadline deadline);
    DnsOutcome ask_on_thread(const std::string& name, Deadline deadline);
    void run(const std::shared_ptr<Lookup>& lookup);
    DnsOutcome answer(const std::string& name);
    DnsOutcome keep(const std::string& name, Result<DnsAnswer> answer);
    void finish(Lookup& lookup, DnsOutcome outcome);
    void fail_unstarted(Lookup& lookup, const Error& error);

    const ResolverOptions options;
    SpinLock lock;  // guards the next three
    DnsCache cache;
    std::map<std::string, std::shared_ptr<Lookup>> lookups;
    std::uint64_t queries = 0;
};

Resolver::Resolver(ResolverOptions options) : state_(std::make_shared<State>(std::move(options))) {}
Resolver::Resolver(Resolver&&) noexcept = default;
Resolver& Resolver::operator=(Resolver&&) noexcept = default;
Resolver::~Resolver() = default;

std::uint64_t Resolver::queries() const {
    SpinGuard guard(state_->lock);
    return state_->queries;
}

Result<std::vector<IpAddress>> Resolver::resolve(std::string_view text, Deadline deadline) {
    WEFT_ASSERT(state_, "this resolver has been moved from");
    if (Result<IpAddress> literal = IpAddress::parse(text)) return std::vector{*literal};
    std::optional<std::string> name = host_name(text);
    if (!name)
        return Error(ErrorKind::Dns,
                     "resolve '" + std::string(text) + "': no host has such a name");
    if (*name == "localhost" || name->ends_with(".localhost")) {
        constexpr std::array<std::uint8_t, 16> kLoopback6{0, 0, 0, 0, 0, 0, 0, 0,
                                                          0, 0, 0, 0, 0, 0, 0, 1};
        return std::vector{IpAddress::v6(kLoopback6), IpAddress::loopback()};
    }
    auto known = state_->options.table.find(*name);
    if (known != state_->options.table.end()) return known->second;
    if (env::current())
        return Error(ErrorKind::Dns, "resolve " + *name + ": it is not in the table");
    return state_->ask(*name, deadline);
}

// ---------------------------------------------------------------- asking the servers

DnsOutcome Resolver::State::keep(const std::string& name, Result<DnsAnswer> answer) {
    if (!answer) return answer.error();
    WEFT_DASSERT(!answer->outcome || !answer->outcome->empty(), "without addresses it is an error");
    SpinGuard guard(lock);
    cache.put(name, *answer, Clock::now());
    return std::move(answer->outcome);
}

void Resolver::State::finish(Lookup& lookup, DnsOutcome outcome) {
    lookup.outcome = std::move(outcome);
    {
        SpinGuard guard(lock);
        auto found = lookups.find(lookup.name);
        WEFT_ASSERT(found != lookups.end() && found->second.get() == &lookup,
                    "a lookup is in the table until it ends, which it does once");
        lookups.erase(found);
    }
    lookup.done.set();
}

// The query did not begin: those who wait get the error, and the next caller tries again.
void Resolver::State::fail_unstarted(Lookup& lookup, const Error& error) {
    finish(lookup, Error(error).with_context("resolve", lookup.name));
}

// An exception becomes the error: those who wait for the lookup must learn of it, and nobody could
// ask for the name again while it is in the table.
DnsOutcome Resolver::State::answer(const std::string& name) {
    try {
        return keep(name, query_dns(name, options, Deadline::never()));
    } catch (const std::bad_alloc&) {
        return Error(ErrorKind::OutOfMemory).with_context("resolve", name);
    }
}

// The query gets a fiber of its own, below the root token of the runtime: whoever asked first may
// be cancelled while others still wait for the answer. Nothing here throws.
void Resolver::State::run(const std::shared_ptr<Lookup>& lookup) {
    SpawnOptions spawning{.name = "dns", .token = fiber_internal::root_token()};
    Result<void> started = spawn_detached(
        [self = shared_from_this(), lookup] { self->finish(*lookup, self->answer(lookup->name)); },
        [self = shared_from_this(), lookup](const Error& error) {
            self->fail_unstarted(*lookup, error);
        },
        spawning);
    if (!started) fail_unstarted(*lookup, started.error());
}

DnsOutcome Resolver::State::ask_on_thread(const std::string& name, Deadline deadline) {
    {
        SpinGuard guard(lock);
        if (std::optional<DnsOutcome> kept = cache.find(name, Clock::now())) return *kept;
        ++queries;
    }
    return keep(name, query_dns(name, options, deadline));
}

DnsOutcome Resolver::State::ask(const std::string& name, Deadline deadline) {
    if (!current()) return ask_on_thread(name, deadline);
    std::shared_ptr<Lookup> lookup;
    bool is_first = false;
    {
        SpinGuard guard(lock);
        if (std::optional<DnsOutcome> kept = cache.find(name, Clock::now())) return *kept;
        auto found = lookups.find(name);
        if (found != lookups.end()) {
            lookup = found->second;
        } else {
            if (lookups.size() >= kDnsQueriesMax)
                return Error::limit("there are more DNS queries under way than", kDnsQueriesMax,
                                    "kDnsQueriesMax")
                    .with_context("resolve", name);
            lookup = std::make_shared<Lookup>(name);
            lookups.emplace(name, lookup);
            ++queries;
            is_first = true;
        }
    }
    if (is_first) run(lookup);
    WEFT_TRY(in_context(lookup->done.wait_until(deadline), "resolve", name));
    return lookup->outcome;
}

}  // namespace weft::net
