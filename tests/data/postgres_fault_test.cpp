#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/data/postgres_fixture.h"
#include "weft/base/bytes.h"
#include "weft/data/failure.h"
#include "weft/data/migrations.h"
#include "weft/data/pool.h"
#include "weft/fiber/fiber.h"
#include "weft/net/socket.h"
#include "weft/sync/event.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft::data::testing {
namespace {

using weft::testing::eventually;

// A message of the server's side of the protocol.
std::string message(char type, std::string_view body) {
    auto length = static_cast<std::uint32_t>(body.size() + 4);
    std::string text(1, type);
    for (int shift : {24, 16, 8, 0}) text.push_back(static_cast<char>(length >> shift));
    return text.append(body);
}

// Answers the first pipeline of one connection, but its sync by the end of another statement.
Result<void> serve_out_of_step(net::Listener& listener) {
    using namespace std::string_literals;
    net::Socket client = WEFT_TRY(listener.accept());
    std::byte received[4096];
    WEFT_TRY(client.read(received));  // who connects, to which database
    std::string greeting =
        message('R', "\0\0\0\0"s) + message('K', "\0\0\0\1\0\0\0\2"s) + message('Z', "I");
    WEFT_TRY(client.write_all(as_bytes(greeting)));
    WEFT_TRY(client.read(received));  // a statement to prepare and describe, and a sync
    std::string answer = message('1', "") + message('t', "\0\0"s) + message('n', "");
    for (int more = 0; more < 3; ++more) answer += message('C', "SELECT 0\0"s);
    WEFT_TRY(client.write_all(as_bytes(answer)));
    // Until the client gives up.
    while (WEFT_TRY(client.read(received)) > 0) continue;
    return {};
}

TEST(PostgresProtocol, DAT_5_a_server_that_does_not_answer_in_step_holds_nobody) {
    Result<void> ended = weft::run([]() -> Result<void> {
        net::Listener listener = WEFT_TRY(net::Listener::open(net::Address::loopback(0)));
        std::string place = "host=127.0.0.1 sslmode=disable user=weft dbname=weft port=" +
                            std::to_string(listener.address().port());
        auto server = spawn([&] { return serve_out_of_step(listener); });
        Database database = WEFT_TRY(open_postgres({.connection_string = place}));
        Result<Rows> rows = database.query("select 1", {.timeout = std::chrono::seconds(2)});
        EXPECT_FALSE(rows);
        EXPECT_EQ(database.stats().closed_broken, 1U);
        WEFT_TRY(server.join());
        return {};
    });
    EXPECT_TRUE(ended) << (ended ? "" : ended.error().message());
}

class PostgresFault : public PostgresTest {
protected:
    Result<std::unique_ptr<Pool>> pool_of(std::size_t connections) {
        auto provider = WEFT_TRY(postgres_provider({.connection_string = server->local()}));
        return std::make_unique<Pool>(std::move(provider),
                                      PoolOptions{.connections_max = connections,
                                                  .acquire_timeout = std::chrono::seconds(60)},
                                      "test");
    }
    static Result<void> kill_others(Connection& observer) {
        WEFT_TRY(
            observer.run("select pg_terminate_backend(pid) from pg_stat_activity where "
                         "pid <> pg_backend_pid() and backend_type = 'client backend'",
                         kAnyRows));
        return {};
    }
    // The same, until none of them is left.
    static Result<void> end_others(Connection& observer) {
        WEFT_TRY(kill_others(observer));
        EXPECT_TRUE(eventually([&] {
            return ask(observer,
                       "select count(*) from pg_stat_activity where "
                       "pid <> pg_backend_pid() and backend_type = 'client backend'") == Value(0);
        }));
        return {};
    }
};

TEST_F(PostgresFault, DAT_12_a_kill_in_the_middle_of_a_migration_leaves_nothing_of_it) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open_postgres({.connection_string = server->local()}));
        std::vector<Migration> all{
            {"0001", "create table killed_a (i int)"},
            {"0002",
             "create table killed_b (i int); insert into killed_a values (1);"
             " select pg_terminate_backend(pg_backend_pid()); create table killed_c (i int)"}};
        Result<std::vector<std::string>> killed = migrate_up(database, all);
        EXPECT_EQ(cause_of(killed.error()), Cause::Connection);
        EXPECT_TRUE(killed.error().message().starts_with("migration 0002: "));
        std::vector<MigrationStatus> status = WEFT_TRY(migration_status(database, all));
        EXPECT_EQ(status[0].state, MigrationState::Applied);
        EXPECT_EQ(status[1].state, MigrationState::Pending);
        auto observer = WEFT_TRY(connect());
        EXPECT_EQ(ask(*observer, "select count(*) from killed_a"), Value(0));
        // What was killed may be another when it is tried again.
        all[1].text = "create table killed_b (i int)";
        EXPECT_EQ(migrate_up(database, all), std::vector<std::string>{"0002"});
        WEFT_TRY(observer->run("drop table weft_migrations, killed_a, killed_b", kAnyRows));
        return {};
    });
}

