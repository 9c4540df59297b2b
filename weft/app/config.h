// ServeConfig: the configuration of `weft serve`, from weft.json or from the command line.
//
//     {
//       "listeners": [{"address": "127.0.0.1:8080"}],
//       "apps": [{"hosts": ["shop.example"], "entry": "shop/app.js", "env": {"MODE": "live"}}]
//     }
//
// weft.schema.json, beside this file, describes the same for editors. Paths in the file are
// relative to its folder. All errors are reported at once, each with line, column and key; an
// unknown key is an error. Values; any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/api/routes.h"
#include "weft/app/json_text.h"
#include "weft/base/result.h"
#include "weft/net/address.h"

namespace weft::app {

// The limits of an application.
struct AppLimits {
    // From the request to the head of its response: 500 "Promise did not resolve in time".
    std::chrono::milliseconds handler_deadline{10'000};
    // Processor time of one turn of JavaScript.
    std::chrono::milliseconds cpu{500};
    // Microtasks in one drain; 0: not counted.
    std::uint64_t microtasks = 0;
    // Of an isolate's heap; 0: a share of the memory that the process may use, see memory_share.h.
    std::size_t heap_mib = 0;
    std::uint64_t body_bytes = std::uint64_t{1024} * 1024;  // of a request: 413
    // How long ctx.waitUntil() may hold a request after its response.
    std::chrono::milliseconds wait_until{30'000};

    friend bool operator==(const AppLimits&, const AppLimits&) = default;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// A database that an application may use; see config_data.h.
struct DataConfig {
    std::string token;     // the name for scripts: "data.main"
    std::string name;      // the key in "data"
    std::string provider;  // "sqlite", "postgres", "odbc"
    std::string place;     // an absolute path or :memory:; a connection string, which is secret
    std::string access;    // "read", "write", "readwrite"
    unsigned connections_max = 0;  // 0: the provider's choice; see share_connections()
};

struct AppConfig {
    std::string name;                // in logs; the entry's folder if none was given
    std::vector<std::string> hosts;  // in lower case; "*.example.com"; none: all others
    std::string path;                // "/shop": this path and all below it; empty: all paths
    std::string entry;               // a file or a folder; absolute
    std::string import_map;          // absolute; may be empty
    Environment env;                 // `env` of the handler
    AppLimits limits;
    std::vector<std::string> allow_fetch;  // rules of net::EgressPolicy::allow()
    std::vector<std::string> allow_read;   // files and folders for node:fs; absolute
    std::vector<DataConfig> data;
    api::Routes routes;       // answered without JavaScript
    bool compresses = false;  // compresses responses for clients that accept it
    // Scripts may open databases that no configuration names: there is no configuration file.
    bool opens_any_data = true;
    unsigned isolates = 1;
};

struct TlsFiles {
    std::string certificate;  // absolute, as the others
    std::string key;
    std::string client_ca;  // not empty: clients must present a certificate issued by it
};

struct ListenerConfig {
    net::Address address;
    std::optional<TlsFiles> tls;
};

// Where clients of V8's debugger may connect.
struct Debugging {
    static constexpr const char* kDefaultPlace = "127.0.0.1:9229";
    net::Address address;
    bool breaks = false;  // waits for a client, and pauses before the first statement

    // The values of --inspect and --inspect-brk, "[HOST:]PORT" each. Returns nothing if both are
    // empty. The error is text for people.
    static std::expected<std::optional<Debugging>, std::string> parse(
        const std::string& inspect, const std::string& inspect_brk);
};

struct ServeConfig {
    std::vector<ListenerConfig> listeners;
    std::vector<AppConfig> apps;
    std::chrono::milliseconds drain{30'000};  // the drain limit: time for requests after SIGTERM
    bool watch = false;
    // The applications run in a child process, which is restarted when it dies.
    bool supervised = false;
    // Listening sockets from the supervisor: by listener, then by worker. Empty: they are opened.
    std::vector<std::vector<int>> inherited;
    std::optional<Debugging> debugging;
};

struct ConfigError {
    Place place;
    std::string key;  // "apps[0].limits.cpuMs"; empty: the file itself
    std::string message;
};

struct ConfigErrors {
    std::string file;
    std::vector<ConfigError> errors;  // at least one; in the order of the file

    // One line for each: "weft.json:3:5: apps[0].entry: ...".
    std::string text() const;
};

// `file` is named in messages, and paths are relative to its folder.
std::expected<ServeConfig, ConfigErrors> parse_config(std::string_view text,
                                                      const std::string& file);
std::expected<ServeConfig, ConfigErrors> load_config(const std::string& file);

// The application for a Host header, which may have a port, and a path. An exact host wins, then
// the longest pattern, then applications without hosts; among equals the longest path. Null: none.
const AppConfig* app_for(const ServeConfig& config, std::string_view host, std::string_view path);

// Whether any application has that host, whatever its path.
bool has_host(const ServeConfig& config, std::string_view host);
// The host in a Host header.
std::string_view without_port(std::string_view host);

// Reads a whole file; the message of an error names it.
Result<std::string> read_text(const std::string& path);

}  // namespace weft::app
