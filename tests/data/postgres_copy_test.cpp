#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/data/postgres_fixture.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/copy.h"
#include "weft/fiber/cancel.h"

namespace weft::data::testing {
namespace {

class PostgresCopy : public PostgresTest {
protected:
    Result<std::unique_ptr<Connection>> connect_with_table() {
        auto connection = WEFT_TRY(connect());
        WEFT_TRY(connection->run("create temporary table t (i int, s text)", kAnyRows));
        return connection;
    }
};

TEST_F(PostgresCopy, DAT_3_copies_go_both_ways) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect_with_table());
        constexpr int kRows = 100'000;
        CopyIn in = WEFT_TRY(CopyIn::start(*connection, "copy t from stdin"));
        std::string text;
        for (int i = 0; i < kRows; ++i) text += std::to_string(i) + "\tname\n";
        // At whatever place it is cut.
        for (std::size_t at = 0; at < text.size(); at += 9'973)
            WEFT_TRY(in.write(std::string_view(text).substr(at, 9'973)));
        EXPECT_EQ(in.finish(), static_cast<std::uint64_t>(kRows));
        EXPECT_EQ(cause_of(in.finish().error()), Cause::Closed);
        EXPECT_EQ(ask(*connection, "select count(*) from t"), Value(kRows));
        CopyOut out = WEFT_TRY(CopyOut::start(*connection, "copy (select * from t) to stdout"));
        std::string copied;
        for (;;) {
            std::string rows = WEFT_TRY(out.read());
            if (rows.empty()) break;
            EXPECT_LT(rows.size(), kCopyChunkBytes + 100);
            copied += rows;
        }
        EXPECT_EQ(copied, text);
        EXPECT_EQ(out.read(), std::string());
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        return {};
    });
}

TEST_F(PostgresCopy, DAT_3_a_row_that_does_not_fit_ends_the_copy) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect_with_table());
        CopyIn in = WEFT_TRY(CopyIn::start(*connection, "copy t from stdin"));
        WEFT_TRY(in.write("1\ta\ncanary\tb\n"));
        Result<std::uint64_t> stored = in.finish();
        EXPECT_EQ(sqlstate_of(stored.error()), "22P02");
        EXPECT_EQ(stored.error().message().find("canary"), std::string::npos);
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        EXPECT_EQ(ask(*connection, "select count(*) from t"), Value(0));
        // Also when much follows it.
        CopyIn again = WEFT_TRY(CopyIn::start(*connection, "copy t from stdin"));
        std::string many;
        for (int i = 0; i < 100'000; ++i) many += "wrong\tname\n";
        Result<void> written = again.write(many);
        if (written) {
            EXPECT_FALSE(again.finish());
        } else {
            EXPECT_EQ(sqlstate_of(written.error()), "22P02");
        }
        EXPECT_EQ(ask(*connection, "select count(*) from t"), Value(0));
        return {};
    });
}

TEST_F(PostgresCopy, DAT_3_a_copy_that_is_given_up_stores_nothing) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect_with_table());
        for (bool in_transaction : {false, true}) {
            if (in_transaction) WEFT_TRY(connection->step(TransactionStep::Begin, 0, {}));
            {
                CopyIn in = WEFT_TRY(CopyIn::start(*connection, "copy t from stdin"));
                WEFT_TRY(in.write("1\ta\n"));
            }
            Result<Value> stored = ask(*connection, "select count(*) from t");
            EXPECT_EQ(stored, Value(0))
                << in_transaction << (stored ? "" : stored.error().message());
            {
                CopyOut out = WEFT_TRY(CopyOut::start(
                    *connection, "copy (select generate_series(1, 100000000)) to stdout"));
                EXPECT_FALSE(WEFT_TRY(out.read()).empty());
            }
            EXPECT_EQ(ask(*connection, "select 1"), Value(1));
            EXPECT_EQ(connection->state(),
                      in_transaction ? ConnectionState::Transaction : ConnectionState::Idle);
        }
        return {};
    });
}

TEST_F(PostgresCopy, DAT_9_a_deadline_inside_a_copy_leaves_the_connection_clean) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect_with_table());
        {
            std::string rows;
            for (int i = 0; i < 10'000; ++i) rows += "1\tname\n";
            std::optional<CopyIn> in = WEFT_TRY(CopyIn::start(*connection, "copy t from stdin"));
            // From here on: a server that is busy may take longer than that to begin.
            Deadline deadline = Deadline::after(std::chrono::milliseconds(30));
            CancelScope scope(CancelSource::with_deadline(deadline).token());
            Result<void> written;
            while (written) written = in->write(rows);
            EXPECT_EQ(written.error().kind(), ErrorKind::TimedOut);
            in.reset();
        }
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        EXPECT_EQ(ask(*connection, "select count(*) from t"), Value(0));
        {
            CancelScope scope(
                CancelSource::with_deadline(Deadline::after(std::chrono::milliseconds(30)))
                    .token());
            Result<CopyOut> out =
                CopyOut::start(*connection, "copy (select 1 from pg_sleep(100)) to stdout");
            // The server says that it begins only with the first row.
            Result<std::string> rows = out ? out->read() : Result<std::string>(out.error());
            EXPECT_EQ(rows.error().kind(), ErrorKind::TimedOut);
        }
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        return {};
    });
}

TEST_F(PostgresCopy, DAT_3_a_copy_by_another_door_is_refused) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect_with_table());
        EXPECT_EQ(connection->run("copy t from stdin", kAnyRows).error().kind(), ErrorKind::Misuse);
        EXPECT_EQ(connection->run("copy t to stdout", kAnyRows).error().kind(), ErrorKind::Misuse);
        EXPECT_EQ(CopyIn::start(*connection, "select 1").error().kind(), ErrorKind::Misuse);
        EXPECT_EQ(CopyOut::start(*connection, "copy t from stdin").error().kind(),
                  ErrorKind::Misuse);
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
