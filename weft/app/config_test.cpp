#include "weft/app/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "weft/app/config_data.h"
#include "weft/app/env_file.h"
#include "weft/app/json_text.h"
#include "weft/app/nearest.h"
#include "weft/fiber/runtime.h"

namespace weft::app {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// A folder with the files that are named by the configurations below.
class ConfigTest : public ::testing::Test {
protected:
    ConfigTest()
        : folder_(std::filesystem::path(::testing::TempDir()) /
                  ("weft_config." + std::to_string(::getpid()))) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_ / "shop");
        for (const char* name : {"app.js", "shop/app.js", "cert.pem", "key.pem", "map.json"}) {
            write(name, "");
        }
    }
    ~ConfigTest() override { std::filesystem::remove_all(folder_); }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    auto parse(const std::string& text) const { return parse_config(text, path("weft.json")); }
    // The errors, one per line, without the file's name.
    std::string errors(const std::string& text) const {
        auto config = parse(text);
        if (config) return "none";
        std::string all = config.error().text();
        std::string prefix = path("weft.json") + ":";
        for (std::size_t at = 0; (at = all.find(prefix, at)) != std::string::npos;) {
            all.erase(at, prefix.size());
        }
        return all;
    }

    std::filesystem::path folder_;
};

TEST_F(ConfigTest, HST_1_a_whole_configuration_is_read) {
    write("shop/.env", "MODE=from-file\nSECRET=s\n");
    auto config = parse(R"({
        "$schema": "weft.schema.json",
        "listeners": [{"address": "127.0.0.1:0"},
                      {"address": ":8443", "tls": {"certificate": "cert.pem", "key": "key.pem"}}],
        "limits": {"cpuMs": 100},
        "drainMs": 5000,
        "isolation": "process",
        "apps": [
            {"name": "shop", "hosts": ["Shop.example", "*.shop.example"], "entry": "shop/app.js",
             "importMap": "map.json", "env": {"MODE": "live"}, "envFile": "shop/.env",
             "limits": {"handlerDeadlineMs": 2000, "microtasks": 1024, "heapMiB": 64,
                        "bodyBytes": 0, "waitUntilMs": 1000},
             "allowFetch": ["10.0.0.0/8:5432", "db.internal"], "isolates": 2},
            {"entry": "app.js", "isolates": "auto"}]})");
    ASSERT_TRUE(config.has_value()) << config.error().text();
    ASSERT_EQ(config->listeners.size(), 2U);
    EXPECT_EQ(config->listeners[0].address.to_string(), "127.0.0.1:0");
    EXPECT_EQ(config->listeners[1].tls->certificate, path("cert.pem"));
    EXPECT_EQ(config->drain, 5s);
    EXPECT_TRUE(config->supervised);
    ASSERT_EQ(config->apps.size(), 2U);
    const AppConfig& shop = config->apps[0];
    EXPECT_EQ(shop.entry, path("shop/app.js"));
    EXPECT_EQ(shop.import_map, path("map.json"));
    EXPECT_THAT(shop.hosts, ElementsAre("shop.example", "*.shop.example"));
    EXPECT_THAT(shop.env, ElementsAre(Pair("MODE", "live"), Pair("SECRET", "s")));
    EXPECT_EQ(shop.limits, (AppLimits{2s, 100ms, 1024, 64, 0, 1s}));
    EXPECT_THAT(shop.allow_fetch, ElementsAre("10.0.0.0/8:5432", "db.internal"));
    EXPECT_EQ(shop.isolates, 2U);
    EXPECT_EQ(config->apps[1].limits, (AppLimits{.cpu = 100ms}));
    EXPECT_EQ(config->apps[1].isolates, RuntimeOptions::default_workers());
    EXPECT_EQ(config->apps[1].name, folder_.filename().string());
}

