#include "weft/app/memory_share.h"

#include <algorithm>

#include "weft/base/log.h"
#include "weft/fiber/os/memory_limit.h"

namespace weft::app {
namespace {

constexpr std::size_t kHeapMibMin = 16;
constexpr std::size_t kHeapMibMax = 256;
constexpr std::uint64_t kMib = 1024 * 1024;

}  // namespace

std::size_t heap_mib_share(std::optional<std::uint64_t> memory_bytes, std::size_t isolates) {
    if (!memory_bytes) return kHeapMibMax;
    std::uint64_t share = *memory_bytes / kMib / 4 / std::max<std::size_t>(isolates, 1);
    return std::clamp<std::uint64_t>(share, kHeapMibMin, kHeapMibMax);
}

void set_heap_limits(ServeConfig& config, const std::filesystem::path& root) {
    std::size_t workers = 0;
    bool is_wanted = false;
    for (const AppConfig& app : config.apps) {
        workers = std::max<std::size_t>(workers, app.isolates);
        is_wanted = is_wanted || app.limits.heap_mib == 0;
    }
    if (!is_wanted) return;
    // Each worker has an isolate of each application.
    std::size_t isolates = workers * config.apps.size();
    std::optional<std::uint64_t> memory = memory_limit(root);
    std::size_t share = heap_mib_share(memory, isolates);
    for (AppConfig& app : config.apps)
        if (app.limits.heap_mib == 0) app.limits.heap_mib = share;
    log(LogLevel::Info, "{} MiB of heap an isolate: {} of them, the process may have {} MiB", share,
        isolates, memory.value_or(0) / kMib);
}

}  // namespace weft::app
