// RouteReader: reads the routes of an application that are answered without JavaScript.
//
//     "static": [{"path": "/assets", "folder": "public", "cacheControl": "max-age=60"}],
//     "proxy": [{"path": "/api", "upstreams": ["http://127.0.0.1:9000"]}]
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/api/routes.h"
#include "weft/app/config_reader.h"

namespace weft::app {

class RouteReader {
public:
    RouteReader(ConfigReader& reader, std::filesystem::path folder)
        : reader_(reader), folder_(std::move(folder)) {}

    void read_static(const Keyed& at, api::Routes& into);
    void read_proxy(const Keyed& at, api::Routes& into);
    // Of a route, or of an application.
    void read_path(const Keyed& at, std::string& into);

private:
    void read_folder(const Keyed& at, std::string& into);
    void read_upstream(const Keyed& at, std::vector<std::string>& into);
    void check_twice(const Keyed& at, const std::string& path, const api::Routes& routes);

    ConfigReader& reader_;
    const std::filesystem::path folder_;
};

}  // namespace weft::app
