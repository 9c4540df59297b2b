#include "weft/http/routing/access_log.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/bytes.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/base/log.h"
#include "weft/fiber/cancel.h"
#include "weft/http/request.h"
#include "weft/http/wire/utf8.h"

namespace weft::http {
namespace {

// Lines that the file has not taken after this are lost; so long a shutdown may wait for the file.
constexpr std::chrono::seconds kWriteTimeMax{10};

std::string_view cut(std::string_view text) { return text.substr(0, kAccessFieldBytesMax); }

// Appends the text in quotation marks, as Apache and nginx do: characters that are not printable
// ASCII, and those that would end the field or the line, in hexadecimal.
void append_quoted(std::string& line, std::string_view text) {
    line += '"';
    for (char c : cut(text)) {
        if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
            line += c;
        } else {
            fmt::format_to(std::back_inserter(line), "\\x{:02X}", static_cast<unsigned char>(c));
        }
    }
    line += '"';
}

// RFC 8259 §7; and escapes what moves the cursor of a terminal (DEL, C1 controls) or what some
// readers take for the end of a line (U+2028, U+2029).
void append_json_text(std::string& line, std::string_view text) {
    std::string valid;
    wire::append_with_replacement(valid, cut(text));
    std::string_view left = valid;
    auto escape = [&](unsigned character, std::size_t bytes) {
        fmt::format_to(std::back_inserter(line), "\\u{:04x}", character);
        left.remove_prefix(bytes);
    };
    line += '"';
    while (!left.empty()) {
        auto c = static_cast<unsigned char>(left.front());
        if (c < ' ' || c == '"' || c == '\\' || c == 0x7F) {
            escape(c, 1);
        } else if (c == 0xC2 && static_cast<unsigned char>(left[1]) < 0xA0) {
            escape(static_cast<unsigned char>(left[1]), 2);
        } else if (left.starts_with("\u2028") || left.starts_with("\u2029")) {
            escape(left[2] == '\xA8' ? 0x2028 : 0x2029, 3);
        } else {
            line += left.front();
            left.remove_prefix(1);
        }
    }
    line += '"';
}

struct WallTime {
    std::chrono::year_month_day date;
    std::chrono::hh_mm_ss<std::chrono::milliseconds> time;

    explicit WallTime(std::int64_t wall_ns)
        : WallTime(std::chrono::floor<std::chrono::milliseconds>(
              std::chrono::sys_time<Nanoseconds>(Nanoseconds(wall_ns)))) {}

private:
    explicit WallTime(std::chrono::sys_time<std::chrono::milliseconds> instant)
        : date(std::chrono::floor<std::chrono::days>(instant)),
          time(instant - std::chrono::floor<std::chrono::days>(instant)) {}
};

std::string peer_text(const net::Address& peer) {
    return peer.kind() == net::Address::Kind::Ip ? peer.ip().to_string() : "unix";
}

std::string_view version_text(const Request& request) {
    return request.version() == wire::Version::Http10 ? "1.0" : "1.1";
}

void append_common(std::string& line, const AccessRecord& record, std::int64_t wall_ns) {
    static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    WallTime wall(wall_ns);
    fmt::format_to(std::back_inserter(line), "{} - - [{:02}/{}/{:04}:{:02}:{:02}:{:02} +0000] ",
                   peer_text(record.peer), static_cast<unsigned>(wall.date.day()),
                   kMonths[static_cast<unsigned>(wall.date.month()) - 1],
                   static_cast<int>(wall.date.year()), wall.time.hours().count(),
                   wall.time.minutes().count(), wall.time.seconds().count());
    if (const Request* request = record.request) {
        append_quoted(line, format("{} {} HTTP/{}", request->method(), cut(request->target()),
                                   version_text(*request)));
    } else {
        line += "\"-\"";
    }
    fmt::format_to(std::back_inserter(line), " {} {}", record.status, record.body_bytes);
}

void append_header(std::string& line, const AccessRecord& record, std::string_view name) {
    line += ' ';
    std::optional<std::string_view> value;
    if (record.request) value = record.request->header(name);
    append_quoted(line, value.value_or("-"));
}

void append_json(std::string& line, const AccessRecord& record, std::int64_t wall_ns) {
    WallTime wall(wall_ns);
    fmt::format_to(std::back_inserter(line),
                   "{{\"time\":\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z\",\"peer\":",
                   static_cast<int>(wall.date.year()), static_cast<unsigned>(wall.date.month()),
                   static_cast<unsigned>(wall.date.day()), wall.time.hours().count(),
                   wall.time.minutes().count(), wall.time.seconds().count(),
                   wall.time.subseconds().count());
    append_json_text(line, peer_text(record.peer));
    if (const Request* request = record.request) {
        auto member = [&](std::string_view name, std::optional<std::string_view> value) {
            if (!value) return;
            fmt::format_to(std::back_inserter(line), ",\"{}\":", name);
            append_json_text(line, *value);
        };
        member("method", request->method());
        member("target", request->target());
        member("version", version_text(*request));
        member("host", request->host());
        member("referer", request->header("referer"));
        member("user_agent", request->header("user-agent"));
    }
    auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(record.duration);
    fmt::format_to(std::back_inserter(line),
                   ",\"status\":{},\"body_bytes\":{},\"duration_us\":{},\"complete\":{}}}",
                   record.status, record.body_bytes, microseconds.count(), record.complete);
}

}  // namespace

