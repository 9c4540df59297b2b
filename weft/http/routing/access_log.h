// AccessLog: writes a line for each request to a file. No request waits for the file.
//
//     auto log = WEFT_TRY(http::AccessLog::open("access.log", {.format = AccessFormat::Json}));
//     options.on_access = [&](const http::AccessRecord& record) { log->write(record); };
//     WEFT_TRY(scope.spawn("access log", [&] { return log->run(); }));
//
// write() formats the line and leaves it in memory; the fiber in run() writes the gathered lines,
// at the latest AccessLogOptions::flush_time after the first of them. When the disk is slower than
// the requests the memory fills up, and further lines are dropped and counted. Whatever a client
// sends, a record is one line with its fields in their places. The file is opened for appending, so
// others may truncate it.
//
// write(), close() and counters(): any thread. run(): one fiber. The log outlives all their
// callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/base/log.h"
#include "weft/base/metrics.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/os/file.h"
#include "weft/http/server/server.h"
#include "weft/sync/event.h"

namespace weft::http {

enum class AccessFormat : std::uint8_t {
    Common,    // the Common Log Format of the first servers
    Combined,  // with Referer and User-Agent
    Json,      // an object
};

// Texts that a client has chosen (target, Host, Referer, User-Agent) are cut at this length.
inline constexpr std::size_t kAccessFieldBytesMax = 2048;

// The line with its end of line. `wall_ns` is the time when the request ended, since 1970.
std::string format_access(AccessFormat style, const AccessRecord& record, std::int64_t wall_ns);

struct AccessLogOptions {
    AccessFormat format = AccessFormat::Combined;
    std::size_t bytes_max = 1024 * 1024;  // in memory; beyond it lines are dropped
    Nanoseconds flush_time = std::chrono::seconds(1);
};

struct AccessLogCounters {
    Counter lines;    // taken
    Counter dropped;  // because the memory was full or the log closed
    Counter lost;     // taken, and the file refused them
};

class AccessLog {
public:
    static Result<std::unique_ptr<AccessLog>> open(const std::string& path,
                                                   AccessLogOptions options = {});
    explicit AccessLog(File file, AccessLogOptions options = {});

    // Does not wait.
    void write(const AccessRecord& record);

    // Writes until close(), or until the ambient context ends, and then what is left.
    Result<void> run();
    // No more is taken; run() returns when everything is written.
    void close();

    const AccessLogCounters& counters() const { return counters_; }

private:
    struct Batch {
        std::string text;
        std::size_t lines = 0;
        bool is_last = false;
    };
    Batch take_batch();
    void write_out(const Batch& batch);
    void count_lost(std::string_view unwritten, std::size_t torn_bytes, const Error& why);

    File file_;
    const AccessLogOptions options_;
    AccessLogCounters counters_;
    Event has_lines_;
    Event flush_early_;  // the memory is half full, or the log is closed
    SpinLock lock_;
    Batch gathered_;  // under the lock, as closed_
    bool closed_ = false;
    LogOnce loss_logged_;
};

}  // namespace weft::http