TEST_F(ConfigTest, HST_1_an_error_names_file_line_and_key) {
    auto config = parse("{\n  \"listeners\": [{\"address\": \"x\"}],\n  \"apps\": []\n}");
    ASSERT_FALSE(config.has_value());
    EXPECT_THAT(config.error().text(),
                HasSubstr(path("weft.json") + ":2:29: listeners[0].address: \"x\" is no address"));
    EXPECT_THAT(config.error().text(), HasSubstr(":3:11: apps: must have at least one"));
}

TEST_F(ConfigTest, HST_1_all_errors_are_told_at_once_in_the_order_of_the_file) {
    EXPECT_EQ(errors("{\"listeners\": [{\"address\": 7}],\n"
                     " \"apps\": [{\"entry\": \"app.js\",\n"
                     "   \"limits\": {\"cpuMs\": \"fast\", \"heapMiB\": 1},\n"
                     "   \"isolates\": 1.5}]}"),
              "1:28: listeners[0].address: must be a text, not 7\n"
              "3:24: apps[0].limits.cpuMs: must be a whole number from 1 to 60000, not \"fast\"\n"
              "3:43: apps[0].limits.heapMiB: must be a whole number from 8 to 65536, not 1\n"
              "4:16: apps[0].isolates: must be a whole number from 1 to 256, not 1.5");
}

TEST_F(ConfigTest, HST_1_an_unknown_key_is_refused_with_the_one_that_was_meant) {
    std::string told = errors(
        "{\"listners\": [],\n \"apps\": [{\"entry\": \"app.js\",\n"
        "  \"limits\": {\"handlerDeadline\": 5}, \"colour\": 1}]}");
    EXPECT_THAT(told,
                HasSubstr("1:2: listners: there is no such key; did you mean \"listeners\"?"));
    EXPECT_THAT(told, HasSubstr("1:1: listeners: is missing"));
    EXPECT_THAT(told, HasSubstr("3:14: apps[0].limits.handlerDeadline: there is no such key; did "
                                "you mean \"handlerDeadlineMs\"?"));
    EXPECT_THAT(told, HasSubstr("apps[0].colour: there is no such key; there are: name hosts"));
}

TEST_F(ConfigTest, HST_1_what_is_no_json_is_said_with_its_place) {
    EXPECT_THAT(errors("{\n  \"apps\": [,]\n}"), HasSubstr("2:12: syntax error"));
    EXPECT_THAT(errors(""), HasSubstr("1:1: syntax error"));
    EXPECT_THAT(errors("{\"apps\": [],\n\"apps\": []}"),
                HasSubstr("2:1: the key \"apps\" stands here for the second time"));
    EXPECT_THAT(errors("[]"), HasSubstr("1:1: must be an object, not a list"));
    EXPECT_THAT(errors(std::string(100, '[')), HasSubstr("JsonValue::kDepthMax"));
}

TEST_F(ConfigTest, HST_1_files_that_are_not_there_are_errors) {
    EXPECT_THAT(errors(R"({"listeners": [{"address": ":1", "tls": {"certificate": "c", "key":
                "key.pem"}}], "apps": [{"entry": "gone.js", "envFile": "no"}]})"),
                ::testing::AllOf(HasSubstr("listeners[0].tls.certificate: there is no "),
                                 HasSubstr("apps[0].entry: there is no " + path("gone.js")),
                                 HasSubstr("apps[0].envFile: there is no ")));
    auto none = load_config(path("none.json"));
    ASSERT_FALSE(none.has_value());
    EXPECT_THAT(none.error().text(), HasSubstr("No such file"));
}

