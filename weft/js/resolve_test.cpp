#include "weft/js/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "weft/js/module_url.h"

namespace weft::js {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Code = ModuleError::Code;

// Files by their paths; each prefix before a slash is a folder. A value that begins with "-> " is a
// link.
class MapFiles final : public ModuleFiles {
public:
    explicit MapFiles(std::map<std::string, std::string> files) : files_(std::move(files)) {}

    Kind kind(const std::string& path) override {
        std::string real = real_path(path);
        if (files_.contains(real)) return Kind::File;
        std::string folder = real == "/" ? real : real + "/";
        auto next = files_.lower_bound(folder);
        return next != files_.end() && next->first.starts_with(folder) ? Kind::Folder : Kind::None;
    }
    Result<std::string> read(const std::string& path) override {
        ++reads;
        auto found = files_.find(real_path(path));
        if (found == files_.end()) return ErrorKind::NotFound;
        return found->second;
    }
    std::string real_path(const std::string& path) override {
        for (const auto& [from, to] : files_) {
            if (!to.starts_with("-> ")) continue;
            if (path == from) return to.substr(3);
            if (path.starts_with(from + "/")) return to.substr(3) + path.substr(from.size());
        }
        return path;
    }
    void put(const std::string& path, std::string text) { files_[path] = std::move(text); }

    int reads = 0;

private:
    std::map<std::string, std::string> files_;
};

using Tree = std::map<std::string, std::string>;

struct Case {
    MapFiles files;
    Resolver resolver;
    std::string referrer = "/app/main.js";

    explicit Case(Tree tree, ResolverOptions options = {})
        : files(std::move(tree)), resolver(files, std::move(options)) {}

