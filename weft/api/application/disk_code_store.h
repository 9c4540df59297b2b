// DiskCodeStore: compiled code in a folder of the user, one file for each source text.
//
// It reads only what a process of the same user can have written: the folder and the file must
// belong to that user, nobody else may be allowed to write to them, the key must be the requested
// one, and the SHA-256 sum must match the code. Anything else counts as a missing file; no failure
// here is an error. A file is written under a temporary name and then renamed, so several processes
// may share the folder. When the files exceed the size limit, those that have been unused for
// longest are deleted.
//
// Threads as for js::CodeStore: any number of threads may call read() at once; only one may call
// write() at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/js/code_store.h"

namespace weft::api {

class DiskCodeStore final : public js::CodeStore {
public:
    // Limit on the size of all files together.
    static constexpr std::uint64_t kBytesMax = std::uint64_t{256} * 1024 * 1024;
    // Limit on the size of one file.
    static constexpr std::uint64_t kFileBytesMax = std::uint64_t{64} * 1024 * 1024;
    // The modification time of a file records its last use. It is updated only when it is older
    // than this, so that not every start writes to the disk.
    static constexpr std::chrono::hours kMarkAfter{24};

    // The folder and its parents are created by the first write. An empty name turns the store off.
    explicit DiskCodeStore(std::string folder, std::uint64_t bytes_max = kBytesMax);

    js::CodeKey key_of(const js::CodeOrigin& origin) const override;
    std::vector<std::byte> read(const js::CodeKey& key) override;
    bool write(const js::CodeKey& key, std::span<const std::byte> code) override;

    bool is_used() const { return !folder_.empty(); }
    // Computes a checksum once: the first one in a process takes OpenSSL most of a millisecond,
    // which another thread can spend. Any thread.
    // something else. Any thread.
    static void prepare();

private:
    void make_room(int folder);

    const std::string folder_;
    const std::uint64_t bytes_max_;
    // Size of all files as far as this process knows; empty until the folder was read.
    std::optional<std::uint64_t> used_bytes_;
};

}  // namespace weft::api
