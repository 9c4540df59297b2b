// These functions run on threads of the blocking pool, where no fiber is switched, so they may read
// errno.
#include "weft/api/application/disk_code_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "weft/api/crypto/digest.h"
#include "weft/base/assert.h"
#include "weft/base/bytes.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/base/log.h"
#include "weft/fiber/os/file.h"

extern "C" {
extern const char weft_version[];  // see api/snapshot/CMakeLists.txt
}

namespace weft::api {
namespace {

using js::CodeKey;

constexpr std::string_view kMagic = "weftcod1";
constexpr std::string_view kSuffix = ".code";
#if defined(__x86_64__)
constexpr std::string_view kMachine = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kMachine = "aarch64";
#else
constexpr std::string_view kMachine = "other";
#endif

// Precedes the code in the file. Its size is a multiple of the alignment that V8 requires for the
// code.
struct Header {
    std::array<char, 8> magic{};
    CodeKey key{};
    CodeKey sum{};
    std::uint64_t code_bytes = 0;
};
static_assert(sizeof(Header) == 80, "there is no gap in it");

CodeKey sha256(Bytes bytes) {
    Result<crypto::Octets> sum = crypto::digest("SHA-256", bytes);
    CodeKey key{};
    WEFT_ASSERT(sum && sum->size() == key.size(), "OpenSSL has SHA-256");
    std::ranges::copy(*sum, key.begin());
    return key;
}

Header header_of(const CodeKey& key, Bytes code) {
    Header header;
    std::ranges::copy(kMagic, header.magic.begin());
    header.key = key;
    header.sum = sha256(code);
    header.code_bytes = code.size();
    return header;
}

std::string name_of(const CodeKey& key) {
    std::string name;
    for (std::byte octet : key) name += format("{:02x}", std::to_integer<unsigned>(octet));
    name += kSuffix;
    return name;
}

// Whether a file in the folder was written by this class, complete or not. Other files are never
// deleted.
bool is_our_name(std::string_view name) {
    constexpr std::size_t digits = 2 * sizeof(CodeKey);
    return name.size() >= digits + kSuffix.size() &&
           name.substr(0, digits).find_first_not_of("0123456789abcdef") == std::string_view::npos &&
           name.substr(digits).starts_with(kSuffix);
}

// Whether the file belongs to the user of this process and nobody else may write to it.
bool is_safe(const struct stat& status) {
    return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Creates the folder and its parents, accessible to the user only.
void make_folder(const std::string& path) {
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
        static_cast<void>(::mkdir(path.substr(0, at).c_str(), S_IRWXU));
    static_cast<void>(::mkdir(path.c_str(), S_IRWXU));
}

// Returns a closed file if the folder does not exist or is not safe to use.
File open_folder(const std::string& path) {
    int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return {};
    File folder = File::adopt(fd);
    struct stat status{};
    if (::fstat(fd, &status) == 0 && is_safe(status)) return folder;
    log(LogLevel::Debug, "{}: not used for compiled code: somebody else may write there", path);
    return {};
}

std::vector<std::byte> code_in(File& file, const CodeKey& key, std::uint64_t size) {
    Header header;
    std::vector<std::byte> code(size - sizeof header);
    auto fill = [&](ByteSpace space) {
        while (!space.empty()) {
            Result<std::size_t> count = file.read(space);
            if (!count || *count == 0) return false;
            space = space.subspan(*count);
        }
        return true;
    };
    if (!fill(std::as_writable_bytes(std::span(&header, 1))) || !fill(code)) return {};
    Header wanted = header_of(key, code);
    if (std::memcmp(&header, &wanted, sizeof header) != 0) return {};
    return code;
}

// Does not sync: after a crash of the machine the checksum of an incomplete file does not match.
bool write_file(int folder, const std::string& name, const CodeKey& key, Bytes code) {
    std::string beside = format("{}.{:016x}", name, env::random(RandomStream::Workload));
    int fd = ::openat(folder, beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      S_IRUSR | S_IWUSR);
    if (fd < 0) return false;
    File file = File::adopt(fd);
    Header header = header_of(key, code);
    bool written = file.write_all(std::as_bytes(std::span(&header, 1))) && file.write_all(code) &&
                   file.close() && ::renameat(folder, beside.c_str(), folder, name.c_str()) == 0;
    if (!written) static_cast<void>(::unlinkat(folder, beside.c_str(), 0));
    return written;
}

}  // namespace

DiskCodeStore::DiskCodeStore(std::string folder, std::uint64_t bytes_max)
    : folder_(std::move(folder)), bytes_max_(bytes_max) {}

void DiskCodeStore::prepare() { static_cast<void>(sha256({})); }

// The length of each part precedes it, so different parts cannot give the same text.
js::CodeKey DiskCodeStore::key_of(const js::CodeOrigin& origin) const {
    CodeKey source = sha256(as_bytes(origin.source));
    std::string parts = format(
        "weft {} {}\nV8 {}\n{}\n{} {}\n", weft_version, kMachine, origin.engine,
        origin.kind == js::CodeKind::Module ? "module" : "cjs", origin.path.size(), origin.path);
    parts += as_text(source);
    return sha256(as_bytes(parts));
}

std::vector<std::byte> DiskCodeStore::read(const CodeKey& key) {
    File folder = open_folder(folder_);
    if (!folder.is_open()) return {};
    int fd = ::openat(folder.fd(), name_of(key).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return {};
    File file = File::adopt(fd);
    struct stat status{};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !is_safe(status)) return {};
    auto size = static_cast<std::uint64_t>(status.st_size);
    if (size <= sizeof(Header) || size > kFileBytesMax) return {};
    std::vector<std::byte> code = code_in(file, key, size);
    if (code.empty()) {
        log(LogLevel::Debug, "{}/{}: ignored, it is damaged", folder_, name_of(key));
        return {};
    }
    std::chrono::seconds unused(env::wall_ns() / 1'000'000'000 - status.st_mtime);
    // A failure is ignored: a read-only folder can still be read.
    if (unused > kMarkAfter) static_cast<void>(::futimens(fd, nullptr));
    return code;
}

bool DiskCodeStore::write(const CodeKey& key, std::span<const std::byte> code) {
    if (folder_.empty() || code.size() + sizeof(Header) > kFileBytesMax) return false;
    make_folder(folder_);
    File folder = open_folder(folder_);
    std::string name = name_of(key);
    if (!folder.is_open() || !write_file(folder.fd(), name, key, code)) {
        log(LogLevel::Debug, "{}: compiled code cannot be kept there", folder_);
        return false;
    }
    if (used_bytes_) *used_bytes_ += code.size() + sizeof(Header);
    if (!used_bytes_ || *used_bytes_ > bytes_max_) make_room(folder.fd());
    return true;
}

// Measures the folder and deletes files beyond the limit. Another process may do the same at the
// same time.
void DiskCodeStore::make_room(int folder) {
    struct Kept {
        std::string name;
        std::uint64_t bytes;
        std::int64_t used_s;
    };
    used_bytes_ = 0;
    std::vector<Kept> files;
    std::unique_ptr<DIR, int (*)(DIR*)> list(::opendir(folder_.c_str()), ::closedir);
    if (!list) return;
    while (const dirent* entry = ::readdir(list.get())) {
        struct stat status{};
        if (!is_our_name(entry->d_name) ||
            ::fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        files.push_back({entry->d_name, static_cast<std::uint64_t>(status.st_size),
                         std::int64_t{status.st_mtime}});
        *used_bytes_ += files.back().bytes;
    }
    if (*used_bytes_ <= bytes_max_) return;
    std::ranges::sort(files, {}, &Kept::used_s);
    // Deletes more than is needed, so that the next file does not cause another deletion.
    std::uint64_t left = bytes_max_ / 4 * 3;
    for (const Kept& file : files) {
        if (*used_bytes_ <= left) return;
        WEFT_ASSERT(*used_bytes_ >= file.bytes, "the total contains every file of the list");
        if (::unlinkat(folder, file.name.c_str(), 0) == 0) *used_bytes_ -= file.bytes;
    }
}

}  // namespace weft::api
