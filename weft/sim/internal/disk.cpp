#include "weft/sim/internal/disk.h"

#include <fcntl.h>     // tidy: allow foreign: flags of open
#include <sys/stat.h>  // tidy: allow foreign: the kernel's status

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "weft/sim/internal/machine.h"

namespace weft::sim {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kFileBytesMax = std::size_t{1} << 30;

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Appends the components of `path` to `base`. Leaving `floor` by ".." is an error.
int walk(std::string base, std::string_view path, const std::string& floor, std::string& resolved) {
    while (!path.empty()) {
        std::size_t slash = path.find('/');
        std::string_view step = path.substr(0, slash);
        path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
        if (step.empty() || step == ".") continue;
        if (step == "..") {
            if (base == floor && !floor.empty()) return -EXDEV;
            base = parent_of(base);
        } else {
            base += '/';
            base += step;
        }
    }
    resolved = std::move(base);
    return 0;
}

}  // namespace

Disk::Disk(Machine& machine) : machine_(machine) {
    add("", true, 0755);
    add("/tmp", true, 0777);
}

auto Disk::find(int fd) -> Open* {
    auto index = static_cast<std::size_t>(fd - kFirstFd);
    if (fd < kFirstFd || index >= open_.size() || !open_[index].node) return nullptr;
    return &open_[index];
}

auto Disk::node_at(const std::string& path) const -> std::shared_ptr<Node> {
    auto found = nodes_.find(path);
    return found == nodes_.end() ? nullptr : found->second;
}

auto Disk::add(const std::string& path, bool is_directory, std::uint32_t permissions)
    -> std::shared_ptr<Node> {
    auto node = std::make_shared<Node>();
    node->is_directory = is_directory;
    node->permissions = permissions;
    node->inode = next_inode_++;
    node->modified_ns = machine_.wall_ns();
    nodes_[path] = node;
    return node;
}

int Disk::check_parent(const std::string& path) const {
    std::shared_ptr<Node> parent = node_at(parent_of(path));
    if (!parent) return -ENOENT;
    return parent->is_directory ? 0 : -ENOTDIR;
}

bool Disk::has_children(const std::string& path) const {
    auto next = nodes_.upper_bound(path + '/');
    return next != nodes_.end() && next->first.starts_with(path + '/');
}

int Disk::resolve(int beneath, const char* path, std::string& resolved) {
    if (beneath == kAnywhere) return walk("", path, "", resolved);
    Open* folder = find(beneath);
    if (!folder) return -EBADF;
    if (*path == '/') return -EXDEV;
    return walk(folder->path, path, folder->path, resolved);
}

int Disk::open(int beneath, const char* path, int flags, std::uint32_t permissions) {
    machine_.step();
    std::string resolved;
    if (int error = resolve(beneath, path, resolved); error != 0) return error;
    std::shared_ptr<Node> node = node_at(resolved);
    bool creates = (flags & O_CREAT) != 0;
    if (node && creates && (flags & O_EXCL) != 0) return -EEXIST;
    if (!node && !creates) return -ENOENT;
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if (node && node->is_directory && (writes || creates)) return -EISDIR;
    if (node && !node->is_directory && (flags & O_DIRECTORY) != 0) return -ENOTDIR;
    if (!node) {
        if (int error = check_parent(resolved); error != 0) return error;
        node = add(resolved, false, permissions);
    }
    if ((flags & O_TRUNC) != 0 && writes) node->bytes.clear();
    auto free = std::ranges::find_if(open_, [](const Open& one) { return !one.node; });
    if (free == open_.end()) free = open_.insert(free, Open{});
    *free = Open{node, resolved, 0, flags};
    return kFirstFd + static_cast<int>(free - open_.begin());
}

int Disk::close(int fd) {
    Open* open = find(fd);
    if (!open) return -EBADF;
    *open = Open{};
    return 0;
}

long Disk::read_at(int fd, void* buffer, std::size_t size, std::int64_t offset) {
    machine_.step();
    Open* open = find(fd);
    if (!open || (open->flags & O_ACCMODE) == O_WRONLY) return -EBADF;
    if (open->node->is_directory) return -EISDIR;
    const std::vector<std::byte>& bytes = open->node->bytes;
    auto from = static_cast<std::size_t>(offset < 0 ? open->position : offset);
    std::size_t count = from >= bytes.size() ? 0 : std::min(size, bytes.size() - from);
    if (count != 0) std::memcpy(buffer, bytes.data() + from, count);
    if (offset < 0) open->position += static_cast<std::int64_t>(count);
    return static_cast<long>(count);
}

