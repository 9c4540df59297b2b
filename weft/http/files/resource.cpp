#include "weft/http/files/resource.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/http/files/content_type.h"
#include "weft/http/wire/date.h"

namespace weft::http {
namespace {

using wire::Coding;

struct Suffix {
    Coding coding;
    std::string_view text;
};
// In the order of preference among codings that a client weights equally.
constexpr auto kSuffixes = std::to_array<Suffix>({
    {Coding::Brotli, ".br"},
    {Coding::Zstd, ".zst"},
    {Coding::Gzip, ".gz"},
});

Error not_found() { return Error::from_errno(ENOENT); }

std::string etag_of(const FileStatus& status, Coding coding) {
    auto modified = static_cast<std::uint64_t>(status.modified.time_since_epoch().count());
    std::string etag = format("\"{:x}-{:x}-{:x}", status.inode, status.size, modified);
    // Two names may be hard links to one file, but different codings are different representations.
    if (coding != Coding::Identity) etag.append("-").append(to_string(coding));
    return etag += '"';
}

bool is_unchanged(const FileStatus& a, const FileStatus& b) {
    return a.kind == b.kind && a.size == b.size && a.modified == b.modified && a.inode == b.inode;
}

// Reads the whole content. False: the file has changed while it was read.
Result<bool> read_content(const File& file, const FileStatus& status, std::string& content) {
    content.resize(status.size);
    std::span<std::byte> space = std::as_writable_bytes(std::span(content));
    std::size_t filled = 0;
    while (filled < space.size()) {
        std::size_t count = WEFT_TRY(file.read_at(filled, space.subspan(filled)));
        if (count == 0) return false;
        WEFT_ASSERT(count <= space.size() - filled, "a read fills its space at most");
        filled += count;
    }
    return is_unchanged(WEFT_TRY(file.status()), status);
}

Result<Representation> represent(OpenedFile opened, Coding coding, std::size_t memory_bytes_max) {
    WEFT_ASSERT(opened.status.kind == FileKind::Regular, "nothing else has content");
    Representation made;
    made.coding = coding;
    made.status = opened.status;
    made.etag = etag_of(made.status, coding);
    made.modified_text = wire::format_date(made.modified_seconds()).view();
    if (made.status.size <= memory_bytes_max) {
        made.is_in_memory = WEFT_TRY(read_content(opened.file, made.status, made.content));
    }
    if (!made.is_in_memory) {
        made.content = {};
        made.file = std::move(opened.file);
    }
    return made;
}

void add(Resource& resource, Representation representation) {
    WEFT_ASSERT(representation.is_in_memory || representation.content.empty());
    WEFT_ASSERT(resource.representations.empty() == (representation.coding == Coding::Identity),
                "the first representation is the file itself, and only that");
    resource.memory_bytes += representation.content.size();
    resource.representations.push_back(std::move(representation));
}

Result<std::shared_ptr<const Resource>> load_file(const Directory& root, const std::string& name,
                                                  OpenedFile opened, const LoadOptions& options) {
    // Shared by the cache and the responses.
    auto resource = std::make_shared<Resource>();
    resource->content_type = content_type_of(name);
    add(*resource,
        WEFT_TRY(represent(std::move(opened), Coding::Identity, options.memory_file_bytes_max)));
    if (!options.precompressed) return resource;
    for (const Suffix& suffix : kSuffixes) {
        Result<OpenedFile> encoded = root.open_file(name + std::string(suffix.text), options.links);
        if (!encoded || encoded->status.kind != FileKind::Regular) continue;
        add(*resource,
            WEFT_TRY(represent(std::move(*encoded), suffix.coding, options.memory_file_bytes_max)));
    }
    return resource;
}

std::shared_ptr<const Resource> without_content(Resource::Kind kind) {
    auto resource = std::make_shared<Resource>();
    resource->kind = kind;
    return resource;
}

Result<std::shared_ptr<const Resource>> load_directory(const Directory& root,
                                                       const std::string& name,
                                                       const LoadOptions& options) {
    if (!options.index.empty()) {
        std::string index = name + options.index;
        Result<OpenedFile> opened = root.open_file(index, options.links);
        if (opened && opened->status.kind == FileKind::Regular) {
            return load_file(root, index, std::move(*opened), options);
        }
        if (!opened && opened.error().native_code() != ENOENT) return opened.error();
    }
    if (!options.lists) return not_found();
    OpenedFile opened = WEFT_TRY(root.open_file(name, options.links));
    if (opened.status.kind != FileKind::Directory) return not_found();
    return without_content(Resource::Kind::Listing);
}

}  // namespace

std::int64_t Representation::modified_seconds() const {
    return std::chrono::floor<std::chrono::seconds>(status.modified).time_since_epoch().count();
}

bool Resource::is_same_as(const Resource& other) const {
    return kind == other.kind &&
           std::ranges::equal(representations, other.representations,
                              [](const Representation& a, const Representation& b) {
                                  return a.coding == b.coding && is_unchanged(a.status, b.status);
                              });
}

Result<std::shared_ptr<const Resource>> load_resource(const Directory& root,
                                                      const std::string& path,
                                                      const LoadOptions& options) {
    WEFT_ASSERT(path.starts_with('/'), "a path is normalized");
    std::string name = path.substr(1);
    if (name.empty() || name.ends_with('/')) return load_directory(root, name, options);
    OpenedFile opened = WEFT_TRY(root.open_file(name, options.links));
    if (opened.status.kind == FileKind::Directory) {
        return without_content(Resource::Kind::Directory);
    }
    if (opened.status.kind != FileKind::Regular) return not_found();
    return load_file(root, name, std::move(opened), options);
}

}  // namespace weft::http
