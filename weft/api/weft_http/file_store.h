// FileStore: the files that scripts answer with, as http/files has them: opened, small ones in
// memory, kept for a while, looked at again after a second.
//
// Paths lie below a root, which none of them leads out of; without a root they are absolute, and
// symbolic links count.
//
// Owner's thread only: its loop (find) and its fibers (open).
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

    // Null: whoever asks has to open it. Does not wait.
    Shared find(const std::string& root, const std::string& path);
    // Parks for the disk. NotFound for what is no file. The path begins with a slash.
    Result<Shared> open(const std::string& root, const std::string& path);

private:
    static constexpr std::size_t kRootsMax = 64;
    using SharedRoot = std::shared_ptr<const Directory>;  // with those who load from it

    Result<SharedRoot> open_root(const std::string& root);

    http::FileCache cache_;
    std::unordered_map<std::string, SharedRoot> roots_;
};

}  // namespace weft::api
