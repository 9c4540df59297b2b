// DiskCodeStore: compiled code in a folder of the user's, one file for each text.
//
// Only what this process could have written itself is read: the folder and the file belong to its
// user and nobody else may write there, the key is the one that is asked for, and a SHA-256 of the
// code fits. Whatever is otherwise is as if it were not there; nothing here is an error. Files are
// written beside their place and renamed, so that several processes may share the folder. When the
// files are too many bytes the ones that were unused for longest go.
//
// As js::CodeStore: read() any thread, many at once; write() one at a time.
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
    // Of all files.
    static constexpr std::uint64_t kBytesMax = std::uint64_t{256} * 1024 * 1024;
    // Of one.
    static constexpr std::uint64_t kFileBytesMax = std::uint64_t{64} * 1024 * 1024;
    // A file that is used is marked so that it goes last, but not at every start.
    static constexpr std::chrono::hours kMarkAfter{24};

    // The folder is made, with those above it, when something is written. Empty: nothing is kept.
    explicit DiskCodeStore(std::string folder, std::uint64_t bytes_max = kBytesMax);

    js::CodeKey key_of(const js::CodeOrigin& origin) const override;
    std::vector<std::byte> read(const js::CodeKey& key) override;
    bool write(const js::CodeKey& key, std::span<const std::byte> code) override;

    bool is_used() const { return !folder_.empty(); }
    // The first sum of a process takes OpenSSL most of a millisecond, in which others may do
    // something else. Any thread.
    static void prepare();

private:
    void make_room(int folder);

    const std::string folder_;
    const std::uint64_t bytes_max_;
    // Of all files, as far as this process knows; none: it has not looked yet.
    std::optional<std::uint64_t> used_bytes_;
};

}  // namespace weft::api
