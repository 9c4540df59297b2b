// DataReader: the databases of weft.json, and which application may use them for what.
//
//     "data": {"main": {"provider": "sqlite", "path": "shop.db"},
//              "shop": {"provider": "postgres", "connectionStringEnv": "DATABASE_URL"}},
//     "apps": [{"entry": "app.js", "capabilities": [
//         {"token": "data.main", "kind": "database", "provider": "main", "access": "read"}]}]
//
// Both halves are held against each other here, before anything is listened to. What does not fit
// has a code of its own, by which its message begins.
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
    // When all applications were read.
    void check_use();

private:
    struct Provider {
        DataConfig config;
        Place place;
        std::string place_key;  // the key that said where it is
        bool is_used = false;
    };

    void read_provider(const std::string& name, const Keyed& at);
    // The one of the three keys that says where it is.
    void check_place(const Keyed& at, const Provider& provider);
    void read_access(const Keyed& at, std::string& into);
    void join(const Keyed& at, DataConfig capability, std::vector<DataConfig>& into);

    ConfigReader& reader_;
    const std::filesystem::path folder_;
    std::map<std::string, Provider, std::less<>> providers_;
};

// Shares out what each database allows ("maxConnections") among the pools that the process makes of
// it, one for each capability of each isolate. An error where that is less than one for each.
std::expected<void, std::string> share_connections(ServeConfig& config);

}  // namespace weft::app
