// ModuleFiles: the file system as the resolver sees it.
//
// The real one is DiskFiles; tests use a map. Owning isolate only, as the resolver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/fiber/os/folder_watch.h"

namespace weft::js {

class ModuleFiles {
public:
    enum class Kind : std::uint8_t { None, File, Folder };

    virtual Kind kind(const std::string& path) = 0;  // follows links
    virtual Result<std::string> read(const std::string& path) = 0;
    // The path with all links resolved; the path itself if that fails.
    virtual std::string real_path(const std::string& path) = 0;

protected:
    ~ModuleFiles() = default;
};

// The disk. It remembers what it has seen, for watching changes: the status of each file when it
// was read, and each path that did not exist.
class DiskFiles final : public ModuleFiles {
public:
    static constexpr std::size_t kFileBytesMax = 64 * 1024 * 1024;
    // Further paths are not remembered.
    static constexpr std::size_t kSeenMax = 100'000;

    Kind kind(const std::string& path) override;
    Result<std::string> read(const std::string& path) override;  // Limit above kFileBytesMax
    std::string real_path(const std::string& path) override;

    std::vector<SeenFile> seen() const;
    // Called when something was seen that was not remembered before.
    std::function<void()> on_seen;

private:
    void remember(SeenFile file);

    std::map<std::string, SeenFile> seen_;
};

}  // namespace weft::js