TEST_F(ConfigTest, HST_1_two_applications_cannot_have_one_host) {
    auto with = [&](const char* first, const char* second) {
        return errors(std::string(R"({"listeners": [{"address": ":1"}], "apps": [)"
                                  R"({"name": "one", "entry": "app.js", "hosts": )") +
                      first + R"(}, {"entry": "app.js", "hosts": )" + second + "}]}");
    };
    EXPECT_EQ(with("[\"a\"]", "[\"b\"]"), "none");
    EXPECT_THAT(with("[\"a\"]", "[\"b\", \"A\"]"),
                HasSubstr("apps[1]: has the host a, which \"one\" has as well"));
    EXPECT_THAT(with("[]", "[]"), HasSubstr("only one can have all the other hosts"));
    EXPECT_THAT(with("[\"a:80\"]", "[\"*\"]"), HasSubstr("apps[0].hosts[0]: \"a:80\" is no host"));
}

TEST_F(ConfigTest, HST_1_the_host_header_selects_the_application) {
    auto config = parse(R"({"listeners": [{"address": ":1"}], "apps": [
        {"name": "other", "entry": "app.js"},
        {"name": "any", "entry": "app.js", "hosts": ["*.example.com"]},
        {"name": "deep", "entry": "app.js", "hosts": ["*.shop.example.com"]},
        {"name": "one", "entry": "app.js", "hosts": ["one.example.com"]}]})");
    ASSERT_TRUE(config.has_value()) << config.error().text();
    auto name = [&](std::string_view host) { return app_for(*config, host, "/")->name; };
    EXPECT_EQ(name("one.example.com"), "one");
    EXPECT_EQ(name("ONE.example.com:8080"), "one");
    EXPECT_EQ(name("one.example.com."), "one");
    EXPECT_EQ(name("two.example.com"), "any");
    EXPECT_EQ(name("a.shop.example.com"), "deep");
    EXPECT_EQ(name("example.com"), "other");
    EXPECT_EQ(name("[::1]:80"), "other");
    EXPECT_EQ(name(""), "other");
    config->apps.erase(config->apps.begin());
    EXPECT_EQ(app_for(*config, "example.com", "/"), nullptr);
    EXPECT_FALSE(has_host(*config, "example.com"));
    EXPECT_TRUE(has_host(*config, "two.Example.com.:80"));
}

TEST_F(ConfigTest, HST_1_of_the_applications_of_a_host_the_longest_path_counts) {
    auto config = parse(R"({"listeners": [{"address": ":1"}], "apps": [
        {"name": "rest", "entry": "app.js"},
        {"name": "shop", "entry": "app.js", "path": "/shop"},
        {"name": "admin", "entry": "app.js", "path": "/shop/admin"},
        {"name": "one", "entry": "app.js", "hosts": ["one.example"], "path": "/shop"}]})");
    ASSERT_TRUE(config.has_value()) << config.error().text();
    auto name = [&](std::string_view host, std::string_view path) {
        return app_for(*config, host, path)->name;
    };
    EXPECT_EQ(name("a", "/"), "rest");
    EXPECT_EQ(name("a", "/shopping"), "rest");
    EXPECT_EQ(name("a", "/shop"), "shop");
    EXPECT_EQ(name("a", "/shop/"), "shop");
    EXPECT_EQ(name("a", "/shop/admin/x"), "admin");
    EXPECT_EQ(name("one.example", "/shop/admin"), "one");
    EXPECT_EQ(name("one.example", "/"), "rest");
    config->apps.erase(config->apps.begin());
    EXPECT_EQ(app_for(*config, "a", "/"), nullptr);
    EXPECT_THAT(errors(R"({"listeners": [{"address": ":1"}], "apps": [
                {"name": "a", "entry": "app.js", "path": "/x"},
                {"entry": "app.js", "path": "/x"}]})"),
                HasSubstr("apps[1]: has no hosts, and neither has \"a\": only one can have all the "
                          "other hosts with the path /x"));
}

