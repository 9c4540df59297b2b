#include "weft/app/init.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/app/terminal.h"
#include "weft/base/format.h"

namespace weft::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameMax = 128;

constexpr std::string_view kApp = R"(import { Results, router } from "weft:http";

const notes = new Map@KEYS@();
const app = router();

app.get("/", () => "@NAME@ runs\n");
app.get("/notes/{id}", (ctx) => notes.get(ctx.route.id) ?? Results.notFound());
app.post("/notes", async (ctx) => {
  const id = String(notes.size + 1);
  notes.set(id, await ctx.request.json());
  return Results.created(`/notes/${id}`, { id });
});

export default app;
)";

constexpr std::string_view kTest = R"(import { expect, test } from "weft:test";
import app from "./app.@END@";

const ask = (path@STRING@, init@INIT@ = {}) =>
  app.fetch(new Request(`http://localhost${path}`, init));

test("it runs", async () => {
  const response = await ask("/");
  expect(response.status).toBe(200);
  expect(await response.text()).toBe("@NAME@ runs\n");
});

test("a note is kept", async () => {
  const made = await ask("/notes", { method: "POST", body: JSON.stringify({ text: "milk" }) });
  expect(made.status).toBe(201);
  const { id } = await made.json();
  expect(await (await ask(`/notes/${id}`)).json()).toEqual({ text: "milk" });
  expect((await ask("/notes/none")).status).toBe(404);
});
)";

constexpr std::string_view kConfig = R"({
  "listeners": [{ "address": "127.0.0.1:8080" }],
  "apps": [{ "name": "@NAME@", "entry": "app.@END@" }]
}
)";

constexpr std::string_view kPackage = R"({
  "name": "@NAME@",
  "private": true,
  "type": "module",
  "main": "app.@END@",
  "scripts": {
    "start": "weft serve --config weft.json",
    "dev": "weft serve --config weft.json --watch",
    "test": "weft test"
  }
}
)";

constexpr std::string_view kReadme = R"(# @NAME@

```
weft serve --config weft.json --watch     # http://127.0.0.1:8080/, anew after every change
weft test
curl -d '{"text": "milk"}' http://127.0.0.1:8080/notes
```

`app.@END@` is the application, `app.test.@END@` its tests, `weft.json` where it listens.
)";

constexpr std::string_view kIgnored = "node_modules/\n.env\n*.db\n";

constexpr std::string_view kTypeScript = R"({
  "compilerOptions": {
    "target": "ES2022",
    "module": "ESNext",
    "moduleResolution": "bundler",
    "lib": ["ES2023", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "types": []
  },
  "include": @INCLUDE@
}
)";

// The folder of the TypeScript declarations in the installation of this program; empty if there is
// none.
std::string types_folder() {
    std::error_code error;
    fs::path program = fs::read_symlink("/proc/self/exe", error);
    fs::path types = (program.parent_path().parent_path() / "share/weft/types").lexically_normal();
    return !error && fs::is_directory(types, error) ? types.string() : std::string();
}

std::string included() {
    nlohmann::json include = {"**/*.ts"};
    std::string types = types_folder();
    if (!types.empty()) include.push_back(types + "/*.d.ts");
    return include.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string filled(std::string_view text, const std::map<std::string_view, std::string>& words) {
    std::string result(text);
    for (const auto& [word, value] : words) {
        for (std::size_t at = result.find(word); at != std::string::npos;
             at = result.find(word, at + value.size()))
            result.replace(at, word.size(), value);
    }
    return result;
}

bool is_name_part(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' ||
           letter == '_' || letter == '.';
}

int fail(Exit exit, const std::string& text) {
    complain(text);
    return static_cast<int>(exit);
}

}  // namespace

std::expected<std::string, std::string> name_of_new(const InitCommand& command) {
    std::error_code error;
    fs::path folder = fs::absolute(command.folder, error).lexically_normal();
    // The last part of "shop/" is empty.
    if (!folder.has_filename()) folder = folder.parent_path();
    std::string name = command.name.empty() ? folder.filename().string() : command.name;
    bool fits = !name.empty() && name.size() <= kNameMax && name.front() != '.' &&
                std::ranges::all_of(name, is_name_part);
    if (fits) return name;
    return std::unexpected(
        format("'{}' is no name of letters, digits, -, _ and .; --name gives another", name));
}

std::map<std::string, std::string> files_of_new(const InitCommand& command,
                                                const std::string& name) {
    std::string_view end = command.typescript ? "ts" : "js";
    std::map<std::string_view, std::string> words = {
        {"@NAME@", name},
        {"@END@", std::string(end)},
        {"@KEYS@", command.typescript ? "<string, unknown>" : ""},
        {"@STRING@", command.typescript ? ": string" : ""},
        {"@INIT@", command.typescript ? ": RequestInit" : ""},
    };
    std::map<std::string, std::string> files = {
        {format("app.{}", end), filled(kApp, words)},
        {format("app.test.{}", end), filled(kTest, words)},
        {"weft.json", filled(kConfig, words)},
        {"package.json", filled(kPackage, words)},
        {"README.md", filled(kReadme, words)},
        {".gitignore", std::string(kIgnored)},
    };
    if (command.typescript)
        files.emplace("tsconfig.json", filled(kTypeScript, {{"@INCLUDE@", included()}}));
    return files;
}

int init(const InitCommand& command) {
    auto name = name_of_new(command);
    if (!name) return fail(Exit::Usage, name.error());
    std::map<std::string, std::string> files = files_of_new(command, *name);
    fs::path folder(command.folder);
    std::vector<std::string> kept;
    std::error_code error;
    auto is_there = [&](const std::string& file) {
        return fs::exists(fs::symlink_status(folder / file, error));
    };
    // These may already exist in a repository. The application runs without them, so they are kept.
    for (const char* file : {"README.md", ".gitignore"}) {
        if (!is_there(file)) continue;
        files.erase(file);
        kept.emplace_back(file);
    }
    std::string there;
    for (const auto& [file, text] : files)
        if (is_there(file)) there += (there.empty() ? "" : ", ") + (folder / file).string();
    if (!there.empty())
        return fail(Exit::Usage, format("nothing was written, because there is already {}", there));
    fs::create_directories(folder, error);
    for (const auto& [file, text] : files) {
        std::ofstream out(folder / file, std::ios::binary);
        out << text;
        out.close();
        if (!out)
            return fail(Exit::Machine, format("{} cannot be written", (folder / file).string()));
        write_line(Stream::Out, format("wrote {}", (folder / file).string()));
    }
    for (const std::string& file : kept)
        write_line(Stream::Out, format("kept {}", (folder / file).string()));
    std::string enter = command.folder == "." ? "" : format("cd {} && ", command.folder);
    write_line(Stream::Out,
               format("\n  {}weft test\n  {}weft serve --config weft.json --watch", enter, enter));
    return static_cast<int>(Exit::Ok);
}

}  // namespace weft::app