std::string format_access(AccessFormat style, const AccessRecord& record, std::int64_t wall_ns) {
    std::string line;
    line.reserve(256);
    if (style == AccessFormat::Json) {
        append_json(line, record, wall_ns);
    } else {
        append_common(line, record, wall_ns);
    }
    if (style == AccessFormat::Combined) {
        append_header(line, record, "referer");
        append_header(line, record, "user-agent");
    }
    line += '\n';
    return line;
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::string& path,
                                                   AccessLogOptions options) {
    File file = WEFT_TRY(
        File::open(path, {.read = false, .create = true, .append = true, .permissions = 0640}));
    return std::make_unique<AccessLog>(std::move(file), options);
}

AccessLog::AccessLog(File file, AccessLogOptions options)
    : file_(std::move(file)), options_(options) {
    gathered_.text.reserve(options_.bytes_max);
}

void AccessLog::write(const AccessRecord& record) {
    std::string line = format_access(options_.format, record, env::wall_ns());
    bool is_first = false;
    bool is_half = false;
    {
        // The memory was reserved, so the lock is held for copying one line.
        SpinGuard guard(lock_);
        std::size_t before = gathered_.text.size();
        WEFT_DASSERT(before <= options_.bytes_max);
        if (closed_ || line.size() > options_.bytes_max - before) {
            counters_.dropped.add();
            return;
        }
        WEFT_DASSERT(gathered_.text.capacity() >= options_.bytes_max,
                     "nothing is allocated under the lock");
        gathered_.text += line;
        ++gathered_.lines;
        is_first = before == 0;
        is_half =
            before <= options_.bytes_max / 2 && gathered_.text.size() > options_.bytes_max / 2;
    }
    counters_.lines.add();
    if (is_first) has_lines_.set();
    if (is_half) flush_early_.set();
}

Result<void> AccessLog::run() {
    for (;;) {
        Result<void> waited = has_lines_.wait();
        // Ends early when the memory is half full, or the log is closed.
        if (waited) static_cast<void>(flush_early_.wait_for(options_.flush_time));
        if (!CancelToken::current().check()) close();
        Batch batch = take_batch();
        // Also when the context has ended: an incomplete line would be worse than a late end.
        shield(Deadline::after(kWriteTimeMax), [&] { write_out(batch); });
        if (batch.is_last) return {};
    }
}

AccessLog::Batch AccessLog::take_batch() {
    Batch batch;
    batch.text.reserve(options_.bytes_max);
    // Before the exchange: lines that are gathered after it set them again.
    has_lines_.reset();
    flush_early_.reset();
    SpinGuard guard(lock_);
    std::swap(batch, gathered_);
    batch.is_last = closed_;
    return batch;
}

void AccessLog::write_out(const Batch& batch) {
    std::string_view left = batch.text;
    while (!left.empty()) {
        Result<std::size_t> count = file_.write(as_bytes(left));
        if (!count) {
            std::string_view written(batch.text.data(), batch.text.size() - left.size());
            std::size_t whole = written.rfind('\n') + 1;  // 0 where there is none
            return count_lost(std::string_view(batch.text).substr(whole), written.size() - whole,
                              count.error());
        }
        WEFT_ASSERT(*count <= left.size(), "a file takes no more than it is given");
        left.remove_prefix(*count);
    }
}

// A disk that became full in the middle of a line has a part of it, which the next line would
// follow. That part is cut off the file, if it is a regular one.
void AccessLog::count_lost(std::string_view unwritten, std::size_t torn_bytes, const Error& why) {
    WEFT_ASSERT(torn_bytes <= unwritten.size(), "a line that was written in part is unwritten");
    auto lines = static_cast<std::size_t>(std::ranges::count(unwritten, '\n'));
    counters_.lost.add(lines);
    log_once(loss_logged_, LogLevel::Error, "access log: {} lines lost: {}", lines, why.message());
    if (torn_bytes == 0) return;
    Result<FileStatus> status = file_.status();
    if (!status || status->kind != FileKind::Regular || status->size < torn_bytes) return;
    static_cast<void>(file_.resize(status->size - torn_bytes));
}

void AccessLog::close() {
    {
        SpinGuard guard(lock_);
        closed_ = true;
    }
    has_lines_.set();
    flush_early_.set();
}

}  // namespace weft::http