TEST_F(PostgresFault, DAT_5_idle_connections_that_were_killed_fail_no_statement) {
    run([&]() -> Result<void> {
        for (const std::string& where : {server->local(), server->url("sslmode=require")}) {
            DatabaseOptions options;
            options.pool.connections_max = 4;
            Database database = WEFT_TRY(open_postgres({.connection_string = where}, options));
            auto observer = WEFT_TRY(connect());
            auto hold_all = [&]() -> Result<std::vector<Lease>> {
                std::vector<Lease> leases;
                for (int i = 0; i < 4; ++i) leases.push_back(WEFT_TRY(database.reserve()));
                return leases;
            };
            WEFT_TRY(hold_all());
            EXPECT_EQ(database.stats().idle, 4u);
            WEFT_TRY(end_others(*observer));
            {
                std::vector<Lease> leases = WEFT_TRY(hold_all());
                for (Lease& lease : leases) EXPECT_EQ(ask(*lease, "select 1"), Value(1));
            }
            EXPECT_EQ(database.stats().closed_broken, 4u);
            WEFT_TRY(end_others(*observer));
            for (int i = 0; i < 4; ++i) EXPECT_TRUE(database.query("select 1"));
            EXPECT_TRUE(database.close(far()));
        }
        return {};
    });
}

TEST_F(PostgresFault, DAT_5_a_killed_backend_is_an_error_and_the_pool_recovers) {
    run([&]() -> Result<void> {
        auto pool = WEFT_TRY(pool_of(2));
        auto observer = WEFT_TRY(connect());
        {
            Lease lease = WEFT_TRY(pool->acquire("test"));
            WEFT_TRY(ask(*lease, "select 1"));
            auto slept = spawn([&] { return lease->run("select pg_sleep(100)", kAnyRows); });
            EXPECT_TRUE(eventually([&] {
                auto found = ask(*observer,
                                 "select count(*) from pg_stat_activity where query = "
                                 "'select pg_sleep(100)' and state = 'active'");
                return found == Value(1);
            }));
            WEFT_TRY(kill_others(*observer));
            auto lost = slept.join();
            EXPECT_EQ(sqlstate_of(lost.error()), "57P01");
            EXPECT_EQ(cause_of(lost.error()), Cause::Connection);
            EXPECT_EQ(lease->state(), ConnectionState::Broken);
        }
        Lease lease = WEFT_TRY(pool->acquire("test"));
        EXPECT_EQ(ask(*lease, "select 1"), Value(1));
        EXPECT_EQ(pool->stats().closed_broken, 1u);
        return {};
    });
}

TEST_F(PostgresFault, DAT_5_a_connection_lost_between_rows_ends_the_cursor_and_no_other) {
    run([&]() -> Result<void> {
        DatabaseOptions options;
        options.pool.connections_max = 1;
        Database database =
            WEFT_TRY(open_postgres({.connection_string = server->local()}, options));
        auto observer = WEFT_TRY(connect());
        {
            Cursor cursor = WEFT_TRY(
                database.query_cursor("select generate_series(1, 100000000), repeat('x', 1000)"));
            EXPECT_FALSE(WEFT_TRY(cursor.next()).empty());
            WEFT_TRY(kill_others(*observer));
            Result<Rows> rows = cursor.next();
            while (rows && !rows->empty()) rows = cursor.next();
            EXPECT_FALSE(rows);
            EXPECT_EQ(cause_of(rows.error()), Cause::Connection) << rows.error().message();
        }
        Rows rows = WEFT_TRY(database.query("select 'mine'"));
        EXPECT_EQ(rows[0][0], Value("mine"));
        EXPECT_EQ(database.stats().closed_broken, 1u);
        EXPECT_EQ(database.stats().connections, 1u);
        return {};
    });
}

TEST_F(PostgresFault, DAT_5_a_transaction_that_is_given_back_is_rolled_back) {
    run([&]() -> Result<void> {
        auto pool = WEFT_TRY(pool_of(1));
        {
            Lease lease = WEFT_TRY(pool->acquire("test"));
            WEFT_TRY(lease->run("drop table if exists left_open", kAnyRows));
            WEFT_TRY(lease->run("create table left_open (i int)", kAnyRows));
            WEFT_TRY(lease->step(TransactionStep::Begin, 0, {}));
            WEFT_TRY(lease->run("insert into left_open values (1)", kAnyRows));
        }
        Lease lease = WEFT_TRY(pool->acquire("test"));
        EXPECT_EQ(lease->state(), ConnectionState::Idle);
        EXPECT_EQ(ask(*lease, "select count(*) from left_open"), Value(0));
        WEFT_TRY(lease->run("drop table left_open", kAnyRows));
        return {};
    });
}

