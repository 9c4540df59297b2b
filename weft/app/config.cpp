#include "weft/app/config.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

#include "weft/app/config_data.h"
#include "weft/app/config_reader.h"
#include "weft/app/config_routes.h"
#include "weft/app/env_file.h"
#include "weft/base/format.h"
#include "weft/fiber/os/file.h"
#include "weft/fiber/runtime.h"
#include "weft/net/egress.h"

namespace weft::app {
namespace {

constexpr std::uint64_t kHourMs = 3'600'000;
constexpr std::uint64_t kMinuteMs = 60'000;
constexpr std::uint64_t kExactMax = std::uint64_t{1} << 53;  // integers that a double holds
constexpr std::uint64_t kIsolatesMax = 256;
constexpr std::uint64_t kHeapMibMin = 8;
constexpr std::uint64_t kHeapMibMax = 65'536;

using Field = ConfigReader::Field;
constexpr Field::Presence kRequired = Field::Presence::Required;

std::string lower_case(std::string text) {
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

bool is_host(std::string_view host) {
    if (host.starts_with("*.")) host.remove_prefix(2);
    return !host.empty() && host.find_first_of("*/ :@?#\\") == std::string_view::npos;
}

bool is_empty_list(const Keyed& at) {
    return at.value.kind == JsonValue::Kind::Array && at.value.items.empty();
}

class ServeReader {
public:
    explicit ServeReader(const std::string& file)
        : folder_(std::filesystem::absolute(file).parent_path()) {}

    ServeConfig read(const JsonValue& root) {
        ServeConfig config;
        AppLimits limits;
        // Read before the applications, which inherit them, wherever the keys are in the file.
        for (std::size_t at = 0; at < root.keys.size(); ++at) {
            if (root.keys[at] == "limits") read_limits({root.items[at], "limits"}, limits);
            if (root.keys[at] == "data") data_.read_providers({root.items[at], "data"});
        }
        reader_.object(
            {root, ""},
            {{"$schema", [](const Keyed&) {}},
             {"listeners", [&](const Keyed& at) { read_listeners(at, config); }, kRequired},
             {"apps", [&](const Keyed& at) { read_apps(at, config, limits); }, kRequired},
             {"limits", [](const Keyed&) {}},
             {"data", [](const Keyed&) {}},
             {"drainMs", [&](const Keyed& at) { read_ms(at, 0, kHourMs, config.drain); }},
             {"isolation", [&](const Keyed& at) { read_isolation(at, config); }}});
        data_.check_use();
        return config;
    }
    std::vector<ConfigError> take_errors() { return reader_.take_errors(); }

private:
    void read_ms(const Keyed& at, std::uint64_t least, std::uint64_t most,
                 std::chrono::milliseconds& into) {
        if (auto number = reader_.number(at, least, most))
            into = std::chrono::milliseconds(*number);
    }

    void read_isolation(const Keyed& at, ServeConfig& config) {
        std::optional<std::string> text = reader_.text(at);
        if (!text) return;
        if (*text != "thread" && *text != "process")
            reader_.fail(at, format("must be \"thread\" or \"process\", not \"{}\"", *text));
        config.supervised = *text == "process";
    }

    // The path of something that exists, as an absolute path.
    void read_path(const Keyed& at, std::string& into) {
        std::optional<std::string> text = reader_.text(at);
        if (!text) return;
        std::filesystem::path path = (folder_ / *text).lexically_normal();
        std::error_code error;
        if (!std::filesystem::exists(path, error)) {
            reader_.fail(at, format("there is no {}", path.string()));
            return;
        }
        into = path.string();
    }

    void read_listeners(const Keyed& at, ServeConfig& config) {
        reader_.list(at, [&](const Keyed& item) {
            ListenerConfig listener;
            reader_.object(
                item,
                {{"address", [&](const Keyed& field) { read_address(field, listener.address); },
                  kRequired},
                 {"tls", [&](const Keyed& field) { read_tls(field, listener.tls.emplace()); }}});
            config.listeners.push_back(std::move(listener));
        });
        if (is_empty_list(at)) reader_.fail(at, "must have at least one");
    }

    void read_address(const Keyed& at, net::Address& into) {
        std::optional<std::string> text = reader_.text(at);
        if (!text) return;
        Result<net::Address> address = net::Address::parse(*text);
        if (!address) {
            reader_.fail(at, format("\"{}\" is no address such as 127.0.0.1:8080, :8080, "
                                    "[::1]:8080 or unix:/run/app.sock",
                                    *text));
            return;
        }
        into = *address;
    }

    void read_tls(const Keyed& at, TlsFiles& tls) {
        reader_.object(
            at, {{"certificate", [&](const Keyed& field) { read_path(field, tls.certificate); },
                  kRequired},
                 {"key", [&](const Keyed& field) { read_path(field, tls.key); }, kRequired},
                 {"clientCa", [&](const Keyed& field) { read_path(field, tls.client_ca); }}});
    }

    void read_apps(const Keyed& at, ServeConfig& config, const AppLimits& limits) {
        reader_.list(at, [&](const Keyed& item) {
            AppConfig app;
            app.opens_any_data = false;
            app.limits = limits;
            read_app(item, app);
            if (app.name.empty()) app.name = name_by_entry(app.entry);
            check_hosts(item, app, config);
            config.apps.push_back(std::move(app));
        });
        if (is_empty_list(at)) reader_.fail(at, "must have at least one");
    }

    void read_app(const Keyed& at, AppConfig& app) {
        auto into_text = [&](std::string& into) {
            return [this, &into](const Keyed& field) {
                if (auto text = reader_.text(field)) into = *text;
            };
        };
        Environment from_file;
        reader_.object(
            at,
            {{"name", into_text(app.name)},
             {"hosts", [&](const Keyed& field) { read_hosts(field, app); }},
             {"path",
              [&](const Keyed& field) {
                  routes_.read_path(field, app.path);
                  if (app.path == "/") app.path.clear();
              }},
             {"static", [&](const Keyed& field) { routes_.read_static(field, app.routes); }},
             {"proxy", [&](const Keyed& field) { routes_.read_proxy(field, app.routes); }},
             {"entry", [&](const Keyed& field) { read_path(field, app.entry); }, kRequired},
             {"importMap", [&](const Keyed& field) { read_path(field, app.import_map); }},
             {"env", [&](const Keyed& field) { read_env(field, app.env); }},
             {"envFile", [&](const Keyed& field) { read_env_file(field, from_file); }},
             {"limits", [&](const Keyed& field) { read_limits(field, app.limits); }},
             {"allowFetch", [&](const Keyed& field) { read_allowed(field, app); }},
             {"allowRead", [&](const Keyed& field) { read_readable(field, app); }},
             {"capabilities",
              [&](const Keyed& field) { data_.read_capabilities(field, app.data); }},
             {"compress",
              [&](const Keyed& field) {
                  if (auto flag = reader_.flag(field)) app.compresses = *flag;
              }},
             {"isolates", [&](const Keyed& field) {
                  // The number of CPUs that the process may use.
                  if (field.value.kind == JsonValue::Kind::String && field.value.text == "auto") {
                      app.isolates = RuntimeOptions::default_workers();
                  } else if (auto number = reader_.number(field, 1, kIsolatesMax)) {
                      app.isolates = static_cast<unsigned>(*number);
                  }
              }}});
        add_missing(app.env, from_file);
    }

    void read_hosts(const Keyed& at, AppConfig& app) {
        reader_.list(at, [&](const Keyed& item) {
            std::optional<std::string> host = reader_.text(item);
            if (!host) return;
            if (!is_host(*host)) {
                reader_.fail(item, format("\"{}\" is no host such as example.com or "
                                          "*.example.com; it has no port",
                                          *host));
                return;
            }
            app.hosts.push_back(lower_case(*host));
        });
    }

    // The choice of the application for a request must not depend on their order.
    void check_hosts(const Keyed& at, const AppConfig& app, const ServeConfig& config) {
        for (const AppConfig& other : config.apps) {
            if (app.path != other.path) continue;
            std::string where = app.path.empty() ? "" : format(" with the path {}", app.path);
            if (app.hosts.empty() && other.hosts.empty()) {
                reader_.fail(at, format("has no hosts, and neither has \"{}\": only one can have "
                                        "all the other hosts{}",
                                        other.name, where));
            }
            for (const std::string& host : app.hosts) {
                if (std::ranges::find(other.hosts, host) == other.hosts.end()) continue;
                reader_.fail(at, format("has the host {}{}, which \"{}\" has as well", host, where,
                                        other.name));
            }
        }
    }

    void read_env(const Keyed& at, Environment& env) {
        reader_.members(at, [&](const std::string& name, const Keyed& field) {
            if (field.value.kind != JsonValue::Kind::String) {
                reader_.fail(field, format("must be a text; write \"{}\"", field.value.text));
                return;
            }
            env.emplace_back(name, field.value.text);
        });
    }

    void read_env_file(const Keyed& at, Environment& env) {
        std::string path;
        read_path(at, path);
        if (path.empty()) return;
        Result<Environment> read = load_env_file(path);
        if (!read) {
            reader_.fail(at, read.error().message());
            return;
        }
        env = std::move(*read);
    }

    void read_limits(const Keyed& at, AppLimits& limits) {
        auto read_number = [this](const Keyed& field, std::uint64_t least, std::uint64_t most,
                                  auto& into) {
            if (auto number = reader_.number(field, least, most)) into = *number;
        };
        reader_.object(
            at, {{"handlerDeadlineMs",
                  [&](const Keyed& field) { read_ms(field, 1, kHourMs, limits.handler_deadline); }},
                 {"cpuMs", [&](const Keyed& field) { read_ms(field, 1, kMinuteMs, limits.cpu); }},
                 {"microtasks",
                  [&](const Keyed& field) { read_number(field, 0, kExactMax, limits.microtasks); }},
                 {"heapMiB",
                  [&](const Keyed& field) {
                      read_number(field, kHeapMibMin, kHeapMibMax, limits.heap_mib);
                  }},
                 {"bodyBytes",
                  [&](const Keyed& field) { read_number(field, 0, kExactMax, limits.body_bytes); }},
                 {"waitUntilMs",
                  [&](const Keyed& field) { read_ms(field, 0, kHourMs, limits.wait_until); }}});
    }

    void read_allowed(const Keyed& at, AppConfig& app) {
        reader_.list(at, [&](const Keyed& item) {
            std::optional<std::string> rule = reader_.text(item);
            if (!rule) return;
            net::EgressPolicy policy;
            if (Result<void> allowed = policy.allow(*rule); !allowed) {
                reader_.fail(item, allowed.error().message());
                return;
            }
            app.allow_fetch.push_back(*rule);
        });
    }

    void read_readable(const Keyed& at, AppConfig& app) {
        reader_.list(at, [&](const Keyed& item) {
            std::string path;
            read_path(item, path);
            if (!path.empty()) app.allow_read.push_back(std::move(path));
        });
    }

    static std::string name_by_entry(const std::string& entry) {
        std::filesystem::path path(entry);
        return path.has_extension() ? path.parent_path().filename().string()
                                    : path.filename().string();
    }

    std::filesystem::path folder_;
    ConfigReader reader_;
    DataReader data_{reader_, folder_};
    RouteReader routes_{reader_, folder_};
};

bool is_below(std::string_view path, std::string_view prefix) {
    return path.starts_with(prefix) &&
           (path.size() == prefix.size() || prefix.empty() || path[prefix.size()] == '/');
}

// How well the pattern matches: 0 not at all, the largest value exactly.
std::size_t fit_of(std::string_view pattern, std::string_view host) {
    if (pattern == host) return std::string_view::npos;
    bool fits = pattern.starts_with('*') && host.size() >= pattern.size() &&
                host.ends_with(pattern.substr(1));
    return fits ? pattern.size() : 0;
}

std::size_t fit_of(const AppConfig& app, std::string_view host) {
    std::size_t fit = app.hosts.empty() ? 1 : 0;
    for (const std::string& pattern : app.hosts) fit = std::max(fit, fit_of(pattern, host));
    return fit;
}

std::string wanted_host(std::string_view field) {
    std::string wanted = lower_case(std::string(without_port(field)));
    if (wanted.ends_with('.')) wanted.pop_back();
    return wanted;
}

}  // namespace

std::string ConfigErrors::text() const {
    std::string text;
    for (const ConfigError& error : errors) {
        if (!text.empty()) text += '\n';
        text += format("{}:{}:{}: ", file, error.place.line, error.place.column);
        if (!error.key.empty()) text += format("{}: ", error.key);
        text += error.message;
    }
    return text;
}

std::expected<ServeConfig, ConfigErrors> parse_config(std::string_view text,
                                                      const std::string& file) {
    std::expected<JsonValue, JsonError> root = read_json(text);
    if (!root) {
        return std::unexpected(
            ConfigErrors{file, {{root.error().place, "", root.error().message}}});
    }
    ServeReader reader(file);
    ServeConfig config = reader.read(*root);
    std::vector<ConfigError> errors = reader.take_errors();
    if (!errors.empty()) return std::unexpected(ConfigErrors{file, std::move(errors)});
    return config;
}

std::expected<ServeConfig, ConfigErrors> load_config(const std::string& file) {
    Result<std::string> text = read_text(file);
    if (!text) return std::unexpected(ConfigErrors{file, {{{}, "", text.error().message()}}});
    return parse_config(*text, file);
}

std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
    return host.substr(0, host.find(':'));
}

bool has_host(const ServeConfig& config, std::string_view host) {
    std::string wanted = wanted_host(host);
    return std::ranges::any_of(config.apps,
                               [&](const AppConfig& app) { return fit_of(app, wanted) > 0; });
}

const AppConfig* app_for(const ServeConfig& config, std::string_view host, std::string_view path) {
    const AppConfig& first = config.apps.front();
    if (config.apps.size() == 1 && first.hosts.empty() && first.path.empty()) return &first;
    std::string wanted = wanted_host(host);
    const AppConfig* found = nullptr;
    std::pair<std::size_t, std::size_t> best;  // how well the host fits, and how long the path is
    for (const AppConfig& app : config.apps) {
        if (!is_below(path, app.path)) continue;
        std::size_t fit = fit_of(app, wanted);
        std::pair rank(fit, app.path.size());
        if (fit == 0 || (found != nullptr && rank <= best)) continue;
        found = &app;
        best = rank;
    }
    return found;
}

Result<std::string> read_text(const std::string& path) {
    constexpr std::size_t kFileBytesMax = std::size_t{16} * 1024 * 1024;
    constexpr std::size_t kStepBytes = 16 * 1024;
    File file = WEFT_TRY(File::open(path));
    std::string text;
    while (text.size() <= kFileBytesMax) {
        std::size_t had = text.size();
        text.resize(had + kStepBytes);
        std::span<char> space(text.data() + had, kStepBytes);
        Result<std::size_t> count = file.read(std::as_writable_bytes(space));
        if (!count) return count.error().with_context("read", path);
        text.resize(had + *count);
        if (*count == 0) return text;
    }
    return Error::limit(path + " has more bytes than", kFileBytesMax, "kFileBytesMax");
}

}  // namespace weft::app
