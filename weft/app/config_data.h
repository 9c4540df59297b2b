// DataReader: reads the databases of weft.json, and the access that each application has to them.
//
//     "data": {"main": {"provider": "sqlite", "path": "shop.db"},
//              "shop": {"provider": "postgres", "connectionStringEnv": "DATABASE_URL"}},
//     "apps": [{"entry": "app.js", "capabilities": [
//         {"token": "data.main", "kind": "database", "provider": "main", "access": "read"}]}]
//
// Both parts are checked against each other before any listener is opened. Each kind of mistake has
// a code, with which its message begins.
#pragma once

#include <expected>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "weft/app/config.h"
#include "weft/app/config_reader.h"

namespace weft::app {

class DataReader {
public:
    DataReader(ConfigReader& reader, std::filesystem::path folder)
        : reader_(reader), folder_(std::move(folder)) {}

    // The key "data"; before the applications.
    void read_providers(const Keyed& at);
    // The key "capabilities" of an application.
    void read_capabilities(const Keyed& at, std::vector<DataConfig>& into);
    // After all applications were read: every provider must be used.
    void check_use();

private:
    struct Provider {
        DataConfig config;
        Place place;
        std::string place_key;  // the key that names its location
        bool is_used = false;
    };

    void read_provider(const std::string& name, const Keyed& at);
    // Exactly one of the three keys names the location.
    void check_place(const Keyed& at, const Provider& provider);
    void read_access(const Keyed& at, std::string& into);
    void join(const Keyed& at, DataConfig capability, std::vector<DataConfig>& into);

    ConfigReader& reader_;
    const std::filesystem::path folder_;
    std::map<std::string, Provider, std::less<>> providers_;
};

// Divides "maxConnections" of each database among its pools in the process: there is one for each
// capability of each isolate. An error if there is less than one connection for each pool.
std::expected<void, std::string> share_connections(ServeConfig& config);

}  // namespace weft::app