TEST_F(ConfigTest, HST_1_folders_and_proxies_are_read) {
    auto with = [&](const std::string& members) {
        return R"({"listeners": [{"address": ":1"}], "apps": [{"entry": "app.js", )" + members +
               "}]}";
    };
    auto config = parse(with(R"("static": [{"path": "/assets", "folder": "shop",
                                            "index": "home.html", "cacheControl": "max-age=60"}],
                                "proxy": [{"path": "/api", "upstreams": ["http://127.0.0.1:9",
                                                                         "unix:/run/a.sock"]}])"));
    ASSERT_TRUE(config.has_value()) << config.error().text();
    const api::Routes& routes = config->apps[0].routes;
    ASSERT_EQ(routes.folders.size(), 1U);
    EXPECT_EQ(routes.folders[0].folder, path("shop"));
    EXPECT_EQ(routes.folders[0].index, "home.html");
    EXPECT_EQ(routes.folders[0].cache_control, "max-age=60");
    EXPECT_THAT(routes.proxies.at(0).upstreams,
                ElementsAre("http://127.0.0.1:9", "unix:/run/a.sock"));
    EXPECT_THAT(
        errors(with(R"("static": [{"path": "assets", "folder": "gone"}])")),
        ::testing::AllOf(HasSubstr("static[0].path: \"assets\" is no path such as /assets: "
                                   "it begins with no slash"),
                         HasSubstr("static[0].folder: there is no folder " + path("gone"))));
    EXPECT_THAT(errors(with(R"("static": [{"path": "/a", "folder": "shop"}],
                               "proxy": [{"path": "/a", "upstreams": ["ftp://x"]}])")),
                ::testing::AllOf(HasSubstr("proxy[0]: /a stands here for the second time"),
                                 HasSubstr("proxy[0].upstreams[0]: ftp://x is no upstream")));
    for (const char* wrong : {"/a/", "/a//b", "/.a", "/a/../b", "/:id", "/*rest", "/a?b", "/%61"})
        EXPECT_THAT(errors(with(std::string(R"("path": ")") + wrong + "\"")),
                    HasSubstr("is no path such as /assets"))
            << wrong;
}

TEST_F(ConfigTest, HST_1_a_wrong_rule_for_fetch_and_a_wrong_env_are_errors) {
    EXPECT_THAT(errors(R"({"listeners": [{"address": ":1"}], "apps": [{"entry": "app.js",
                "allowFetch": ["10.0.0.0/99"], "env": {"A": 1}}]})"),
                ::testing::AllOf(HasSubstr("apps[0].allowFetch[0]: "),
                                 HasSubstr("apps[0].env.A: must be a text; write \"1\"")));
}

constexpr const char* kDataConfig = R"({
    "listeners": [{"address": "127.0.0.1:0"}],
    "data": {"main": {"provider": "PROVIDER", "path": "shop.db", "access": "ACCESS",
                      "maxConnections": 2}},
    "apps": [{"entry": "app.js", "capabilities": [
        {"token": "data.main", "kind": "KIND", "provider": "NAME", "access": "WANTED"}]}]
})";

// A configuration in which the words in capitals are replaced.
std::string data_config(std::map<std::string, std::string> words) {
    std::map<std::string, std::string> all{{"PROVIDER", "sqlite"},
                                           {"ACCESS", "readwrite"},
                                           {"KIND", "database"},
                                           {"NAME", "main"},
                                           {"WANTED", "read"}};
    for (auto& [word, value] : words) all[word] = value;
    std::string text = kDataConfig;
    for (const auto& [word, value] : all) text.replace(text.find(word), word.size(), value);
    return text;
}

TEST_F(ConfigTest, DAT_11_databases_and_capabilities_are_joined) {
    auto config = parse(data_config({}));
    ASSERT_TRUE(config.has_value()) << config.error().text();
    ASSERT_EQ(config->apps[0].data.size(), 1U);
    const DataConfig& data = config->apps[0].data[0];
    EXPECT_EQ(data.token, "data.main");
    EXPECT_EQ(data.provider, "sqlite");
    EXPECT_EQ(data.place, path("shop.db"));
    EXPECT_EQ(data.access, "read");
    EXPECT_EQ(data.connections_max, 2U);
    EXPECT_FALSE(config->apps[0].opens_any_data);
}

