// LISTEN: what others tell by NOTIFY, one after the other, over a connection of its own.
//
//     Notifications orders = WEFT_TRY(Notifications::open(options, {"orders"}));
//     for (;;) {
//         Notification one = WEFT_TRY(orders.next());
//         if (one.kind == Notification::Kind::Reconnected) look_for_everything();
//         else handle(one.payload);
//     }
//
// When the connection is lost, next() makes another and subscribes again, with pauses that grow. It
// says so first: what was told in between is lost. One fiber at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/postgres/postgres.h"

namespace weft::data {

struct Notification {
    enum class Kind : std::uint8_t { Told, Reconnected };

    Kind kind = Kind::Told;
    std::string channel = {};
    std::string payload = {};
    int process = 0;  // of the server's session that told it
};

class Notifications {
public:
    static constexpr Nanoseconds kPauseInitial = std::chrono::milliseconds(50);
    static constexpr Nanoseconds kPauseMax = std::chrono::seconds(5);

    // Returns when all of them are subscribed to.
    static Result<Notifications> open(const PostgresOptions& options,
                                      std::vector<std::string> channels);
    Notifications(Notifications&& other) noexcept;
    Notifications& operator=(Notifications&& other) noexcept;
    ~Notifications();

    // Waits for the next. Cancelled and TimedOut leave the subscription as it is; other errors are
    // those of a server that takes no connection for another reason than being away.
    Result<Notification> next();

private:
    struct State;
    explicit Notifications(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace weft::data
