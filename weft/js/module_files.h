// ModuleFiles: what the resolver asks of the disk.
//
// The real one is DiskFiles; tests have a map. Owning isolate only, as the resolver.
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

    virtual Kind kind(const std::string& path) = 0;  // of what a link leads to
    virtual Result<std::string> read(const std::string& path) = 0;
    // Without links; the path itself where that cannot be told.
    virtual std::string real_path(const std::string& path) = 0;

protected:
    ~ModuleFiles() = default;
};

// It remembers what it has seen, for those who watch for changes: files as they were when they were
// read, and places where no file was.
class DiskFiles final : public ModuleFiles {
public:
    static constexpr std::size_t kFileBytesMax = 64 * 1024 * 1024;
    // What is seen beyond it is not remembered.
    static constexpr std::size_t kSeenMax = 100'000;

    Kind kind(const std::string& path) override;
    Result<std::string> read(const std::string& path) override;  // Limit above kFileBytesMax
    std::string real_path(const std::string& path) override;

    std::vector<SeenFile> seen() const;
    // Something was seen that was not before.
    std::function<void()> on_seen;

private:
    void remember(SeenFile file);

    std::map<std::string, SeenFile> seen_;
};

}  // namespace weft::js
