// FileCache: the resources that were asked for last, by their paths. Any fiber, any thread.
//
// It is bounded in open files and in bytes of memory; what was not asked for the longest goes
// first. After `fresh_time` a resource must be looked at again: find() tells exactly one caller so,
// and the others go on with what there is.
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
        bool is_stale = false;                     // look whether it is still so
    };
    Found find(std::string_view path, Instant now);
    // In place of what was there. Larger ones than a fair share of the cache are not kept.
    void keep(std::string_view path, std::shared_ptr<const Resource> resource, Instant now);
    void forget(std::string_view path);

    std::size_t files() const;
    std::size_t memory_bytes() const;

private:
    // Each has its share of the paths and of the limits, so that they can be used at once.
    static constexpr std::size_t kShards = 8;

    struct Entry {
        std::string path;
        std::shared_ptr<const Resource> resource;
        Instant looked_at;
    };
    using Entries = std::list<Entry>;  // the last asked for first
    struct Shard {
        mutable SpinLock lock;  // the rest
        Entries entries;
        std::unordered_map<std::string_view, Entries::iterator> by_path;  // views into entries
        std::size_t files = 0;
        std::size_t memory_bytes = 0;

        // Moves it to `gone`, which is destroyed when the lock is free again.
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
