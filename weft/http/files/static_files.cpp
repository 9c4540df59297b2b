#include "weft/http/files/static_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/fiber/blocking.h"
#include "weft/http/files/conditions.h"
#include "weft/http/files/file_cache.h"
#include "weft/http/files/file_response.h"
#include "weft/http/files/listing.h"
#include "weft/http/files/resource.h"
#include "weft/http/request.h"
#include "weft/http/wire/target.h"

namespace weft::http {
namespace {

// Whether a path needs no decoding, no normalization and no refusal, as most do. It is then the key
// of the cache as it is.
bool is_plain(std::string_view path) {
    if (!path.starts_with('/')) return false;
    char previous = 0;
    for (char c : path) {
        if (c <= ' ' || c > '~' || c == '%' || c == '\\') return false;
        if (previous == '/' && (c == '/' || c == '.')) return false;
        previous = c;
    }
    return true;
}

// Whether a path contains an encoded slash ("%2f"). Decoding it would turn one name into two.
bool has_encoded_slash(std::string_view path) {
    for (std::size_t at = path.find("%2"); at != std::string_view::npos;
         at = path.find("%2", at + 1)) {
        if (path.substr(at + 2).starts_with('f') || path.substr(at + 2).starts_with('F'))
            return true;
    }
    return false;
}

// The decoded and normalized path; nothing if no file can have it, or it is hidden.
std::optional<std::string> file_path(std::string_view path, Dotfiles dotfiles) {
    if (has_encoded_slash(path)) return std::nullopt;
    std::optional<std::string> decoded = wire::normalize_path(path);
    if (!decoded || decoded->find_first_of(std::string_view("\\\0", 2)) != std::string::npos) {
        return std::nullopt;
    }
    if (decoded->find("//") != std::string::npos) return std::nullopt;
    if (dotfiles == Dotfiles::Hide && decoded->find("/.") != std::string::npos) {
        return std::nullopt;
    }
    WEFT_ASSERT(decoded->starts_with('/'), "see wire::normalize_path()");
    return decoded;
}

// The status for a failure to open a file; nothing: it is an error of the server.
std::optional<std::uint16_t> status_of(const Error& error) {
    switch (error.native_code()) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EXDEV:
    case ENXIO:
    case ENODEV:
    case EISDIR:
    case EILSEQ:
    case EINVAL:
    case ENAMETOOLONG: return 404;
    case EACCES:
    case EPERM: return 403;
    case EAGAIN: return 503;
    default: break;
    }
    bool is_short = error.kind() == ErrorKind::OutOfMemory || error.kind() == ErrorKind::OutOfFds;
    return is_short ? std::optional<std::uint16_t>(503) : std::nullopt;
}

class StaticFiles {
public:
    StaticFiles(Directory root, StaticFilesOptions options)
        : root_(std::move(root)),
          options_(std::move(options)),
          load_options_{.index = options_.index,
                        .lists = options_.listing == Listing::On,
                        .precompressed = options_.precompressed == Precompressed::Use,
                        .links = options_.links,
                        .memory_file_bytes_max = options_.memory_file_bytes_max},
          cache_({options_.cached_files_max, options_.memory_bytes_max, options_.fresh_time}) {}

    Result<Response> answer(Request& request);

private:
    using Shared = std::shared_ptr<const Resource>;

    Result<Shared> find(std::string_view path);
    Result<Response> list(const std::string& path) const;

    const Directory root_;
    const StaticFilesOptions options_;
    const LoadOptions load_options_;
    FileCache cache_;
};

Response refuse(const Error& error) {
    std::optional<std::uint16_t> status = status_of(error);
    WEFT_ASSERT(status, "the server answers its own errors");
    return Response::plain(*status);
}

// Refuses a path that begins with two slashes: as a Location it would name another host.
Response redirect_to_directory(const Request& request) {
    std::string_view path = request.whole_path();
    if (!path.starts_with('/') || path.starts_with("//")) return Response::plain(404);
    std::string location = format("{}/", path);
    if (!request.query().empty()) location.append("?").append(request.query());
    return Response::redirect(location, 301);
}

Result<Response> StaticFiles::answer(Request& request) {
    if (request.method() != "GET" && request.method() != "HEAD") {
        return Response::plain(405).with("Allow", "GET, HEAD");
    }
    std::string_view path = request.path();
    if (path.empty()) return redirect_to_directory(request);
    std::optional<std::string> normalized;
    if (!is_plain(path)) {
        normalized = file_path(path, options_.dotfiles);
        if (!normalized) return Response::plain(404);
        path = *normalized;
    }
    Result<Shared> resource = find(path);
    if (!resource) {
        if (status_of(resource.error())) return refuse(resource.error());
        return resource.error();
    }
    switch ((*resource)->kind) {
    case Resource::Kind::Directory: return redirect_to_directory(request);
    case Resource::Kind::Listing: return list(std::string(path));
    case Resource::Kind::File: break;
    }
    return file_response(request, std::move(*resource), options_.cache_control);
}

// The resource from the cache, or from the disk if it is not cached or must be checked again.
Result<StaticFiles::Shared> StaticFiles::find(std::string_view path) {
    FileCache::Found found = cache_.find(path, Clock::now());
    if (found.resource && !found.is_stale) return found.resource;
    Result<Shared> loaded =
        blocking([&] { return load_resource(root_, std::string(path), load_options_); });
    if (!loaded) {
        std::optional<std::uint16_t> status = status_of(loaded.error());
        bool is_gone = status && *status != 503;
        if (is_gone) cache_.forget(path);
        // The check has failed for another reason, such as a lack of descriptors: use the cached
        // resource until it can be checked.
        if (!is_gone && found.resource) return found.resource;
        return loaded;
    }
    if (found.resource && found.resource->is_same_as(**loaded)) return found.resource;
    cache_.keep(path, *loaded, Clock::now());
    return loaded;
}

Result<Response> StaticFiles::list(const std::string& path) const {
    Result<std::vector<DirectoryEntry>> entries =
        root_.list(path.substr(1), kListingEntriesMax, options_.links);
    if (!entries) {
        if (status_of(entries.error())) return refuse(entries.error());
        return entries.error();
    }
    // Hide the entries that would not be served.
    std::erase_if(*entries, [&](const DirectoryEntry& entry) {
        bool is_hidden = options_.dotfiles == Dotfiles::Hide && entry.name.starts_with('.');
        bool is_link = options_.links == Links::Refuse && entry.kind == FileKind::Link;
        return is_hidden || is_link || entry.kind == FileKind::Other;
    });
    return Response::html(listing_page(path, std::move(*entries)))
        .with("X-Content-Type-Options", "nosniff");
}

}  // namespace

Result<Handler> static_files(const std::string& directory, StaticFilesOptions options) {
    Directory root = WEFT_TRY(Directory::open(directory));
    // Shared by the copies of the handler.
    auto files = std::make_shared<StaticFiles>(std::move(root), std::move(options));
    return Handler([files](Request& request, async::Context&) { return files->answer(request); });
}

}  // namespace weft::http
