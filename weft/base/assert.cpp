#include "weft/base/assert.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#ifndef WEFT_MODEL
#include "weft/base/env.h"
#endif

namespace weft {

void assertion_failed(const char* condition, const char* text, const char* file,
                      int line) noexcept {
    char report[1024];
    const char* separator = *text != '\0' ? ": " : "";
    int length = std::snprintf(report, sizeof report, "weft: assertion failed: %s%s%s (%s:%d)\n",
                               condition, separator, text, file, line);
    if (length > 0) {
        std::size_t bytes = std::min(static_cast<std::size_t>(length), sizeof report - 1);
        report[bytes - 1] = '\n';
#ifndef WEFT_MODEL
        // A simulated machine ends alone, and tells the seed that made it do so.
        if (Env* simulated = env::current()) simulated->fail({report, bytes - 1});
#endif
        // Nothing is left to do when stderr is gone: the abort below tells enough.
        [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, report, bytes);
    }
    std::abort();
}

}  // namespace weft