    ModuleResult<Module> find(std::string_view specifier, ImportKind kind = ImportKind::Import) {
        return resolver.resolve(specifier, referrer, kind);
    }
    // The resulting path, or the code and the message of the error.
    std::string path(std::string_view specifier, ImportKind kind = ImportKind::Import) {
        ModuleResult<Module> module = find(specifier, kind);
        if (module) return module->path + module->suffix;
        return std::string(to_string(module.error().code)) + ": " + module.error().text();
    }
    Code code(std::string_view specifier) {
        ModuleResult<Module> module = find(specifier);
        EXPECT_FALSE(module.has_value()) << module->path;
        return module ? Code{} : module.error().code;
    }
    ModuleError error(std::string_view specifier) {
        ModuleResult<Module> module = find(specifier);
        EXPECT_FALSE(module.has_value()) << module->path;
        return module ? ModuleError{} : module.error();
    }
};

// A package "p" in /app/node_modules with this package.json and some files.
Case with_package(const std::string& json) {
    return Case(Tree{{"/app/main.js", ""},
                     {"/app/node_modules/p/package.json", json},
                     {"/app/node_modules/p/index.js", ""},
                     {"/app/node_modules/p/main.js", ""},
                     {"/app/node_modules/p/worker.js", ""},
                     {"/app/node_modules/p/node.cjs", ""},
                     {"/app/node_modules/p/lib/a.js", ""},
                     {"/app/node_modules/p/lib/b/c.js", ""},
                     {"/app/node_modules/p/lib/internal/x.js", ""},
                     {"/app/node_modules/outside.js", ""}});
}

TEST(Resolver, JS_2_a_relative_path_is_relative_to_the_file_that_imports) {
    Case it(Tree{{"/app/main.js", ""}, {"/app/b/c.js", ""}, {"/d.js", ""}});
    EXPECT_EQ(it.path("./b/c.js"), "/app/b/c.js");
    EXPECT_EQ(it.path("../d.js"), "/d.js");
    EXPECT_EQ(it.path("../../../../d.js"), "/d.js");
    EXPECT_EQ(it.path("./b/../b/./c.js"), "/app/b/c.js");
    EXPECT_EQ(it.path("/app/b/c.js"), "/app/b/c.js");
    it.referrer = "/main.js";
    EXPECT_EQ(it.path("./d.js"), "/d.js");
}

TEST(Resolver, JS_2_a_specifier_is_a_url_with_escapes_and_a_query) {
    Case it(Tree{{"/app/a b.js", ""}, {"/app/a%b.js", ""}, {"/app/ü.js", ""}});
    EXPECT_EQ(it.path("./a%20b.js"), "/app/a b.js");
    EXPECT_EQ(it.path("./a b.js"), "/app/a b.js");
    EXPECT_EQ(it.path("./a%25b.js"), "/app/a%b.js");
    EXPECT_EQ(it.path("./%C3%BC.js"), "/app/ü.js");
    EXPECT_EQ(it.path("./a%20b.js?v=1#x"), "/app/a b.js?v=1#x");
    EXPECT_EQ(it.find("./a%20b.js?v=1")->url(), "file:///app/a%20b.js?v=1");
    EXPECT_NE(*it.find("./ü.js?v=1"), *it.find("./ü.js?v=2"));
    EXPECT_EQ(it.code("./b%2fc.js"), Code::InvalidSpecifier);
    EXPECT_EQ(it.code("./b%5Cc.js"), Code::InvalidSpecifier);
    EXPECT_EQ(it.code("./b%00.js"), Code::InvalidSpecifier);
    EXPECT_EQ(it.code(std::string_view("./b\0.js", 7)), Code::InvalidSpecifier);
    EXPECT_EQ(it.code(""), Code::InvalidSpecifier);
}

TEST(Resolver, JS_2_a_file_url_names_a_file_of_this_machine) {
    Case it(Tree{{"/app/a b.js", ""}});
    EXPECT_EQ(it.path("file:///app/a%20b.js?x"), "/app/a b.js?x");
    EXPECT_EQ(it.path("file://localhost/app/a%20b.js"), "/app/a b.js");
    EXPECT_EQ(it.path("file:///app/../app/a%20b.js"), "/app/a b.js");
    EXPECT_EQ(it.code("file://elsewhere/app/a.js"), Code::InvalidSpecifier);
    EXPECT_EQ(it.code("file:a.js"), Code::InvalidSpecifier);
    EXPECT_EQ(it.code("https://example.com/a.js"), Code::Unsupported);
    EXPECT_EQ(it.code("data:text/javascript,1"), Code::Unsupported);
}

TEST(Resolver, JS_2_extensions_are_not_guessed_but_said) {
    Case it(
        Tree{{"/app/main.js", ""}, {"/app/a.js", ""}, {"/app/f/index.js", ""}, {"/app/t.ts", ""}});
    ModuleError error = it.error("./a");
    EXPECT_EQ(error.code, Code::NotFound);
    EXPECT_THAT(error.tried, ElementsAre("/app/a"));
    EXPECT_EQ(error.hint, "Did you mean \"./a.js\"?");
    EXPECT_EQ(error.text(),
              "\"./a\", imported from /app/main.js, is not there\n  tried /app/a\n"
              "Did you mean \"./a.js\"?");
    error = it.error("./f");
    EXPECT_EQ(error.code, Code::Folder);
    EXPECT_EQ(error.hint, "Did you mean the file /app/f/index.js?");
    EXPECT_EQ(it.code("./f/"), Code::Folder);
    EXPECT_EQ(it.code("."), Code::Folder);
    EXPECT_EQ(it.error("./t.js").hint, "Did you mean the file /app/t.ts?");
    EXPECT_EQ(it.error("./nothing.js").hint, "");
}

TEST(Resolver, JS_2_a_builtin_is_one_that_the_host_has) {
    Case it(Tree{{"/app/main.js", ""}, {"/app/node_modules/fs/index.js", ""}},
            {.builtins = {"weft:http", "weft:time", "node:fs"}});
    EXPECT_EQ(it.path("weft:http"), "weft:http");
    EXPECT_EQ(it.find("weft:http")->format, ModuleFormat::Builtin);
    EXPECT_EQ(it.find("weft:http")->url(), "weft:http");
    EXPECT_EQ(it.path("node:fs"), "node:fs");
    EXPECT_EQ(it.path("fs"), "node:fs");  // before the package
    EXPECT_EQ(it.error("weft:htpt").hint, "Did you mean \"weft:http\"?");
    EXPECT_EQ(it.error("weft:database").hint, "There are: weft:http, weft:time, node:fs");
    EXPECT_EQ(it.error("http").hint, "Did you mean \"weft:http\"?");
}

TEST(Resolver, JS_2_a_bare_name_is_a_package_of_a_folder_above) {
    Case it(Tree{{"/app/node_modules/a/index.js", ""},
                 {"/app/src/deep/main.js", ""},
                 {"/app/src/node_modules/b/index.js", ""},
                 {"/app/node_modules/b/index.js", ""},
                 {"/node_modules/@s/c/lib/d.js", ""},
                 {"/node_modules/@s/c/package.json", R"({"main": "lib/d.js"})"}});
    it.referrer = "/app/src/deep/main.js";
    EXPECT_EQ(it.path("a"), "/app/node_modules/a/index.js");
    EXPECT_EQ(it.path("b"), "/app/src/node_modules/b/index.js");
    EXPECT_EQ(it.path("@s/c"), "/node_modules/@s/c/lib/d.js");
    EXPECT_EQ(it.path("@s/c/lib/d.js"), "/node_modules/@s/c/lib/d.js");
    EXPECT_EQ(it.path("@s/c/lib/d.js?x"), "/node_modules/@s/c/lib/d.js?x");
    // Never node_modules/node_modules.
    it.referrer = "/app/node_modules/a/index.js";
    EXPECT_THAT(it.error("z").tried, ElementsAre("/app/node_modules/a/node_modules/z",
                                                 "/app/node_modules/z", "/node_modules/z"));
    for (const char* wrong : {"@s", "@s/", "@", ".a", "a%20b", "a\\b", "@/b"}) {
        EXPECT_EQ(it.code(wrong), Code::InvalidSpecifier) << wrong;
    }
}

TEST(Resolver, JS_2_a_missing_package_says_where_it_was_looked_for_and_what_to_do) {
    Case it(Tree{{"/app/src/main.js", ""},
                 {"/app/src/util.js", ""},
                 {"/app/package.json", R"({"dependencies": {"named": "1"}})"}});
    it.referrer = "/app/src/main.js";
    ModuleError error = it.error("left-pad/x.js");
    EXPECT_EQ(error.message, "there is no package \"left-pad\", imported from /app/src/main.js");
    EXPECT_THAT(error.tried, ElementsAre("/app/src/node_modules/left-pad",
                                         "/app/node_modules/left-pad", "/node_modules/left-pad"));
    EXPECT_EQ(error.hint, "Install it: npm install left-pad");
    EXPECT_THAT(it.error("named").hint, HasSubstr("not installed: npm install"));
    EXPECT_EQ(it.error("util.js").hint, "Did you mean \"./util.js\"?");
    EXPECT_EQ(it.error("util").hint, "Did you mean \"./util.js\"?");
}

TEST(Resolver, JS_2_exports_may_be_a_string) {
    Case it = with_package(R"({"exports": "./main.js"})");
    EXPECT_EQ(it.path("p"), "/app/node_modules/p/main.js");
    EXPECT_EQ(it.code("p/main.js"), Code::NotExported);
    EXPECT_EQ(it.code("p/package.json"), Code::NotExported);
}

TEST(Resolver, JS_2_the_first_condition_that_holds_is_taken) {
    const char* kJson = R"({"exports": {"node": "./node.cjs", "require": "./node.cjs",
                                        "worker": "./worker.js", "default": "./main.js"}})";
    EXPECT_EQ(with_package(kJson).path("p"), "/app/node_modules/p/worker.js");
    EXPECT_EQ(with_package(kJson).path("p", ImportKind::Require), "/app/node_modules/p/node.cjs");
    EXPECT_EQ(
        with_package(R"({"exports": {"default": "./main.js", "weft": "./worker.js"}})").path("p"),
        "/app/node_modules/p/main.js");
    EXPECT_EQ(
        with_package(R"({"exports": {"import": "./main.js", "weft": "./worker.js"}})").path("p"),
        "/app/node_modules/p/main.js");
    EXPECT_EQ(
        with_package(R"({"exports": {"weft": "./worker.js", "import": "./main.js"}})").path("p"),
        "/app/node_modules/p/worker.js");
}

