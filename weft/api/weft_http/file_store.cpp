#include "weft/api/weft_http/file_store.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "weft/base/time.h"
#include "weft/fiber/blocking.h"

namespace weft::api {
namespace {

// A path never contains a zero byte, so the key is unambiguous.
std::string key_of(const std::string& root, const std::string& path) {
    std::string key = root;
    key += '\0';
    return key += path;
}

// Reports a path that is not a file, or that leads out of the root, as not found.
Error as_not_found(const Error& error) {
    switch (error.native_code()) {
    case ENOTDIR:
    case ELOOP:
    case EXDEV:
    case ENXIO:
    case ENODEV:
    case EISDIR:
    case EILSEQ:
    case EINVAL:
    case ENAMETOOLONG: return Error(ErrorKind::NotFound, error.message());
    default: return error;
    }
}

}  // namespace

FileStore::Shared FileStore::find(const std::string& root, const std::string& path) {
    http::FileCache::Found found = cache_.find(key_of(root, path), Clock::now());
    return found.is_stale ? nullptr : std::move(found.resource);
}

Result<FileStore::SharedRoot> FileStore::open_root(const std::string& root) {
    if (auto known = roots_.find(root); known != roots_.end()) return known->second;
    auto opened = std::make_shared<const Directory>(WEFT_TRY(Directory::open(root)));
    if (roots_.size() >= kRootsMax) roots_.clear();
    roots_.insert_or_assign(root, opened);
    return opened;
}

Result<FileStore::Shared> FileStore::open(const std::string& root, const std::string& path) {
    http::LoadOptions options;
    options.memory_file_bytes_max = http::FileCacheLimits{}.memory_bytes / 256;
    std::string key = key_of(root, path);
    Result<Shared> loaded = ErrorKind::NotFound;
    if (!root.empty()) {
        SharedRoot directory = WEFT_TRY(open_root(root));
        loaded = blocking([&] { return http::load_resource(*directory, path, options); });
    } else {
        // A file that is named by its own path may be a symbolic link, which is followed.
        loaded = blocking([&]() -> Result<Shared> {
            std::error_code error;
            std::filesystem::path real = std::filesystem::canonical(path, error);
            if (error) return Error::from_errno(error.value()).with_context("open", path);
            Directory folder = WEFT_TRY(Directory::open(real.parent_path().string()));
            return http::load_resource(folder, "/" + real.filename().string(), options);
        });
    }
    if (!loaded) {
        cache_.forget(key);
        return as_not_found(loaded.error());
    }
    if ((*loaded)->kind != http::Resource::Kind::File)
        return Error(ErrorKind::NotFound, path + " is no file");
    // An unchanged file keeps its resource, because others share what it holds.
    http::FileCache::Found kept = cache_.find(key, Clock::now());
    if (kept.resource && kept.resource->is_same_as(**loaded)) return kept.resource;
    cache_.keep(key, *loaded, Clock::now());
    return loaded;
}

}  // namespace weft::api
