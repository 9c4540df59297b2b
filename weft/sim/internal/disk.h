// The disk of a simulated machine: folders and files in memory, which end with the run.
//
// At first there are `/` and `/tmp`; relative paths begin at `/`. Each call is a step. There are no
// links, permissions are not checked, and what is written is never lost.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/env_files.h"
#include "weft/base/result.h"

namespace weft::sim {

class Machine;

// Owning thread only.
class Disk final : public EnvFiles {
public:
    static constexpr int kFirstFd = 1 << 24;

    explicit Disk(Machine& machine);

    int open(int beneath, const char* path, int flags, std::uint32_t permissions) override;
    long read_at(int fd, void* buffer, std::size_t size, std::int64_t offset) override;
    long write_at(int fd, const void* buffer, std::size_t size, std::int64_t offset) override;
    int resize(int fd, std::int64_t size) override;
    int sync(int fd) override;
    int status(int fd, const char* path, struct statx& status) override;
    int rename(const char* from, const char* to) override;
    int remove(const char* path, int flags) override;
    int make_directory(const char* path, std::uint32_t permissions) override;
    int list(int beneath, const char* path, Each each, void* context) override;

    int close(int fd);

private:
    struct Node {
        bool is_directory = false;
        std::uint32_t permissions = 0;
        std::uint64_t inode = 0;
        std::int64_t modified_ns = 0;
        std::vector<std::byte> bytes;
    };
    struct Open {
        // Shared with nodes_, unless the file was removed. Null: closed.
        std::shared_ptr<Node> node;
        std::string path;
        std::int64_t position = 0;
        int flags = 0;
    };

    Open* find(int fd);
    std::shared_ptr<Node> node_at(const std::string& path) const;
    std::shared_ptr<Node> add(const std::string& path, bool is_directory,
                              std::uint32_t permissions);
    int check_parent(const std::string& path) const;
    bool has_children(const std::string& path) const;
    int resolve(int beneath, const char* path, std::string& resolved);

    Machine& machine_;
    // By path, without a slash at the end; the root is "".
    std::map<std::string, std::shared_ptr<Node>> nodes_;
    std::vector<Open> open_;
    std::uint64_t next_inode_ = 1;
};

}  // namespace weft::sim
