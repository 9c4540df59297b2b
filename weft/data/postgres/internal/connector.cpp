#include "weft/data/postgres/internal/connector.h"

#include <optional>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/fiber/cancel.h"
#include "weft/net/dial.h"
#include "weft/net/tls/tls_config.h"

namespace weft::data::postgres {
namespace {

// An address that does not answer must not use up the time of those after it.
constexpr Nanoseconds kAttemptTimeout = std::chrono::seconds(10);

bool is_interrupted() { return !CancelToken::current().check(); }

}  // namespace

Connector::Connector(Dsn dsn, const PostgresOptions& options, Access access)
    : dsn_(std::move(dsn)),
      session_{.prepare = options.prepare && options.statements_max > 0,
               .statements_max = options.statements_max,
               .read_only = access == Access::Read} {
    WEFT_ASSERT(!dsn_.hosts.empty(), "Dsn::parse() gives at least one host");
}

Result<std::unique_ptr<Connector>> Connector::create(const PostgresOptions& options,
                                                     Access access) {
    Dsn dsn = WEFT_TRY(Dsn::parse(options.connection_string));
    if (access == Access::Read) {
        std::string settings;
        for (auto at = dsn.common.begin(); at != dsn.common.end(); ++at) {
            if (at->keyword != "options") continue;
            settings = at->value + " ";
            dsn.common.erase(at);
            break;
        }
        // Among several settings the last applies.
        dsn.common.push_back({"options", settings + "-c default_transaction_read_only=on"});
    }
    // tidy: allow new: the constructor is private
    std::unique_ptr<Connector> connector(new Connector(std::move(dsn), options, access));
    connector->make_cancel_tls();
    return connector;
}

// Cancelling connections verify the server as strictly as the session does, with the same
// authorities.
void Connector::make_cancel_tls() {
    if (dsn_.tls_mode == TlsMode::Disable) return;
    net::tls::ClientConfig config{.verification = net::tls::Verification::Insecure,
                                  .sessions_max = 0};
    const std::string* authorities = dsn_.find("sslrootcert");
    if (dsn_.tls_mode >= TlsMode::VerifyCa && authorities && *authorities != "system") {
        config.verification = dsn_.tls_mode == TlsMode::VerifyFull
                                  ? net::tls::Verification::Full
                                  : net::tls::Verification::Insecure;
        config.authorities.file = *authorities;
    }
    cancel_tls_ = std::make_shared<CancelContext>(std::move(config));
}

// The deadline for one place when this many are left to try. The caller's time is shared among
// them, or the first silent one would use all of it.
Deadline Connector::attempt_deadline(std::size_t places_left) const {
    WEFT_ASSERT(places_left > 0, "this attempt is counted");
    Deadline deadline = Deadline::never();
    if (dsn_.connect_timeout) {
        deadline = Deadline::after(*dsn_.connect_timeout);
    } else if (places_left > 1) {
        deadline = Deadline::after(kAttemptTimeout);
    }
    Deadline whole = CancelToken::current().deadline();
    if (places_left < 2 || whole.is_never()) return deadline;
    Instant now = Clock::now();
    Nanoseconds share = whole.remaining(now) / static_cast<std::int64_t>(places_left);
    return earlier(deadline, Deadline::after(share, now));
}

Result<std::vector<std::string>> Connector::addresses_of(const Host& host, Deadline deadline) {
    if (!host.address.empty()) return std::vector<std::string>{host.address};
    // Without a host libpq uses its default Unix socket.
    if (host.host.empty() || host.is_unix()) return std::vector<std::string>{std::string()};
    CancelScope scope(CancelSource::with_deadline(deadline).token());
    std::vector<net::IpAddress> found = WEFT_TRY(resolver_.resolve(host.host));
    std::vector<std::string> addresses;
    for (const net::IpAddress& address : net::interleaved(found))
        addresses.push_back(address.to_string());
    return addresses;
}

Result<std::unique_ptr<Link>> Connector::connect_with(std::string_view session_attributes,
                                                      std::size_t rounds) {
    WEFT_ASSERT(rounds > 0, "this round is counted");
    Error last = data::to_error("postgres", "08001", "no host");
    for (std::size_t at = 0; at < dsn_.hosts.size(); ++at) {
        const Host& host = dsn_.hosts[at];
        // Assumes one address for each host that follows.
        std::size_t places_after = rounds * dsn_.hosts.size() - at - 1;
        Result<std::vector<std::string>> addresses =
            addresses_of(host, attempt_deadline(places_after + 1));
        if (!addresses) {
            if (is_interrupted()) return addresses.error();
            constexpr std::string_view kUnshown =
                "a host cannot be looked up; an \"@\" in a password is written %40";
            last = data::to_error(
                "postgres", "08001",
                dsn_.may_show_hosts ? addresses.error().message() : std::string(kUnshown));
            continue;
        }
        for (std::size_t next = 0; next < addresses->size(); ++next) {
            Deadline deadline = attempt_deadline(places_after + addresses->size() - next);
            std::vector<Setting> settings =
                dsn_.settings_for(host, (*addresses)[next], session_attributes);
            Result<std::unique_ptr<Link>> link =
                Link::connect(settings, {cancel_tls_, host.host}, deadline);
            if (link) return link;
            if (is_interrupted()) return link.error();
            bool timed_out = link.error().kind() == ErrorKind::TimedOut;
            last =
                timed_out ? data::to_error("postgres", "08001", "no answer in time") : link.error();
            // Another address of the same server would refuse the credentials as well.
            if (cause_of(last) == Cause::Authentication) return last;
        }
    }
    return last;
}

Result<Session> Connector::connect() {
    bool prefers = dsn_.session_attributes == "prefer-standby";
    Result<std::unique_ptr<Link>> link =
        connect_with(prefers ? "standby" : dsn_.session_attributes, prefers ? 2 : 1);
    if (!link && prefers && !is_interrupted()) link = connect_with("any", 1);
    if (!link) return link.error();
    return Session(std::move(*link), session_);
}

}  // namespace weft::data::postgres