long Disk::write_at(int fd, const void* buffer, std::size_t size, std::int64_t offset) {
    machine_.step();
    Open* open = find(fd);
    if (!open || (open->flags & O_ACCMODE) == O_RDONLY) return -EBADF;
    Node& node = *open->node;
    auto to = static_cast<std::size_t>(offset < 0 ? open->position : offset);
    if ((open->flags & O_APPEND) != 0) to = node.bytes.size();
    if (to > kFileBytesMax || size > kFileBytesMax - to) return -EFBIG;
    if (to + size > node.bytes.size()) node.bytes.resize(to + size);
    if (size != 0) std::memcpy(node.bytes.data() + to, buffer, size);
    node.modified_ns = machine_.wall_ns();
    if (offset < 0) open->position = static_cast<std::int64_t>(to + size);
    return static_cast<long>(size);
}

int Disk::resize(int fd, std::int64_t size) {
    machine_.step();
    Open* open = find(fd);
    if (!open || (open->flags & O_ACCMODE) == O_RDONLY) return -EBADF;
    if (static_cast<std::size_t>(size) > kFileBytesMax) return -EFBIG;
    open->node->bytes.resize(static_cast<std::size_t>(size));
    open->node->modified_ns = machine_.wall_ns();
    return 0;
}

int Disk::sync(int fd) {
    machine_.step();
    return find(fd) ? 0 : -EBADF;
}

int Disk::status(int fd, const char* path, struct statx& status) {
    machine_.step();
    std::shared_ptr<Node> node;
    if (path) {
        std::string resolved;
        if (int error = resolve(kAnywhere, path, resolved); error != 0) return error;
        node = node_at(resolved);
        if (!node) return -ENOENT;
    } else {
        Open* open = find(fd);
        if (!open) return -EBADF;
        node = open->node;
    }
    status = {};
    status.stx_mode =
        static_cast<std::uint16_t>(node->permissions | (node->is_directory ? S_IFDIR : S_IFREG));
    status.stx_size = node->bytes.size();
    status.stx_ino = node->inode;
    status.stx_mtime.tv_sec = node->modified_ns / kSecondNs;
    status.stx_mtime.tv_nsec = static_cast<std::uint32_t>(node->modified_ns % kSecondNs);
    return 0;
}

int Disk::rename(const char* from, const char* to) {
    machine_.step();
    std::string source;
    std::string target;
    if (int error = resolve(kAnywhere, from, source); error != 0) return error;
    if (int error = resolve(kAnywhere, to, target); error != 0) return error;
    std::shared_ptr<Node> node = node_at(source);
    std::shared_ptr<Node> replaced = node_at(target);
    if (!node) return -ENOENT;
    if (int error = check_parent(target); error != 0) return error;
    if (source == target) return 0;
    if (source.empty() || target.starts_with(source + '/')) return -EINVAL;
    if (replaced && replaced->is_directory != node->is_directory)
        return node->is_directory ? -ENOTDIR : -EISDIR;
    if (replaced && has_children(target)) return -ENOTEMPTY;
    std::map<std::string, std::shared_ptr<Node>> moved;
    for (auto it = nodes_.lower_bound(source); it != nodes_.end();) {
        bool beneath = it->first == source || it->first.starts_with(source + '/');
        if (!it->first.starts_with(source)) break;
        if (beneath) moved[target + it->first.substr(source.size())] = it->second;
        it = beneath ? nodes_.erase(it) : std::next(it);
    }
    for (auto& [path, one] : moved) nodes_[path] = std::move(one);
    return 0;
}

int Disk::remove(const char* path, int flags) {
    machine_.step();
    std::string resolved;
    if (int error = resolve(kAnywhere, path, resolved); error != 0) return error;
    std::shared_ptr<Node> node = node_at(resolved);
    bool of_directory = (flags & AT_REMOVEDIR) != 0;
    if (!node) return -ENOENT;
    if (of_directory && !node->is_directory) return -ENOTDIR;
    if (!of_directory && node->is_directory) return -EISDIR;
    if (resolved.empty()) return -EBUSY;
    if (has_children(resolved)) return -ENOTEMPTY;
    nodes_.erase(resolved);
    return 0;
}

int Disk::make_directory(const char* path, std::uint32_t permissions) {
    machine_.step();
    std::string resolved;
    if (int error = resolve(kAnywhere, path, resolved); error != 0) return error;
    if (node_at(resolved)) return -EEXIST;
    if (int error = check_parent(resolved); error != 0) return error;
    add(resolved, true, permissions);
    return 0;
}

int Disk::list(int beneath, const char* path, Each each, void* context) {
    machine_.step();
    std::string resolved;
    if (int error = resolve(beneath, path, resolved); error != 0) return error;
    std::shared_ptr<Node> node = node_at(resolved);
    if (!node) return -ENOENT;
    if (!node->is_directory) return -ENOTDIR;
    std::string prefix = resolved + '/';
    for (auto it = nodes_.upper_bound(prefix); it != nodes_.end() && it->first.starts_with(prefix);
         ++it) {
        std::string name = it->first.substr(prefix.size());
        if (name.find('/') == std::string::npos)
            each(context, name.c_str(), it->second->is_directory);
    }
    return 0;
}

}  // namespace weft::sim