TEST(Resolver, JS_2_conditions_nest_and_fall_through) {
    Case it = with_package(R"({"exports": {".": {
        "import": {"browser": "./node.cjs", "deno": "./node.cjs"},
        "worker": {"require": "./node.cjs", "import": {"weft": "./worker.js"}},
        "default": "./main.js"}}})");
    EXPECT_EQ(it.path("p"), "/app/node_modules/p/worker.js");
    EXPECT_EQ(it.path("p", ImportKind::Require), "/app/node_modules/p/node.cjs");
    // The condition `node` is the last resort.
    EXPECT_EQ(with_package(R"({"exports": {"node": "./main.js"}})").path("p"),
              "/app/node_modules/p/main.js");
    EXPECT_EQ(with_package(R"({"exports": {"deno": "./main.js"}})").code("p"), Code::NotExported);
    // Null forbids, also where a later condition would hold.
    EXPECT_EQ(with_package(R"({"exports": {"worker": null, "default": "./main.js"}})").code("p"),
              Code::NotExported);
}

TEST(Resolver, JS_2_subpaths_have_patterns_of_which_the_most_specific_counts) {
    Case it = with_package(R"({"exports": {
        ".": "./index.js", "./lib/*": "./lib/*.js", "./lib/internal/*": null,
        "./lib/*.js": "./lib/*.js", "./b/*/d": "./lib/b/*.js", "./exact": "./main.js"}})");
    EXPECT_EQ(it.path("p/lib/a"), "/app/node_modules/p/lib/a.js");
    EXPECT_EQ(it.path("p/lib/a.js"), "/app/node_modules/p/lib/a.js");
    EXPECT_EQ(it.path("p/lib/b/c"), "/app/node_modules/p/lib/b/c.js");
    EXPECT_EQ(it.path("p/b/c/d"), "/app/node_modules/p/lib/b/c.js");
    EXPECT_EQ(it.path("p/exact"), "/app/node_modules/p/main.js");
    EXPECT_EQ(it.code("p/lib/internal/x"), Code::NotExported);
    EXPECT_EQ(it.code("p/lib/"), Code::NotExported);
    EXPECT_EQ(it.code("p/lib"), Code::NotExported);
    EXPECT_EQ(it.code("p/lib/*"), Code::NotFound);  // a star stands for a star
    ModuleError error = it.error("p/other");
    EXPECT_THAT(error.message, HasSubstr("does not offer \"./other\""));
    EXPECT_THAT(error.message, HasSubstr("conditions: weft, worker, import, default"));
    EXPECT_THAT(error.hint, HasSubstr("./exact"));
}

