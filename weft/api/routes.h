// Routes that are answered without entering JavaScript: as weft.json or a script has declared them.
// Values.
#pragma once

#include <string>
#include <vector>

namespace weft::api {

// What lies below a folder; see http/files/static_files.h.
struct StaticRoute {
    std::string path;    // "/assets": it and everything below
    std::string folder;  // absolute
    std::string index = "index.html";
    std::string cache_control;  // empty: none
};

// The request goes on as it came; see http/proxy/reverse_proxy.h.
struct ProxyRoute {
    std::string path;
    std::vector<std::string> upstreams;  // "http://127.0.0.1:9000", "unix:/run/app.sock"
};

struct Routes {
    std::vector<StaticRoute> folders;
    std::vector<ProxyRoute> proxies;
};

}  // namespace weft::api
