#include "weft/app/config_data.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "weft/base/format.h"
#include "weft/data/open.h"

namespace weft::app {
namespace {

constexpr std::uint64_t kConnectionsMax = 256;
constexpr std::string_view kReadWrite = "readwrite";
constexpr std::string_view kSqlite = "sqlite";

using Field = ConfigReader::Field;
constexpr Field::Presence kRequired = Field::Presence::Required;

std::string active_providers() {
    std::string names;
    for (std::string_view name : data::provider_names()) {
        if (!names.empty()) names += ", ";
        names += name;
    }
    return names;
}

}  // namespace

void DataReader::read_providers(const Keyed& at) {
    reader_.members(at,
                    [&](const std::string& name, const Keyed& item) { read_provider(name, item); });
}

void DataReader::read_provider(const std::string& name, const Keyed& at) {
    Provider provider;
    DataConfig& config = provider.config;
    config.name = name;
    config.access = kReadWrite;
    provider.place = at.value.place;
    reader_.object(
        at, {{"provider",
              [&](const Keyed& field) {
                  if (auto text = reader_.text(field)) config.provider = *text;
                  if (std::ranges::find(data::provider_names(), config.provider) !=
                      data::provider_names().end())
                      return;
                  reader_.fail(field, format("WEFT_E_DATA_INACTIVE_PROVIDER: {} is not built "
                                             "into this program; there are: {}",
                                             shown(config.provider), active_providers()));
              },
              kRequired},
             {"path",
              [&](const Keyed& field) {
                  std::optional<std::string> text = reader_.text(field);
                  if (!text) return;
                  bool is_memory = *text == ":memory:";
                  config.place = is_memory ? *text : (folder_ / *text).lexically_normal().string();
                  provider.place_key = "path";
              }},
             {"connectionString",
              [&](const Keyed& field) {
                  if (auto text = reader_.text(field)) config.place = *text;
                  provider.place_key = "connectionString";
              }},
             {"connectionStringEnv",
              [&](const Keyed& field) {
                  std::optional<std::string> variable = reader_.text(field);
                  if (!variable) return;
                  provider.place_key = "connectionStringEnv";
                  const char* value = std::getenv(variable->c_str());
                  if (value && *value != '\0') {
                      config.place = value;
                      return;
                  }
                  reader_.fail(field, format("WEFT_E_DATA_PLACE: the variable {} is not set",
                                             shown(*variable)));
              }},
             {"access", [&](const Keyed& field) { read_access(field, config.access); }},
             {"maxConnections", [&](const Keyed& field) {
                  if (auto number = reader_.number(field, 1, kConnectionsMax))
                      config.connections_max = static_cast<unsigned>(*number);
              }}});
    check_place(at, provider);
    providers_.emplace(name, std::move(provider));
}

void DataReader::check_place(const Keyed& at, const Provider& provider) {
    bool wants_path = provider.config.provider == kSqlite;
    bool has_path = provider.place_key == "path";
    if (!provider.place_key.empty() && has_path == wants_path) return;
    reader_.fail(
        at, format("WEFT_E_DATA_PLACE: {} needs {}", provider.config.provider,
                   wants_path ? "\"path\"" : "\"connectionString\" or \"connectionStringEnv\""));
}

void DataReader::read_access(const Keyed& at, std::string& into) {
    std::optional<std::string> text = reader_.text(at);
    if (!text) return;
    into = *text;
    if (into == "read" || into == "write" || into == kReadWrite) return;
    reader_.fail(at, format("WEFT_E_DATA_ACCESS: {} is no access; there are: read, write, "
                            "readwrite",
                            shown(into)));
    into = kReadWrite;
}

void DataReader::read_capabilities(const Keyed& at, std::vector<DataConfig>& into) {
    reader_.list(at, [&](const Keyed& item) {
        DataConfig capability;
        capability.access = kReadWrite;
        reader_.object(
            item, {{"token",
                    [&](const Keyed& field) {
                        if (auto text = reader_.text(field)) capability.token = *text;
                    },
                    kRequired},
                   {"kind",
                    [&](const Keyed& field) {
                        std::optional<std::string> kind = reader_.text(field);
                        if (kind && *kind != "database")
                            reader_.fail(field, format("WEFT_E_DATA_KIND: {} is no kind of "
                                                       "capability; there is: database",
                                                       shown(*kind)));
                    },
                    kRequired},
                   {"provider",
                    [&](const Keyed& field) {
                        if (auto text = reader_.text(field)) capability.name = *text;
                    },
                    kRequired},
                   {"access", [&](const Keyed& field) { read_access(field, capability.access); }}});
        if (!capability.token.empty() && !capability.name.empty())
            join(item, std::move(capability), into);
    });
}

// Connects a capability of an application with its provider.
void DataReader::join(const Keyed& at, DataConfig capability, std::vector<DataConfig>& into) {
    auto found = providers_.find(capability.name);
    if (found == providers_.end()) {
        reader_.fail(
            at, format("WEFT_E_DATA_UNKNOWN_PROVIDER: \"data\" has no {}", shown(capability.name)));
        return;
    }
    found->second.is_used = true;
    const DataConfig& provider = found->second.config;
    if (provider.access != kReadWrite && capability.access != provider.access) {
        reader_.fail(at,
                     format("WEFT_E_DATA_ACCESS: \"{}\" asks for {}, and \"{}\" is for {} only",
                            capability.token, capability.access, provider.name, provider.access));
        return;
    }
    if (std::ranges::find(into, capability.token, &DataConfig::token) != into.end()) {
        reader_.fail(
            at, format("WEFT_E_DATA_DUPLICATE_TOKEN: \"{}\" is there twice", capability.token));
        return;
    }
    capability.provider = provider.provider;
    capability.place = provider.place;
    capability.connections_max = provider.connections_max;
    into.push_back(std::move(capability));
}

void DataReader::check_use() {
    for (const auto& [name, provider] : providers_) {
        if (provider.is_used) continue;
        reader_.fail(provider.place, format("data.{}", name),
                     "WEFT_E_DATA_MISSING_CAPABILITY: no application has a capability for it");
    }
}

std::expected<void, std::string> share_connections(ServeConfig& config) {
    std::map<std::string, unsigned, std::less<>> pools;
    for (const AppConfig& app : config.apps) {
        for (const DataConfig& data : app.data) pools[data.name] += app.isolates;
    }
    for (AppConfig& app : config.apps) {
        for (DataConfig& data : app.data) {
            unsigned count = pools[data.name];
            // Zero leaves the choice to the provider.
            if (data.connections_max == 0) continue;
            if (data.connections_max < count) {
                return std::unexpected(format(
                    "data.{}.maxConnections: WEFT_E_DATA_CONNECTIONS: {} are fewer than one for "
                    "each isolate and capability that uses it, which are {}",
                    data.name, data.connections_max, count));
            }
            data.connections_max /= count;
        }
    }
    return {};
}

}  // namespace weft::app
