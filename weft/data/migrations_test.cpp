#include "weft/data/migrations.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/data/internal/sqlite_test.h"
#include "weft/fiber/fiber.h"

namespace weft::data {
namespace {

class MigrationsTest : public SqliteTest {
protected:
    std::vector<Migration> all{
        {"0002_cities", "create table cities (name text); insert into cities values ('Ulm');"},
        {"0001_users", "create table users (id integer primary key)"},
    };
    static std::string states(Database& db, const std::vector<Migration>& migrations) {
        Result<std::vector<MigrationStatus>> status = migration_status(db, migrations);
        if (!status) return status.error().message();
        std::string text;
        for (const MigrationStatus& one : *status)
            text.append(one.name).append(" ").append(to_string(one.state)).append("; ");
        return text;
    }
};

TEST_F(MigrationsTest, DAT_12_what_is_pending_is_applied_once_and_in_order) {
    everywhere([&] {
        Database db = memory();
        EXPECT_EQ(states(db, all), "0001_users pending; 0002_cities pending; ");
        EXPECT_EQ(migrate_up(db, all), (std::vector<std::string>{"0001_users", "0002_cities"}));
        EXPECT_EQ(migrate_up(db, all), std::vector<std::string>());
        EXPECT_EQ(states(db, all), "0001_users applied; 0002_cities applied; ");
        EXPECT_EQ((*db.query("select name from cities"))[0][0].text(), "Ulm");
    });
}

TEST_F(MigrationsTest, DAT_12_a_changed_or_missing_file_stops_everything) {
    on_fiber([&] {
        Database db = memory();
        EXPECT_DONE(migrate_up(db, all));
        std::vector<Migration> changed = all;
        changed[1].text += " strict";
        changed.push_back({"0003_more", "create table more (id integer)"});
        EXPECT_EQ(states(db, changed),
                  "0001_users changed; 0002_cities applied; 0003_more pending; ");
        Result<std::vector<std::string>> stopped = migrate_up(db, changed);
        EXPECT_EQ(stopped.error().message(),
                  "migration 0001_users: its file was changed after it was applied");
        EXPECT_FALSE(db.query("select * from more"));
        std::vector<Migration> fewer{all[1]};
        EXPECT_EQ(states(db, fewer), "0001_users applied; 0002_cities missing; ");
        EXPECT_FALSE(migrate_up(db, fewer));
        EXPECT_FALSE(migrate_up(db, std::vector<Migration>{{"a", ""}, {"a", ""}}));
        EXPECT_EQ(migration_hash("a\r\nb"), migration_hash("a\nb"));
    });
}

TEST_F(MigrationsTest, DAT_12_one_that_fails_in_the_middle_is_undone_and_named) {
    on_fiber([&] {
        Database db = memory();
        all.push_back(
            {"0003_bad", "create table half (id integer); insert into nothing values (1);"});
        Result<std::vector<std::string>> failed = migrate_up(db, all);
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().message().substr(0, 20), "migration 0003_bad: ");
        EXPECT_FALSE(db.query("select * from half"));
        EXPECT_EQ(states(db, all), "0001_users applied; 0002_cities applied; 0003_bad pending; ");
    });
}

TEST_F(MigrationsTest, DAT_12_two_who_begin_at_once_do_not_do_it_twice) {
    on_fiber([&] {
        for (int round = 0; round < 5; ++round) {
            std::string path = file("at-once-" + std::to_string(round));
            auto run_one = [&] {
                Database db = open({.path = path});
                Result<std::vector<std::string>> applied = migrate_up(db, all);
                EXPECT_TRUE(applied) << applied.error().message();
                return applied ? applied->size() : 0;
            };
            Future<std::size_t> first = spawn(run_one);
            Future<std::size_t> second = spawn(run_one);
            EXPECT_EQ(*first.join() + *second.join(), 2U);
        }
    });
}

}  // namespace
}  // namespace weft::data
