#include "weft/api/bindings.h"

#include <vector>

#include "weft/api/async_context/bindings.h"
#include "weft/api/base64/bindings.h"
#include "weft/api/clone/bindings.h"
#include "weft/api/console/bindings.h"
#include "weft/api/crypto/bindings.h"
#include "weft/api/data/bindings.h"
#include "weft/api/encoding/bindings.h"
#include "weft/api/fetch/bindings.h"
#include "weft/api/global/bindings.h"
#include "weft/api/headers/bindings.h"
#include "weft/api/node/bindings.h"
#include "weft/api/serve/bindings.h"
#include "weft/api/streams/bindings.h"
#include "weft/api/test/bindings.h"
#include "weft/api/url/bindings.h"
#include "weft/api/websocket/bindings.h"
#include "weft/api/weft_http/bindings.h"
#include "weft/base/log.h"
#include "weft/js/natives.h"
#include "weft/js/snapshot.h"

extern "C" {
// The build makes this table from prelude.list; see snapshot/CMakeLists.txt.
struct WeftPreludeScript {
    const char* name;
    const char* begin;
    const char* end;
};
extern const WeftPreludeScript weft_prelude_scripts[];
extern const char weft_snapshot_begin[];
extern const char weft_snapshot_end[];
}

namespace weft::api {

std::span<const js::Binding> bindings() {
    static const std::vector<js::Binding> all = [] {
        std::vector<js::Binding> joined;
        for (std::span<const js::Binding> folder : {
                 js::engine_bindings(), js::require_bindings(), async_context_bindings(),
                 streams_bindings(),    url_bindings(),         encoding_bindings(),
                 base64_bindings(),     headers_bindings(),     console_bindings(),
                 clone_bindings(),      global_bindings(),      crypto_bindings(),
                 lattice_bindings(),    fetch_bindings(),       data_bindings(),
                 serve_bindings(),      websocket_bindings(),   weft_http_bindings(),
                 node_bindings(),       node_file_bindings(),   test_bindings(),
             })
            joined.insert(joined.end(), folder.begin(), folder.end());
        return joined;
    }();
    return all;
}

std::span<const char> snapshot() {
    static const std::span<const char> usable = []() -> std::span<const char> {
        std::span<const char> tagged(
            weft_snapshot_begin, static_cast<std::size_t>(weft_snapshot_end - weft_snapshot_begin));
        if (tagged.empty()) return {};
        Result<std::span<const char>> read = js::read_snapshot(tagged);
        if (read) return *read;
        log(LogLevel::Warn,
            "the start-up snapshot is left out: {}; isolates start more slowly until Weft is built "
            "with this V8",
            read.error().message());
        return {};
    }();
    return usable;
}

std::span<const js::PreludeScript> prelude() {
    static const std::vector<js::PreludeScript> scripts = [] {
        std::vector<js::PreludeScript> listed;
        for (const WeftPreludeScript* script = weft_prelude_scripts; script->name; ++script)
            listed.push_back({script->name, std::string_view(script->begin, script->end)});
        return listed;
    }();
    return scripts;
}

}  // namespace weft::api
