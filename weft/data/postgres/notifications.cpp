#include "weft/data/postgres/notifications.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/internal/connector.h"
#include "weft/data/postgres/internal/session.h"
#include "weft/fiber/fiber.h"

namespace weft::data {
namespace {

struct NotifyDeleter {
    void operator()(PGnotify* notify) const { PQfreemem(notify); }
};

}  // namespace

struct Notifications::State {
    Result<void> subscribe() {
        WEFT_ASSERT(!session, "the session before it was closed");
        WEFT_ASSERT(!listen.empty(), "there is a channel to subscribe to");
        postgres::Session fresh = WEFT_TRY(connector->connect());
        WEFT_TRY(fresh.command(listen));
        session.emplace(std::move(fresh));
        return {};
    }
    std::optional<Notification> take() {
        std::unique_ptr<PGnotify, NotifyDeleter> told(PQnotifies(session->link().pg()));
        if (!told) return std::nullopt;
        return Notification{.kind = Notification::Kind::Told,
                            .channel = told->relname,
                            .payload = told->extra,
                            .process = told->be_pid};
    }
    // Retries until it succeeds, is cancelled, or gets an error that retrying does not mend.
    Result<void> subscribe_again() {
        session.reset();
        for (Nanoseconds pause = kPauseInitial;; pause = std::min(pause * 2, kPauseMax)) {
            Result<void> subscribed = subscribe();
            if (subscribed) return {};
            WEFT_TRY(CancelToken::current().check());
            Cause cause = cause_of(subscribed.error());
            if (cause != Cause::Connection && cause != Cause::Resources) return subscribed;
            WEFT_TRY(sleep_for(pause));
        }
    }

    std::unique_ptr<postgres::Connector> connector;
    std::string listen;
    std::optional<postgres::Session> session;
};

Notifications::Notifications(std::unique_ptr<State> state) : state_(std::move(state)) {}
Notifications::Notifications(Notifications&& other) noexcept = default;
Notifications& Notifications::operator=(Notifications&& other) noexcept = default;
Notifications::~Notifications() = default;

Result<Notifications> Notifications::open(const PostgresOptions& options,
                                          std::vector<std::string> channels) {
    auto state = std::make_unique<State>();
    state->connector = WEFT_TRY(postgres::Connector::create(options, Access::ReadWrite));
    if (channels.empty()) return Error(ErrorKind::Misuse, "no channel to listen to");
    for (const std::string& channel : channels) {
        Identifier name = WEFT_TRY(identifier(channel));
        state->listen.append("listen ").append(name.quoted()).append(";");
    }
    WEFT_TRY(state->subscribe());
    return Notifications(std::move(state));
}

Result<Notification> Notifications::next() {
    WEFT_ASSERT(state_, "a moved-from object is not used");
    for (;;) {
        bool there = state_->session && !state_->session->link().is_broken();
        if (there) {
            if (auto told = state_->take()) return std::move(*told);
            Result<void> received = state_->session->link().receive();
            if (received) continue;
            WEFT_TRY(CancelToken::current().check());
            // Notifications that arrived before the loss are returned first.
            if (auto told = state_->take()) return std::move(*told);
        }
        WEFT_TRY(state_->subscribe_again());
        return Notification{.kind = Notification::Kind::Reconnected};
    }
}

}  // namespace weft::data
