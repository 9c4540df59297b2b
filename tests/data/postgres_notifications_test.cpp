#include <gtest/gtest.h>

#include <string>

#include "tests/data/postgres_fixture.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/notifications.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"

namespace weft::data::testing {
namespace {

class PostgresNotifications : public PostgresTest {};

TEST_F(PostgresNotifications, DAT_3_what_others_notify_comes_in_order) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        PostgresOptions options{.connection_string = server->local()};
        Notifications told = WEFT_TRY(Notifications::open(options, {"a", "Quoted \"b\""}));
        auto first = spawn([&] { return told.next(); });
        WEFT_TRY(connection->run(sql("select pg_notify({}, {})", "a", "one"), kAnyRows));
        EXPECT_EQ(WEFT_TRY(first.join(far())).payload, "one");
        for (int i = 0; i < 100; ++i) {
            WEFT_TRY(connection->run(
                sql("select pg_notify({}, {})", "Quoted \"b\"", std::to_string(i)), kAnyRows));
        }
        for (int i = 0; i < 100; ++i) {
            Notification one = WEFT_TRY(told.next());
            EXPECT_EQ(one.channel, "Quoted \"b\"");
            EXPECT_EQ(one.payload, std::to_string(i));
        }
        return {};
    });
}

TEST_F(PostgresNotifications, DAT_9_a_wait_that_is_over_leaves_the_subscription) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        PostgresOptions options{.connection_string = server->local()};
        Notifications told = WEFT_TRY(Notifications::open(options, {"a"}));
        {
            CancelSource source =
                CancelSource::with_deadline(Deadline::after(std::chrono::milliseconds(10)));
            CancelScope scope(source.token());
            EXPECT_EQ(told.next().error().kind(), ErrorKind::TimedOut);
        }
        WEFT_TRY(connection->run("notify a, 'still there'", kAnyRows));
        EXPECT_EQ(WEFT_TRY(told.next()).payload, "still there");
        return {};
    });
}

TEST_F(PostgresNotifications, DAT_3_a_lost_connection_is_made_again_and_that_is_told) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        PostgresOptions options{.connection_string = server->local("application_name=listener")};
        Notifications told = WEFT_TRY(Notifications::open(options, {"a"}));
        WEFT_TRY(
            connection->run("select pg_terminate_backend(pid) from pg_stat_activity where "
                            "application_name = 'listener'",
                            kAnyRows));
        Notification again = WEFT_TRY(told.next());
        EXPECT_EQ(again.kind, Notification::Kind::Reconnected);
        WEFT_TRY(connection->run("notify a, 'after'", kAnyRows));
        EXPECT_EQ(WEFT_TRY(told.next()).payload, "after");
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