TEST_F(ConfigTest, DAT_11_each_mismatch_has_its_code) {
    EXPECT_THAT(errors(data_config({{"NAME", "other"}})),
                HasSubstr("apps[0].capabilities[0]: WEFT_E_DATA_UNKNOWN_PROVIDER: "));
    EXPECT_THAT(errors(data_config({{"NAME", "other"}})),
                HasSubstr("data.main: WEFT_E_DATA_MISSING_CAPABILITY: "));
    EXPECT_THAT(errors(data_config({{"PROVIDER", "oracle"}})),
                HasSubstr("data.main.provider: WEFT_E_DATA_INACTIVE_PROVIDER: "));
    EXPECT_THAT(errors(data_config({{"ACCESS", "read"}, {"WANTED", "readwrite"}})),
                HasSubstr("apps[0].capabilities[0]: WEFT_E_DATA_ACCESS: "));
    EXPECT_THAT(errors(data_config({{"WANTED", "all"}})),
                HasSubstr("access: WEFT_E_DATA_ACCESS: \"all\" is no access"));
    EXPECT_THAT(errors(data_config({{"KIND", "queue"}})),
                HasSubstr("apps[0].capabilities[0].kind: WEFT_E_DATA_KIND: "));
}

// The connection string at wrong places, and with a missing quote.
TEST_F(ConfigTest, DAT_10_no_message_shows_a_connection_string) {
    auto with = [](const std::string& database) {
        std::string text = data_config({{"PROVIDER", "postgres"}});
        std::size_t begin = text.find(R"({"provider")");
        return text.replace(begin, text.find("},", begin) + 1 - begin, database);
    };
    for (const std::string& place : {std::string("postgres://shop:hunter2@db/shop"),
                                     std::string("host=db user=shop password=hunter2")}) {
        std::string quoted = "\"" + place + "\"";
        for (const std::string& text :
             {with(quoted), with("[" + quoted + "]"), with("{\"provider\": " + quoted + "}"),
              with("{\"provider\": \"postgres\", \"conectionString\": " + quoted + "}"),
              with("{\"provider\": \"postgres\", \"path\": " + quoted + "}"),
              with("{\"provider\": \"sqlite\", \"connectionString\": " + quoted + "}"),
              with("{\"provider\": \"postgres\", \"connectionString\": [" + quoted + "]}"),
              with("{\"provider\": \"postgres\", \"connectionStringEnv\": " + quoted + "}"),
              with("{\"provider\": \"postgres\", \"access\": " + quoted + "}"),
              with("{\"provider\": \"postgres\", \"maxConnections\": " + quoted + "}"),
              with("{\"provider\": \"postgres\", \"connectionString\": \"" + place + "}"),
              with("{\"provider\": \"postgres\", \"connectionString\": \"" + place + "\\q\"}"),
              with("{\"provider\": \"postgres\", \"connectionString\" " + quoted + "}"),
              data_config({{"NAME", place}}), data_config({{"WANTED", place}}),
              data_config({{"KIND", place}})}) {
            std::string told = errors(text);
            EXPECT_THAT(told, ::testing::Not(HasSubstr("hunter2")));
            EXPECT_FALSE(told.empty()) << text;
        }
    }
    EXPECT_THAT(errors(R"({"listeners": })"), HasSubstr("unexpected '}'"));
}

TEST_F(ConfigTest, DAT_5k_connections_are_shared_out_among_isolates_and_capabilities) {
    auto shared = [&](unsigned isolates, unsigned connections_max) {
        auto config = parse(data_config({}));
        AppConfig app = config->apps[0];
        app.isolates = isolates;
        app.data[0].connections_max = connections_max;
        app.data.push_back(app.data[0]);
        config->apps = {app, app};
        config->apps[1].isolates = 1;
        auto done = share_connections(*config);
        return done ? std::to_string(config->apps[0].data[1].connections_max) : done.error();
    };
    EXPECT_EQ(shared(3, 17), "2");
    EXPECT_EQ(shared(3, 8), "1");
    EXPECT_EQ(shared(3, 0), "0");
    EXPECT_EQ(shared(3, 7),
              "data.main.maxConnections: WEFT_E_DATA_CONNECTIONS: 7 are fewer than one for each "
              "isolate and capability that uses it, which are 8");
}