TEST(Resolver, JS_2_a_list_gives_the_first_that_is_valid) {
    EXPECT_EQ(with_package(R"({"exports": ["main.js", "./main.js", "./worker.js"]})").path("p"),
              "/app/node_modules/p/main.js");
    EXPECT_EQ(with_package(R"({"exports": [{"node": "./node.cjs"}, "./main.js"]})").path("p"),
              "/app/node_modules/p/main.js");
    EXPECT_EQ(with_package(R"({"exports": [null, "./main.js"]})").path("p"),
              "/app/node_modules/p/main.js");
    EXPECT_EQ(with_package(R"({"exports": []})").code("p"), Code::NotExported);
    EXPECT_EQ(with_package(R"({"exports": ["a", "b"]})").code("p"), Code::InvalidTarget);
    // The first valid target is used, whether or not its file exists.
    EXPECT_EQ(with_package(R"({"exports": ["./gone.js", "./main.js"]})").code("p"), Code::NotFound);
}

TEST(Resolver, JS_2_no_target_leads_out_of_its_package) {
    for (const char* target :
         {"../outside.js", "./../outside.js", "./lib/../../outside.js", "/etc/passwd", "main.js",
          "./node_modules/q/a.js", "./lib/Node_Modules/a.js", "./lib/%2e%2e/a.js", "./lib/./a.js",
          "./lib//a.js", "./lib\\\\..\\\\a.js", "./lib/%2e./a.js", "./lib/%2fa.js",
          "file:///etc/passwd", "https://example.com/", "weft:http", "q", "", "."}) {
        Case it = with_package(std::string(R"({"exports": ")") + target + "\"}");
        EXPECT_EQ(it.code("p"), Code::InvalidTarget) << target;
    }
    EXPECT_EQ(with_package(R"({"exports": 7})").code("p"), Code::InvalidTarget);
    EXPECT_EQ(with_package(R"({"exports": true})").code("p"), Code::InvalidTarget);
    for (const char* rest :
         {"../outside", "b/../../x", "%2e%2e/x", "./a", "node_modules/q", "b//c", "b\\..\\x"}) {
        Case it = with_package(R"({"exports": {"./lib/*": "./lib/*.js"}})");
        EXPECT_EQ(it.code(std::string("p/lib/") + rest), Code::InvalidSpecifier) << rest;
    }
}

TEST(Resolver, JS_2_a_package_json_that_is_wrong_is_named) {
    EXPECT_EQ(with_package(R"({"exports": {".": "./main.js", "import": "./a.js"}})").code("p"),
              Code::InvalidPackage);
    EXPECT_EQ(with_package(R"({"exports": {"0": "./main.js"}})").code("p"), Code::InvalidPackage);
    ModuleError error = with_package("{\n \"exports\": }").error("p");
    EXPECT_EQ(error.code, Code::InvalidPackage);
    EXPECT_THAT(error.message, HasSubstr("/app/node_modules/p/package.json: line 2, column"));
    EXPECT_EQ(with_package("[]").code("p"), Code::InvalidPackage);
    std::string deep(200, '[');
    EXPECT_THAT(with_package(deep + std::string(200, ']')).error("p").message,
                HasSubstr("Json::kDepthMax"));
    std::string exports = R"({"exports": )";
    for (int level = 0; level < 200; ++level) exports += R"({"default": )";
    EXPECT_EQ(with_package(exports).code("p"), Code::InvalidPackage);
}

TEST(Resolver, JS_2_without_exports_module_comes_before_main_and_index) {
    EXPECT_EQ(with_package(R"({"main": "main.js", "module": "worker.js"})").path("p"),
              "/app/node_modules/p/worker.js");
    EXPECT_EQ(with_package(R"({"main": "main.js", "module": "worker.js"})").find("p")->format,
              ModuleFormat::Module);
    EXPECT_EQ(with_package(R"({"main": "main.js", "module": "worker.js"})")
                  .path("p", ImportKind::Require),
              "/app/node_modules/p/main.js");
    EXPECT_EQ(with_package(R"({"main": "./main"})").path("p"), "/app/node_modules/p/main.js");
    EXPECT_EQ(with_package(R"({"main": "gone.js"})").path("p"), "/app/node_modules/p/index.js");
    EXPECT_EQ(with_package("{}").path("p"), "/app/node_modules/p/index.js");
    EXPECT_EQ(with_package(R"({"exports": null})").path("p"), "/app/node_modules/p/index.js");
    EXPECT_EQ(with_package("{}").path("p/lib/a.js"), "/app/node_modules/p/lib/a.js");
    EXPECT_EQ(with_package("{}").error("p/lib/a").hint, "Did you mean \"p/lib/a.js\"?");
    EXPECT_EQ(with_package("{}").path("p/lib/a", ImportKind::Require),
              "/app/node_modules/p/lib/a.js");
    EXPECT_EQ(with_package("{}").code("p/lib"), Code::Folder);
    Case empty(Tree{{"/app/node_modules/p/readme.txt", ""}});
    EXPECT_THAT(empty.error("p").tried,
                ElementsAre("/app/node_modules/p/index.js", "/app/node_modules/p/index.json",
                            "/app/node_modules/p/index.mjs"));
}

TEST(Resolver, JS_2_imports_are_names_of_the_own_package) {
    Case it(Tree{{"/app/src/main.js", ""},
                 {"/app/src/db.js", ""},
                 {"/app/src/parts/a.js", ""},
                 {"/app/node_modules/p/index.js", ""},
                 {"/app/node_modules/p/x.js", ""},
                 {"/app/package.json", R"({"imports": {
                 "#db": {"node": "p", "default": "./src/db.js"}, "#parts/*": "./src/parts/*.js",
                 "#p": "p", "#p/*": "p/*", "#http": "weft:http", "#up": "../x.js",
                 "#url": "https://example.com/", "#loop": "#db", "#null": null}})"}},
            {.builtins = {"weft:http"}});
    it.referrer = "/app/src/main.js";
    EXPECT_EQ(it.path("#db"), "/app/src/db.js");
    EXPECT_EQ(it.path("#parts/a"), "/app/src/parts/a.js");
    EXPECT_EQ(it.path("#p"), "/app/node_modules/p/index.js");
    EXPECT_EQ(it.path("#p/x.js"), "/app/node_modules/p/x.js");
    EXPECT_EQ(it.path("#http"), "weft:http");
    EXPECT_EQ(it.code("#up"), Code::InvalidTarget);
    EXPECT_EQ(it.code("#url"), Code::InvalidTarget);
    EXPECT_EQ(it.code("#loop"), Code::NotFound);
    EXPECT_EQ(it.code("#null"), Code::NotDefined);
    EXPECT_EQ(it.code("#"), Code::InvalidSpecifier);
    EXPECT_EQ(it.code("#/x"), Code::InvalidSpecifier);
    ModuleError error = it.error("#dp");
    EXPECT_EQ(error.code, Code::NotDefined);
    EXPECT_THAT(error.hint, HasSubstr("#db"));
    // The package.json of the importing file decides, not one of another package.
    it.referrer = "/app/node_modules/p/index.js";
    EXPECT_EQ(it.code("#db"), Code::NotDefined);
}

TEST(Resolver, JS_2_a_package_may_name_itself_if_it_has_exports) {
    Case it(
        Tree{{"/app/main.js", ""},
             {"/app/lib.js", ""},
             {"/app/package.json", R"({"name": "@me/app", "exports": {"./lib": "./lib.js"}})"}});
    EXPECT_EQ(it.path("@me/app/lib"), "/app/lib.js");
    EXPECT_EQ(it.code("@me/app"), Code::NotExported);
    it.files.put("/app/package.json", R"({"name": "@me/app"})");
    it.resolver.forget();
    EXPECT_EQ(it.code("@me/app/lib"), Code::NotFound);
}

TEST(Resolver, JS_2_the_format_is_that_of_the_extension_and_the_package) {
    Case it(Tree{{"/app/a.js", ""},
                 {"/app/a.mjs", ""},
                 {"/app/a.cjs", ""},
                 {"/app/a.json", ""},
                 {"/app/a.ts", ""},
                 {"/app/a.mts", ""},
                 {"/app/a.cts", ""},
                 {"/app/a", ""},
                 {"/app/a.css", ""},
                 {"/app/old/package.json", R"({"type": "commonjs"})"},
                 {"/app/old/a.js", ""},
                 {"/app/node_modules/e/index.js", ""},
                 {"/app/node_modules/m/package.json", R"({"type": "module"})"},
                 {"/app/node_modules/m/index.js", ""}});
    EXPECT_EQ(it.find("./a.js")->format, ModuleFormat::Module);
    EXPECT_EQ(it.find("./a.mjs")->format, ModuleFormat::Module);
    EXPECT_EQ(it.find("./a.cjs")->format, ModuleFormat::CommonJs);
    EXPECT_EQ(it.find("./a.json")->format, ModuleFormat::Json);
    EXPECT_EQ(it.find("./a.ts")->format, ModuleFormat::TypeScript);
    EXPECT_EQ(it.find("./a.mts")->format, ModuleFormat::TypeScript);
    EXPECT_EQ(it.find("./a.cts")->format, ModuleFormat::CommonJs);
    EXPECT_EQ(it.find("./a")->format, ModuleFormat::Module);
    EXPECT_EQ(it.find("./old/a.js")->format, ModuleFormat::CommonJs);
    EXPECT_EQ(it.find("e")->format, ModuleFormat::Either);
    EXPECT_EQ(it.find("m")->format, ModuleFormat::Module);
    EXPECT_EQ(it.code("./a.css"), Code::Unsupported);
}

TEST(Resolver, JS_2_a_link_is_the_file_that_it_leads_to) {
    Case it(Tree{{"/app/main.js", ""},
                 {"/app/node_modules/p", "-> /packages/p"},
                 {"/packages/p/index.js", ""},
                 {"/packages/node_modules/q/index.js", ""}});
    ModuleResult<Module> module = it.find("p");
    ASSERT_TRUE(module.has_value()) << module.error().text();
    EXPECT_EQ(module->path, "/packages/p/index.js");
    // So its imports are looked up from its real folder.
    it.referrer = module->path;
    EXPECT_EQ(it.path("q"), "/packages/node_modules/q/index.js");
}

TEST(Resolver, JS_2_a_package_json_is_read_once) {
    Case it = with_package(R"({"exports": {"./lib/*": "./lib/*.js"}})");
    EXPECT_EQ(it.path("p/lib/a"), "/app/node_modules/p/lib/a.js");
    EXPECT_EQ(it.path("p/lib/b/c"), "/app/node_modules/p/lib/b/c.js");
    EXPECT_EQ(it.files.reads, 1);
    it.resolver.forget();
    EXPECT_EQ(it.path("p/lib/a"), "/app/node_modules/p/lib/a.js");
    EXPECT_EQ(it.files.reads, 2);
}

TEST(Resolver, JS_2_an_entry_is_a_file_or_a_folder) {
    Case it(Tree{{"/a/main.js", ""},
                 {"/b/package.json", R"({"main": "server.mjs"})"},
                 {"/b/server.mjs", ""},
                 {"/c/app.js", ""},
                 {"/d/package.json", R"({"exports": {"worker": "./w.js"}})"},
                 {"/d/w.js", ""},
                 {"/e/notes.txt", ""}});
    EXPECT_EQ(it.resolver.resolve_entry("/a/main.js")->path, "/a/main.js");
    EXPECT_EQ(it.resolver.resolve_entry("/a/")->path, "/a/main.js");
    EXPECT_EQ(it.resolver.resolve_entry("/b")->path, "/b/server.mjs");
    EXPECT_EQ(it.resolver.resolve_entry("/c/../c")->path, "/c/app.js");
    EXPECT_EQ(it.resolver.resolve_entry("/d")->path, "/d/w.js");
    ModuleResult<Module> none = it.resolver.resolve_entry("/e");
    ASSERT_FALSE(none.has_value());
    EXPECT_THAT(none.error().text(), HasSubstr("tried /e/index.js"));
    EXPECT_THAT(it.resolver.resolve_entry("/a/man.js").error().text(),
                HasSubstr("tried /a/man.js"));
    EXPECT_EQ(it.resolver.resolve_entry("/a/main").error().hint, "Did you mean \"/a/main.js\"?");
}

TEST(Resolver, JS_2_the_disk_is_read_through_links) {
    namespace fs = std::filesystem;
    fs::path root =
        fs::path(::testing::TempDir()) / ("weft_resolver." + std::to_string(::getpid()));
    fs::remove_all(root);
    fs::create_directories(root / "app/node_modules");
    fs::create_directories(root / "packages/p");
    std::ofstream(root / "packages/p/package.json") << R"({"exports": "./m.js"})";
    std::ofstream(root / "packages/p/m.js") << "export default 1;";
    fs::create_directory_symlink(root / "packages/p", root / "app/node_modules/p");
    DiskFiles files;
    Resolver resolver(files, {});
    ModuleResult<Module> module = resolver.resolve("p", (root / "app/main.js").string());
    ASSERT_TRUE(module.has_value()) << module.error().text();
    EXPECT_EQ(module->path, fs::canonical(root / "packages/p/m.js").string());
    EXPECT_EQ(files.read(module->path).value(), "export default 1;");
    EXPECT_FALSE(files.read((root / "none").string()).has_value());
    fs::remove_all(root);
}

// ---- import maps

Case with_map(const char* map) {
    ModuleResult<ImportMap> parsed = ImportMap::parse(map, "/app/import_map.json");
    EXPECT_TRUE(parsed.has_value()) << parsed.error().text();
    return Case(Tree{{"/app/main.js", ""},
                     {"/app/src/db.js", ""},
                     {"/app/src/old db.js", ""},
                     {"/app/src/a/b.js", ""},
                     {"/app/vendor/lib.js", ""},
                     {"/app/node_modules/p/index.js", ""}},
                {.builtins = {"weft:http"}, .import_map = std::move(*parsed)});
}

TEST(ImportMap, JS_2_a_map_names_modules_and_folders) {
    Case it = with_map(R"({"imports": {"db": "./src/db.js", "src/": "./src/", "src/a/": "/app/src/",
                           "web": "weft:http", "./main.js": "./src/db.js",
                           "old": "./src/old db.js"}})");
    EXPECT_EQ(it.path("db"), "/app/src/db.js");
    EXPECT_EQ(it.path("src/db.js"), "/app/src/db.js");
    EXPECT_EQ(it.path("src/a/db.js"), "/app/src/db.js");  // the longer key
    EXPECT_EQ(it.path("web"), "weft:http");
    EXPECT_EQ(it.path("./main.js"), "/app/src/db.js");
    EXPECT_EQ(it.path("old"), "/app/src/old db.js");
    EXPECT_EQ(it.path("p"), "/app/node_modules/p/index.js");  // what it does not name
    EXPECT_EQ(it.code("src/../main.js"), Code::Blocked);
}

TEST(ImportMap, JS_2_a_scope_is_for_what_imports_from_there) {
    Case it = with_map(R"({"imports": {"db": "./src/db.js"},
                           "scopes": {"./vendor/": {"db": "./vendor/lib.js"},
                                      "./vendor/lib.js": {"db": "./src/a/b.js"}}})");
    EXPECT_EQ(it.path("db"), "/app/src/db.js");
    it.referrer = "/app/vendor/other.js";
    EXPECT_EQ(it.path("db"), "/app/vendor/lib.js");
    it.referrer = "/app/vendor/lib.js";
    EXPECT_EQ(it.path("db"), "/app/src/a/b.js");
}

TEST(ImportMap, JS_2_what_cannot_be_used_is_warned_of_and_blocks) {
    ModuleResult<ImportMap> map = ImportMap::parse(
        R"({"imports": {"bare": "other", "n": 7, "f/": "./src", "no": null, "": "./x.js"},
            "extra": 1})",
        "/app/map.json");
    ASSERT_TRUE(map.has_value());
    EXPECT_EQ(map->warnings().size(), 5U);
    for (const char* name : {"bare", "n", "f/x", "no"}) {
        auto found = map->resolve(name, "/app/main.js");
        ASSERT_FALSE(found.has_value()) << name;
        EXPECT_EQ(found.error().code, Code::Blocked);
    }
    for (const char* wrong :
         {"[]", "{", R"({"imports": []})", R"({"scopes": 1})", R"({"scopes": {"./a/": "x"}})"}) {
        EXPECT_FALSE(ImportMap::parse(wrong, "/app/map.json").has_value()) << wrong;
    }
}

}  // namespace
}  // namespace weft::js
