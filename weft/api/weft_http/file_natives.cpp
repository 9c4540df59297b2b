#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/api/weft_http/bindings.h"
#include "weft/fiber/file.h"
#include "weft/js/isolate.h"
#include "weft/js/task.h"

namespace weft::api {
namespace {

// One read of weft:http; what is larger is read in several.
constexpr std::int64_t kReadBytesMax = std::int64_t{1024} * 1024;

void file_status(js::Call& call) {
    js::start_task(call, "file status", [path = call.text(0)]() -> Result<js::Settled> {
        FileStatus status = WEFT_TRY(files::status(path));
        return js::Settled([status](js::Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
            v8::Isolate* v8 = isolate.v8();
            double milliseconds =
                std::chrono::duration<double, std::milli>(status.modified.time_since_epoch())
                    .count();
            v8::Local<v8::Value> values[] = {
                v8::Number::New(v8, static_cast<double>(status.size)),
                v8::Number::New(v8, milliseconds),
                v8::Boolean::New(v8, status.kind == FileKind::Regular),
            };
            return v8::Array::New(v8, values, std::size(values));
        });
    });
}

void file_read(js::Call& call) {
    std::int64_t offset = std::max<std::int64_t>(0, call.integer(1));
    std::int64_t count = std::clamp<std::int64_t>(call.integer(2), 0, kReadBytesMax);
    js::start_task(
        call, "file read", [path = call.text(0), offset, count]() -> Result<js::Settled> {
            File file = WEFT_TRY(File::open(path));
            std::vector<std::byte> bytes(static_cast<std::size_t>(count));
            std::size_t read = 0;
            while (read < bytes.size()) {
                std::size_t step = WEFT_TRY(file.read_at(static_cast<std::uint64_t>(offset) + read,
                                                         std::span(bytes).subspan(read)));
                if (step == 0) break;
                read += step;
            }
            bytes.resize(read);
            return js::settled(std::move(bytes));
        });
}

constexpr js::Binding kBindings[] = {
    js::bind<file_status>("httpFileStatus",
                          "(path: string): Promise<[size: number, ms: number, isFile: boolean]>",
                          js::Awaits::Cancellable),
    js::bind<file_read>("httpFileRead",
                        "(path: string, offset: number, count: number): Promise<ArrayBuffer>",
                        js::Awaits::Cancellable),
};

}  // namespace

std::span<const js::Binding> weft_http_bindings() { return kBindings; }

}  // namespace weft::api
