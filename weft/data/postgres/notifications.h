// LISTEN: receives notifications that others send by NOTIFY, over a connection of its own.
//
//     Notifications orders = WEFT_TRY(Notifications::open(options, {"orders"}));
//     for (;;) {
//         Notification one = WEFT_TRY(orders.next());
//         if (one.kind == Notification::Kind::Reconnected) check_everything();
//         else handle(one.payload);
//     }
//
// When the connection is lost, next() connects and subscribes again with a growing back-off, and
// first returns Reconnected: notifications sent in between are lost. One fiber at a time.
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
    int process = 0;  // the server process of the sender
};

class Notifications {
public:
    static constexpr Nanoseconds kPauseInitial = std::chrono::milliseconds(50);
    static constexpr Nanoseconds kPauseMax = std::chrono::seconds(5);

    // Returns when all channels are subscribed.
    static Result<Notifications> open(const PostgresOptions& options,
                                      std::vector<std::string> channels);
    Notifications(Notifications&& other) noexcept;
    Notifications& operator=(Notifications&& other) noexcept;
    ~Notifications();

    // Waits for the next notification. Cancelled and TimedOut leave the subscription as it is; any
    // other error means that the server refuses connections for a reason that retrying does not
    // mend.
    Result<Notification> next();

private:
    struct State;
    explicit Notifications(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace weft::data
