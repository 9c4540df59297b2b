#include "weft/app/migrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weft::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class MigrateTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = ::testing::TempDir() + "weft-migrate-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    // The output of a command line, which is given by its words.
    std::string run(std::vector<std::string> words, Exit expected = Exit::Ok) const {
        words.insert(words.begin(), "migrate");
        words.emplace_back("--folder");
        words.push_back(folder + "/migrations");
        Command command = parse_command_line(words);
        if (const auto* answer = std::get_if<Answer>(&command)) return answer->text;
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(migrate(std::get<MigrateCommand>(command)), static_cast<int>(expected));
        return ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
    }
    void write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories(folder + "/migrations");
        std::ofstream(folder + "/migrations/" + name) << text;
    }

    std::string folder;
};

TEST_F(MigrateTest, DAT_12_files_are_applied_once_and_a_change_is_noticed) {
    std::string database = "--database=" + folder + "/shop.db";
    write("1_users.sql", "create table users (id integer);\n");
    write("2_cities.sql", "create table cities (id integer);\n");
    write("notes.txt", "no migration");
    write(".#2_cities.sql", "what an editor keeps");
    EXPECT_THAT(run({"status", database}), StartsWith("pending  1_users\npending  2_cities\n"));
    EXPECT_EQ(run({"up", database}), "applied 1_users\napplied 2_cities\n");
    EXPECT_EQ(run({"up", database}), "nothing was pending\n");
    write("1_users.sql", "create table users (id integer, name text);\n");
    EXPECT_EQ(run({"status", database}, Exit::Script), "changed  1_users\napplied  2_cities\n");
    EXPECT_THAT(run({"up", database}, Exit::Machine), HasSubstr("was changed after"));
}

TEST_F(MigrateTest, DAT_12_the_status_makes_no_database) {
    std::string path = folder + "/shop.db";
    write("1_users.sql", "create table users (id integer);\n");
    std::string output = run({"status", "--database=" + path});
    EXPECT_THAT(output, StartsWith("pending  1_users\n"));
    EXPECT_THAT(output, HasSubstr("there is no database " + path + " yet"));
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(MigrateTest, DAT_12_a_new_file_has_the_time_in_its_name) {
    std::string path = run({"new", "add_users"});
    EXPECT_THAT(path, HasSubstr("_add_users.sql\n"));
    path.pop_back();
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_EQ(std::filesystem::path(path).stem().string().size(), 14U + 10U);
    run({"new", "../outside"}, Exit::Usage);
    run({"new"}, Exit::Usage);
}

TEST_F(MigrateTest, DAT_12_the_configuration_says_which_database) {
    std::ofstream(folder + "/app.js") << "";
    std::ofstream(folder + "/weft.json") << R"({
        "listeners": [{"address": ":0"}],
        "data": {"a": {"provider": "sqlite", "path": "a.db"},
                 "b": {"provider": "sqlite", "path": "b.db"}},
        "apps": [{"entry": "app.js", "capabilities": [
            {"token": "data.a", "kind": "database", "provider": "a"},
            {"token": "data.b", "kind": "database", "provider": "b"}]}]})";
    MigrateCommand command;
    command.config = folder + "/weft.json";
    EXPECT_THAT(database_of(command).error(), HasSubstr("--provider"));
    command.provider = "b";
    EXPECT_EQ(database_of(command)->place, folder + "/b.db");
    command.provider = "c";
    EXPECT_THAT(database_of(command).error(), HasSubstr("no such database"));
    EXPECT_THAT(run({"sideways"}), HasSubstr("weft --help"));
}

}  // namespace
}  // namespace weft::app