TEST_F(ConfigTest, DAT_11_where_a_database_is_depends_on_its_provider) {
    std::string text = data_config({{"PROVIDER", "postgres"}});
    EXPECT_THAT(errors(text), HasSubstr("data.main: WEFT_E_DATA_PLACE: postgres needs "));
    auto with_key = [&](const std::string& member) {
        std::string changed = text;
        std::string path = R"("path": "shop.db")";
        return changed.replace(changed.find(path), path.size(), member);
    };
    auto config = parse(with_key(R"("connectionString": "postgres://db/shop")"));
    ASSERT_TRUE(config.has_value()) << config.error().text();
    EXPECT_EQ(config->apps[0].data[0].provider, "postgres");
    EXPECT_EQ(config->apps[0].data[0].place, "postgres://db/shop");
    std::string odbc = with_key(R"("connectionString": "DSN=shop;UID=shop")");
    odbc.replace(odbc.find("\"postgres\""), 10, "\"odbc\"");
    config = parse(odbc);
    ASSERT_TRUE(config.has_value()) << config.error().text();
    EXPECT_EQ(config->apps[0].data[0].provider, "odbc");
    EXPECT_EQ(config->apps[0].data[0].place, "DSN=shop;UID=shop");
    ASSERT_EQ(setenv("WEFT_TEST_DATABASE_URL", "postgres://other/shop", 1), 0);
    config = parse(with_key(R"("connectionStringEnv": "WEFT_TEST_DATABASE_URL")"));
    ASSERT_TRUE(config.has_value()) << config.error().text();
    EXPECT_EQ(config->apps[0].data[0].place, "postgres://other/shop");
    ASSERT_EQ(unsetenv("WEFT_TEST_DATABASE_URL"), 0);
    EXPECT_THAT(errors(with_key(R"("connectionStringEnv": "WEFT_TEST_DATABASE_URL")")),
                HasSubstr("WEFT_E_DATA_PLACE: the variable \"WEFT_TEST_DATABASE_URL\" is not set"));
}

// The schema for editors must have the same keys.
void gather_keys(const JsonValue& value, std::set<std::string>& keys) {
    for (std::size_t at = 0; at < value.items.size(); ++at) {
        bool is_properties = !value.keys.empty() && value.keys[at] == "properties";
        if (is_properties) keys.insert(value.items[at].keys.begin(), value.items[at].keys.end());
        gather_keys(value.items[at], keys);
    }
}

TEST_F(ConfigTest, HST_1_the_schema_has_the_keys_that_are_read) {
    auto schema = read_json(read_text(WEFT_SCHEMA).value());
    ASSERT_TRUE(schema.has_value()) << schema.error().message;
    std::set<std::string> keys;
    gather_keys(*schema, keys);
    EXPECT_EQ(keys, (std::set<std::string>{"$schema",
                                           "listeners",
                                           "address",
                                           "tls",
                                           "certificate",
                                           "key",
                                           "clientCa",
                                           "apps",
                                           "name",
                                           "hosts",
                                           "static",
                                           "folder",
                                           "index",
                                           "cacheControl",
                                           "proxy",
                                           "upstreams",
                                           "entry",
                                           "importMap",
                                           "env",
                                           "envFile",
                                           "limits",
                                           "allowFetch",
                                           "allowRead",
                                           "capabilities",
                                           "token",
                                           "kind",
                                           "provider",
                                           "access",
                                           "compress",
                                           "isolates",
                                           "data",
                                           "path",
                                           "maxConnections",
                                           "connectionString",
                                           "connectionStringEnv",
                                           "drainMs",
                                           "isolation",
                                           "handlerDeadlineMs",
                                           "cpuMs",
                                           "microtasks",
                                           "heapMiB",
                                           "bodyBytes",
                                           "waitUntilMs"}));
    keys.erase("$schema");
    for (const std::string& key : keys) {
        EXPECT_THAT(
            errors("{\"" + key + "x\": 1, \"data\": {\"a\": {\"" + key +
                   "x\": 1}}, \"apps\": [{\"" + key + "x\": 1, \"capabilities\": [{\"" + key +
                   "x\": 1}], \"static\": [{\"" + key + "x\": 1}], \"proxy\": [{\"" + key +
                   "x\": 1}], \"limits\": {\"" + key + "x\": 1}}], \"listeners\": [{\"" + key +
                   "x\": 1, \"tls\": {\"" + key + "x\": 1}}]}"),
            HasSubstr("did you mean \"" + key + "\"?"));
    }
}

TEST(JsonText, HST_1_everything_has_its_place) {
    auto root = read_json("{\n \"a\\\"b\": [1, -2.5e3 ,true],\n\t\"c\": \"x\\\\\", \"d\":null }");
    ASSERT_TRUE(root.has_value()) << root.error().message;
    EXPECT_THAT(root->keys, ElementsAre("a\"b", "c", "d"));
    EXPECT_THAT(root->key_places, ElementsAre(Place{2, 2}, Place{3, 2}, Place{3, 14}));
    const JsonValue& list = root->items[0];
    EXPECT_EQ(list.place, (Place{2, 10}));
    EXPECT_EQ(list.items[0].place, (Place{2, 11}));
    EXPECT_EQ(list.items[1].place, (Place{2, 14}));
    EXPECT_EQ(list.items[1].text, "-2.5e3");
    EXPECT_EQ(list.items[2].place, (Place{2, 22}));
    EXPECT_EQ(root->items[1].place, (Place{3, 7}));
    EXPECT_EQ(root->items[2].place, (Place{3, 18}));
    EXPECT_EQ(read_json("7")->place, (Place{1, 1}));
    EXPECT_EQ(read_json(" \"\"")->place, (Place{1, 2}));
}

TEST(Nearest, HST_5_a_word_with_a_mistake_is_recognized) {
    constexpr std::string_view kWords[] = {"serve", "run", "eval", "check"};
    EXPECT_EQ(nearest("srve", kWords), "serve");
    EXPECT_EQ(nearest("RUN", kWords), "run");
    EXPECT_EQ(nearest("chekc", kWords), "check");
    EXPECT_EQ(nearest("database", kWords), "");
    EXPECT_EQ(nearest(std::string(1000, 'x'), kWords), "");
}

TEST(EnvFile, HST_5_lines_are_names_and_values) {
    auto env = parse_env_file(
        "# c\n\nA=1\nexport B = two words # comment\nC=\"x\\n\\\"y\\\"\" # z\n"
        "D='$a\\n'\nE=\nA=2\r\nURL=http://a/#b\n",
        ".env");
    ASSERT_TRUE(env.has_value()) << env.error().message();
    EXPECT_THAT(*env, ElementsAre(Pair("B", "two words"), Pair("C", "x\n\"y\""), Pair("D", "$a\\n"),
                                  Pair("E", ""), Pair("A", "2"), Pair("URL", "http://a/#b")));
    EXPECT_THAT(parse_env_file("A=1\nnonsense\n", ".env").error().message(), HasSubstr(".env:2: "));
    EXPECT_THAT(parse_env_file("A=\"x\n", ".env").error().message(), HasSubstr(".env:1: A: "));
    EXPECT_FALSE(parse_env_file("A='x' y", ".env").has_value());
    EXPECT_FALSE(parse_env_file("1A=x", ".env").has_value());
}

}  // namespace
}  // namespace weft::app