TEST_F(PostgresFault, DAT_5_what_the_last_of_several_commands_changes_is_undone) {
    run([&]() -> Result<void> {
        auto pool = WEFT_TRY(pool_of(1));
        for (const char* text :
             {"select 1; set application_name = 'changed'",
              "select ';' as \"a;\"; set application_name = 'changed'",
              "/* /* */ ; */ select $$;$$; listen changed; set application_name = 'changed'"}) {
            {
                Lease lease = WEFT_TRY(pool->acquire("test"));
                WEFT_TRY(lease->run(text, kAnyRows));
            }
            Lease lease = WEFT_TRY(pool->acquire("test"));
            EXPECT_NE(ask(*lease, "select current_setting('application_name')"), Value("changed"))
                << text;
            EXPECT_EQ(ask(*lease, "select count(*) from pg_listening_channels()"), Value(0));
        }
        return {};
    });
}

// Statements of many callers, some with deadlines, while backends are killed: at least once before
// the last of them has ended.
TEST_F(PostgresFault, DAT_5h_after_any_fault_the_pool_is_whole) {
    const std::size_t count = weft::testing::is_long() ? 50'000 : weft::testing::repeats(200);
    run([&]() -> Result<void> {
        auto pool = WEFT_TRY(pool_of(4));
        auto observer = WEFT_TRY(connect());
        Event struck;
        std::vector<Future<std::size_t>> players;
        for (std::size_t player = 0; player < 8; ++player) {
            players.push_back(spawn([&, player]() -> Result<std::size_t> {
                std::size_t wrong = 0;
                for (std::size_t turn = player; turn < count || !struck.is_set(); turn += 8) {
                    CancelSource source = CancelSource::with_deadline(
                        turn % 3 == 0 ? Deadline::after(std::chrono::microseconds(turn * 53 % 3000))
                                      : Deadline::never());
                    CancelScope scope(source.token());
                    Result<Lease> lease = pool->acquire("test");
                    if (!lease) continue;
                    if ((*lease)->state() != ConnectionState::Idle) ++wrong;
                    auto number = static_cast<std::int64_t>(turn);
                    Result<Value> mine =
                        ask(**lease, sql("select {}::bigint from pg_sleep(0.0005)", number));
                    if (mine && *mine != Value(number)) ++wrong;
                    if (turn % 5 == 0)
                        static_cast<void>((*lease)->step(TransactionStep::Begin, 0, {}));
                }
                return wrong;
            }));
        }
        while (!std::ranges::all_of(players, [](auto& player) { return player.is_done(); })) {
            Result<void> killed = kill_others(*observer);
            struck.set();
            if (!killed) return killed.error();
            WEFT_TRY(weft::sleep_for(std::chrono::milliseconds(20)));
        }
        std::size_t wrong = 0;
        for (auto& player : players) wrong += WEFT_TRY(player.join());
        EXPECT_EQ(wrong, 0u);
        WEFT_TRY(end_others(*observer));
        // As many as it is allowed can be had, and all of them work.
        std::vector<Lease> leases;
        for (int i = 0; i < 4; ++i) {
            leases.push_back(WEFT_TRY(pool->acquire("test")));
            EXPECT_EQ(ask(*leases.back(), "select 1"), Value(1));
        }
        EXPECT_EQ(pool->stats().in_use, 4u);
        return {};
    });
}

TEST_F(PostgresFault, DAT_5_the_pool_reconnects_to_a_server_that_was_restarted) {
    run([&]() -> Result<void> {
        auto pool = WEFT_TRY(pool_of(2));
        {
            Lease lease = WEFT_TRY(pool->acquire("test"));
            WEFT_TRY(ask(*lease, "select 1"));
        }
        WEFT_TRY(server->tell("restart"));
        {
            Lease lease = WEFT_TRY(pool->acquire("test"));
            EXPECT_EQ(ask(*lease, "select 1"), Value(1));
        }
        WEFT_TRY(server->tell("stop"));
        EXPECT_TRUE(eventually([&] {
            Result<Lease> lease = pool->acquire("test");
            return !lease || !ask(**lease, "select 1");
        }));
        WEFT_TRY(server->tell("start"));
        EXPECT_TRUE(eventually([&] {
            Result<Lease> lease = pool->acquire("test");
            return lease && ask(**lease, "select 1") == Value(1);
        }));
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
