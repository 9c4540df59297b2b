// Native functions of node:fs: files can only be read, and only where the application is allowed
// to.
#include <sys/stat.h>  // tidy: allow foreign: the status of a link

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/api/application/application.h"
#include "weft/api/node/bindings.h"
#include "weft/base/format.h"
#include "weft/fiber/os/file.h"
#include "weft/js/describe.h"
#include "weft/js/isolate.h"
#include "weft/js/task.h"

namespace weft::api {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{256} * 1024 * 1024;
constexpr std::size_t kStepBytes = 64 * 1024;

// The target of a symbolic link must be allowed. A path that does not exist is checked by its name.
bool may_read(js::Call& call, const std::string& path) {
    const auto& allowed = JsApplication::of(call.isolate()).options().allow_read;
    std::error_code error;
    std::string real = std::filesystem::weakly_canonical(path, error).string();
    if (error) return false;
    return std::ranges::any_of(allowed, [&](const std::string& place) {
        std::error_code ignored;
        std::string root = std::filesystem::weakly_canonical(place, ignored).string();
        if (ignored || root.empty()) return false;
        if (root == "/" || real == root) return true;
        return real.starts_with(root) && real[root.size()] == '/';
    });
}

void file_allowed(js::Call& call) { call.give(may_read(call, call.text(0))); }

Result<std::vector<std::byte>> read_whole(const std::string& path) {
    File file = WEFT_TRY(File::open(path));
    std::vector<std::byte> bytes;
    while (true) {
        std::size_t had = bytes.size();
        if (had > kFileBytesMax)
            return Error::limit(path + " has more bytes than", kFileBytesMax, "kFileBytesMax");
        bytes.resize(had + kStepBytes);
        std::size_t count = WEFT_TRY(file.read(std::span(bytes).subspan(had)));
        bytes.resize(had + count);
        if (count == 0) return bytes;
    }
}

// [kind (0 file, 1 folder, 2 link, 3 other), size, permissions, modification time, inode number]
v8::Local<v8::Value> to_list(v8::Isolate* isolate, const FileStatus& status) {
    double milliseconds =
        std::chrono::duration<double, std::milli>(status.modified.time_since_epoch()).count();
    v8::Local<v8::Value> values[] = {
        v8::Number::New(isolate, static_cast<double>(status.kind)),
        v8::Number::New(isolate, static_cast<double>(status.size)),
        v8::Number::New(isolate, status.permissions),
        v8::Number::New(isolate, milliseconds),
        v8::Number::New(isolate, static_cast<double>(status.inode)),
    };
    return v8::Array::New(isolate, values, std::size(values));
}

// [name, kind, name, kind, ...], sorted by name.
v8::Local<v8::Value> to_list(v8::Isolate* isolate, std::vector<DirectoryEntry> entries) {
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    std::vector<v8::Local<v8::Value>> values;
    for (const DirectoryEntry& entry : entries) {
        values.push_back(js::to_v8(isolate, entry.name));
        values.push_back(v8::Number::New(isolate, static_cast<double>(entry.kind)));
    }
    return v8::Array::New(isolate, values.data(), values.size());
}

// Gives an error of the kernel as [number, message], from which the script makes an exception.
void give_error(js::Call& call, const Error& error) {
    v8::Local<v8::Value> pair[] = {v8::Number::New(call.v8(), error.native_code()),
                                   call.string(error.message())};
    call.give(call.array(pair));
}

bool refused(js::Call& call, const std::string& path) {
    if (may_read(call, path)) return false;
    give_error(call, Error(ErrorKind::PermissionDenied, path));
    return true;
}

void file_read(js::Call& call) {
    std::string path = call.text(0);
    if (refused(call, path)) return;
    Result<std::vector<std::byte>> bytes = read_whole(path);
    if (!bytes) return give_error(call, bytes.error());
    call.give_bytes(std::move(*bytes));
}

void file_status(js::Call& call) {
    std::string path = call.text(0);
    if (refused(call, path)) return;
    Result<FileStatus> status = files::status(path);
    if (!status) return give_error(call, status.error());
    v8::Local<v8::Value> one[] = {to_list(call.v8(), *status)};
    call.give(call.array(one));
}

// The status of the link itself, if the path ends in one. Whether it may be read depends on where
// the link is.
void file_link_status(js::Call& call) {
    constexpr std::uint32_t kPermissions = 07777;
    std::filesystem::path path(call.text(0));
    if (!path.has_filename()) path = path.parent_path();
    struct stat found{};
    if (lstat(path.c_str(), &found) != 0 || !S_ISLNK(found.st_mode)) return file_status(call);
    if (!may_read(call, path.string()) && refused(call, path.parent_path().string())) return;
    auto modified = std::chrono::seconds(found.st_mtim.tv_sec) +
                    std::chrono::nanoseconds(found.st_mtim.tv_nsec);
    FileStatus status;
    status.kind = FileKind::Link;
    status.size = static_cast<std::uint64_t>(found.st_size);
    status.permissions = found.st_mode & kPermissions;
    status.modified = std::chrono::sys_time<Nanoseconds>(modified);
    status.inode = found.st_ino;
    v8::Local<v8::Value> one[] = {to_list(call.v8(), status)};
    call.give(call.array(one));
}

void file_list(js::Call& call) {
    std::string path = call.text(0);
    if (refused(call, path)) return;
    Result<std::vector<DirectoryEntry>> entries = files::list_directory(path);
    if (!entries) return give_error(call, entries.error());
    v8::Local<v8::Value> one[] = {to_list(call.v8(), std::move(*entries))};
    call.give(call.array(one));
}

void file_real_path(js::Call& call) {
    std::string path = call.text(0);
    if (refused(call, path)) return;
    std::error_code error;
    std::string real = std::filesystem::canonical(path, error).string();
    if (error) {
        v8::Local<v8::Value> pair[] = {v8::Number::New(call.v8(), error.value()),
                                       call.string(format("realpath {}", path))};
        return call.give(call.array(pair));
    }
    call.give(std::string_view(real));
}

// The same on a fiber, for node:fs/promises: gives the bytes, or [number, message].
void file_read_later(js::Call& call) {
    std::string path = call.text(0);
    bool allowed = may_read(call, path);
    js::start_task(call, "read file", [path, allowed]() -> Result<js::Settled> {
        Result<std::vector<std::byte>> bytes =
            allowed ? read_whole(path) : Error(ErrorKind::PermissionDenied, path);
        if (bytes) return js::settled(std::move(*bytes));
        return js::Settled([error = bytes.error()](js::Isolate& isolate) {
            v8::Local<v8::Value> pair[] = {v8::Number::New(isolate.v8(), error.native_code()),
                                           js::to_v8(isolate.v8(), error.message())};
            return v8::MaybeLocal<v8::Value>(v8::Array::New(isolate.v8(), pair, 2));
        });
    });
}

constexpr js::Binding kBindings[] = {
    js::bind<file_allowed>("fileAllowed", "(path: string): boolean"),
    js::bind<file_read>("fileRead", "(path: string): ArrayBuffer | [number, string]"),
    js::bind<file_status>("fileStatus", "(path: string): [number[]] | [number, string]"),
    js::bind<file_link_status>("fileLinkStatus", "(path: string): [number[]] | [number, string]"),
    js::bind<file_list>("fileList", "(path: string): [unknown[]] | [number, string]"),
    js::bind<file_real_path>("fileRealPath", "(path: string): string | [number, string]"),
    js::bind<file_read_later>("fileReadLater",
                              "(path: string): Promise<ArrayBuffer | [number, string]>",
                              js::Awaits::Cancellable),
};

}  // namespace

std::span<const js::Binding> node_file_bindings() { return kBindings; }

}  // namespace weft::api
