// FileCache: the most recently requested resources, by path. Any fiber, any thread.
//
// It is bounded in open files and in bytes of memory; the least recently requested resource is
// evicted first. `fresh_time` after a resource was loaded or checked, it must be checked again:
// find() tells one caller so, and the others use the resource as it is.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/http/files/resource.h"

namespace weft::http {

struct FileCacheLimits {
    std::size_t files = 1024;  // representations, in memory or open
    std::size_t memory_bytes = 16 * 1024 * 1024;
    Nanoseconds fresh_time = std::chrono::seconds(1);
};

class FileCache {
public:
    explicit FileCache(const FileCacheLimits& limits);

    struct Found {
        std::shared_ptr<const Resource> resource;  // null: there is none
        bool is_stale = false;                     // the caller is to check the file again
    };
    Found find(std::string_view path, Instant now);
    // Inserts or replaces the resource of a path. One that is larger than a shard is not kept, and
    // the path is removed.
    void keep(std::string_view path, std::shared_ptr<const Resource> resource, Instant now);
    void forget(std::string_view path);

    std::size_t files() const;
    std::size_t memory_bytes() const;

private:
    // Each shard has an equal part of the limits, and can be used while others are locked.
    static constexpr std::size_t kShards = 8;

    struct Entry {
        std::string path;
        std::shared_ptr<const Resource> resource;
        Instant checked_at;
    };
    using Entries = std::list<Entry>;  // the most recently requested first
    struct Shard {
        mutable SpinLock lock;  // guards all members below
        Entries entries;
        std::unordered_map<std::string_view, Entries::iterator> by_path;  // views into entries
        std::size_t files = 0;
        std::size_t memory_bytes = 0;

        // Moves the entry to `gone`, which the caller destroys after it has released the lock.
        void remove(Entries::iterator entry, Entries& gone);
    };

    Shard& shard_of(std::string_view path) {
        return shards_[std::hash<std::string_view>()(path) % kShards];
    }

    const std::size_t shard_files_max_;
    const std::size_t shard_memory_max_;
    const Nanoseconds fresh_time_;
    std::array<Shard, kShards> shards_;
};

}  // namespace weft::http
