#include "weft/http/files/file_cache.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"

namespace weft::http {
namespace {

// How much of the limit on files a resource takes. A directory counts as one, because it takes an
// entry.
std::size_t files_of(const Resource& resource) {
    return std::max<std::size_t>(resource.representations.size(), 1);
}

}  // namespace

FileCache::FileCache(const FileCacheLimits& limits)
    : shard_files_max_(limits.files / kShards),
      shard_memory_max_(limits.memory_bytes / kShards),
      fresh_time_(limits.fresh_time) {
    // Reserved here, so that no table grows while its lock is held.
    for (Shard& shard : shards_) shard.by_path.reserve(shard_files_max_ + 1);
}

void FileCache::Shard::remove(Entries::iterator entry, Entries& gone) {
    WEFT_DASSERT(lock.is_locked());
    WEFT_ASSERT(files >= files_of(*entry->resource), "every entry is counted");
    WEFT_ASSERT(memory_bytes >= entry->resource->memory_bytes, "every entry is counted");
    files -= files_of(*entry->resource);
    memory_bytes -= entry->resource->memory_bytes;
    by_path.erase(entry->path);
    gone.splice(gone.end(), entries, entry);
}

FileCache::Found FileCache::find(std::string_view path, Instant now) {
    Shard& shard = shard_of(path);
    SpinGuard guard(shard.lock);
    auto found = shard.by_path.find(path);
    if (found == shard.by_path.end()) return {};
    Entry& entry = *found->second;
    WEFT_DASSERT(entry.path == path, "a key is a view of its entry's path");
    shard.entries.splice(shard.entries.begin(), shard.entries, found->second);
    bool is_stale = now - entry.checked_at >= fresh_time_;
    // This caller checks the file now, so that the next ones need not.
    if (is_stale) entry.checked_at = now;
    return {entry.resource, is_stale};
}

void FileCache::keep(std::string_view path, std::shared_ptr<const Resource> resource, Instant now) {
    std::size_t files = files_of(*resource);
    std::size_t memory_bytes = resource->memory_bytes;
    if (files > shard_files_max_ || memory_bytes > shard_memory_max_) return forget(path);
    Entries made;
    made.push_back({std::string(path), std::move(resource), now});
    Entries gone;
    Shard& shard = shard_of(path);
    SpinGuard guard(shard.lock);
    auto old = shard.by_path.find(path);
    if (old != shard.by_path.end()) shard.remove(old->second, gone);
    while (shard.files + files > shard_files_max_ ||
           shard.memory_bytes + memory_bytes > shard_memory_max_) {
        WEFT_ASSERT(!shard.entries.empty(), "an empty shard has room for it");
        shard.remove(std::prev(shard.entries.end()), gone);
    }
    shard.by_path.emplace(made.front().path, made.begin());
    shard.entries.splice(shard.entries.begin(), made);
    shard.files += files;
    shard.memory_bytes += memory_bytes;
    WEFT_DASSERT(shard.entries.size() == shard.by_path.size(), "each entry has one key");
    WEFT_DASSERT(shard.entries.size() <= shard.files, "each entry counts");
}

void FileCache::forget(std::string_view path) {
    Entries gone;
    Shard& shard = shard_of(path);
    SpinGuard guard(shard.lock);
    auto old = shard.by_path.find(path);
    if (old != shard.by_path.end()) shard.remove(old->second, gone);
}

std::size_t FileCache::files() const {
    std::size_t sum = 0;
    for (const Shard& shard : shards_) {
        SpinGuard guard(shard.lock);
        sum += shard.files;
    }
    return sum;
}

std::size_t FileCache::memory_bytes() const {
    std::size_t sum = 0;
    for (const Shard& shard : shards_) {
        SpinGuard guard(shard.lock);
        sum += shard.memory_bytes;
    }
    return sum;
}

}  // namespace weft::http
