// Routes that are answered without entering JavaScript, as weft.json or a script declares them.
// Values.
#pragma once

#include <string>
#include <vector>

namespace weft::api {

// Serves the files below a folder; see http/files/static_files.h.
struct StaticRoute {
    std::string path;    // "/assets": this path and everything below it
    std::string folder;  // absolute
    std::string index = "index.html";
    std::string cache_control;  // empty: no such header
};

// Forwards the request unchanged; see http/proxy/reverse_proxy.h.
struct ProxyRoute {
    std::string path;
    std::vector<std::string> upstreams;  // "http://127.0.0.1:9000", "unix:/run/app.sock"
};

struct Routes {
    std::vector<StaticRoute> folders;
    std::vector<ProxyRoute> proxies;
};

}  // namespace weft::api
