// FileStore: the files that scripts answer with, cached by http/files: opened, small ones in
// memory, kept for a while and checked for changes after a second.
//
// A path is below a root and cannot lead out of it. Without a root a path is absolute, and symbolic
// links are followed.
//
// Owning worker only: its loop (find) and its fibers (open).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "weft/base/result.h"
#include "weft/fiber/os/directory.h"
#include "weft/http/files/file_cache.h"
#include "weft/http/files/resource.h"

namespace weft::api {

class FileStore {
public:
    using Shared = std::shared_ptr<const http::Resource>;

    FileStore() : cache_(http::FileCacheLimits{}) {}

    // Returns null if the file is not cached and must be opened. Does not wait.
    Shared find(const std::string& root, const std::string& path);
    // Parks while it reads from the disk. NotFound if the path names no file. The path begins with
    // a slash.
    Result<Shared> open(const std::string& root, const std::string& path);

private:
    static constexpr std::size_t kRootsMax = 64;
    // Shared with the fibers that load from it.
    using SharedRoot = std::shared_ptr<const Directory>;

    Result<SharedRoot> open_root(const std::string& root);

    http::FileCache cache_;
    std::unordered_map<std::string, SharedRoot> roots_;
};

}  // namespace weft::api
