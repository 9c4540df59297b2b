// ServeConfig: what `weft serve` is to do, from weft.json or from the command line.
//
//     {
//       "listeners": [{"address": "127.0.0.1:8080"}],
//       "apps": [{"hosts": ["shop.example"], "entry": "shop/app.js", "env": {"MODE": "live"}}]
//     }
//
// weft.schema.json, beside this file, says the same for editors. Paths in the file are relative to
// its folder. Everything that is wrong is reported at once, each with line, column and key; a key
// that does not exist is wrong. Values; any thread.
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

// Of an application; what is not set is the runtime's choice.
struct AppLimits {
    // From the request to the head of its response: 500 "Promise did not resolve in time".
    std::chrono::milliseconds handler_deadline{10'000};
    // Processor time of one turn of JavaScript.
    std::chrono::milliseconds cpu{500};
    // Of one drain; 0: only their time counts.
    std::uint64_t microtasks = 0;
    // Of an isolate; 0: by the memory that the process may have.
    std::size_t heap_mib = 0;
    std::uint64_t body_bytes = std::uint64_t{1024} * 1024;  // of a request: 413
    // How long ctx.waitUntil() may hold a request after its response.
    std::chrono::milliseconds wait_until{30'000};

    friend bool operator==(const AppLimits&, const AppLimits&) = default;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// A database that an application may use; see config_data.h.
struct DataConfig {
    std::string token;     // what scripts call it: "data.main"
    std::string name;      // in "data"
    std::string provider;  // "sqlite", "postgres", "odbc"
    std::string place;     // an absolute path or :memory:; a connection string, which is secret
    std::string access;    // "read", "write", "readwrite"
    unsigned connections_max = 0;  // 0: the provider's choice; see share_connections()
};

struct AppConfig {
    std::string name;                // in logs; the entry's folder if none was given
    std::vector<std::string> hosts;  // in lower case; "*.example.com"; none: all others
    std::string path;                // "/shop": it and everything below; empty: all paths
    std::string entry;               // a file or a folder; absolute
    std::string import_map;          // absolute; may be empty
    Environment env;                 // `env` of the handler
    AppLimits limits;
    std::vector<std::string> allow_fetch;  // as net::EgressPolicy::allow() has them
    std::vector<std::string> allow_read;   // files and folders for node:fs; absolute
    std::vector<DataConfig> data;
    api::Routes routes;       // what is answered without it
    bool compresses = false;  // its responses, for clients that take that
    // Scripts may name databases themselves: where no file says what there is.
    bool opens_any_data = true;
    unsigned isolates = 1;
};

struct TlsFiles {
    std::string certificate;  // absolute, as the others
    std::string key;
    std::string client_ca;  // not empty: clients must have a certificate of it
};

struct ListenerConfig {
    net::Address address;
    std::optional<TlsFiles> tls;
};

// Clients of V8's debugger may come in.
struct Debugging {
    static constexpr const char* kDefaultPlace = "127.0.0.1:9229";
    net::Address address;
    bool breaks = false;  // before the first statement, when one has come

    // Of --inspect and --inspect-brk, "[HOST:]PORT" each; both are empty: nothing. The error is a
    // text for people.
    static std::expected<std::optional<Debugging>, std::string> parse(
        const std::string& inspect, const std::string& inspect_brk);
};

struct ServeConfig {
    std::vector<ListenerConfig> listeners;
    std::vector<AppConfig> apps;
    std::chrono::milliseconds drain{30'000};  // how long requests have to end after SIGTERM
    bool watch = false;
    // The applications run in a process of their own, which is started anew when it dies.
    bool supervised = false;
    // Sockets that listen already: of each listener one for each worker. Empty: they are opened.
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

    // "weft.json:3:5: apps[0].entry: ...", a line for each.
    std::string text() const;
};

// `file` is the name for messages and the place from which paths count.
std::expected<ServeConfig, ConfigErrors> parse_config(std::string_view text,
                                                      const std::string& file);
std::expected<ServeConfig, ConfigErrors> load_config(const std::string& file);

// The application for a Host header, which may have a port, and a path: an exact host, then the
// longest pattern, then those without hosts; of those the longest path. Null if there is none.
const AppConfig* app_for(const ServeConfig& config, std::string_view host, std::string_view path);

// Whether any application has that host, whatever its path.
bool has_host(const ServeConfig& config, std::string_view host);
// What a Host header names.
std::string_view without_port(std::string_view host);

// The whole of a file; NotFound and the like name it.
Result<std::string> read_text(const std::string& path);

}  // namespace weft::app
