#include "weft/js/module_files.h"

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/os/file.h"

namespace weft::js {

ModuleFiles::Kind DiskFiles::kind(const std::string& path) {
    std::error_code error;
    switch (std::filesystem::status(path, error).type()) {
    case std::filesystem::file_type::directory: return Kind::Folder;
    case std::filesystem::file_type::none:
    case std::filesystem::file_type::not_found: remember({.path = path}); return Kind::None;
    default: return Kind::File;  // a pipe can be read as well
    }
}

Result<std::string> DiskFiles::read(const std::string& path) {
    File file = WEFT_TRY(File::open(path));
    // Before the file is read: a write during the read then counts as a change.
    Result<FileStatus> status = file.status();
    if (status) remember(seen_file(path, *status));
    constexpr std::size_t kStepBytes = 64 * 1024;
    std::string text;
    while (true) {
        std::size_t had = text.size();
        if (had > kFileBytesMax) {
            return Error::limit(path + " has more bytes than", kFileBytesMax,
                                "DiskFiles::kFileBytesMax");
        }
        text.resize(had + kStepBytes);
        std::span<char> space(text.data() + had, kStepBytes);
        std::size_t count = WEFT_TRY(file.read(std::as_writable_bytes(space)));
        WEFT_ASSERT(count <= kStepBytes, "a read fills at most the space it is given");
        text.resize(had + count);
        if (count == 0) return text;
    }
}

void DiskFiles::remember(SeenFile file) {
    auto known = seen_.find(file.path);
    if (known == seen_.end() && seen_.size() >= kSeenMax) return;
    if (known != seen_.end() && known->second == file) return;
    seen_.insert_or_assign(file.path, std::move(file));
    WEFT_DASSERT(seen_.size() <= kSeenMax, "beyond the limit no path is added");
    if (on_seen) on_seen();
}

std::vector<SeenFile> DiskFiles::seen() const {
    std::vector<SeenFile> files;
    for (const auto& [path, file] : seen_) files.push_back(file);
    return files;
}

std::string DiskFiles::real_path(const std::string& path) {
    std::error_code error;
    std::filesystem::path real = std::filesystem::canonical(path, error);
    return error ? path : real.string();
}

}  // namespace weft::js
