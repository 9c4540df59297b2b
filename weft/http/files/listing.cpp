#include "weft/http/files/listing.h"

#include <algorithm>
#include <tuple>

#include "weft/base/assert.h"
#include "weft/http/wire/target.h"
#include "weft/http/wire/utf8.h"

namespace weft::http {
namespace {

std::string escape_html(std::string_view text) {
    std::string valid;
    wire::append_with_replacement(valid, text);
    std::string escaped;
    for (char c : valid) {
        switch (c) {
        case '&': escaped += "&amp;"; break;
        case '<': escaped += "&lt;"; break;
        case '>': escaped += "&gt;"; break;
        case '"': escaped += "&quot;"; break;
        case '\'': escaped += "&#39;"; break;
        default: escaped += c;
        }
    }
    return escaped;
}

}  // namespace

std::string listing_page(std::string_view path, std::vector<DirectoryEntry> entries) {
    WEFT_ASSERT(path.ends_with('/'), "relative links would lead elsewhere");
    std::ranges::sort(entries, {}, [](const DirectoryEntry& entry) {
        return std::tuple(entry.kind != FileKind::Directory, std::string_view(entry.name));
    });
    std::string title = escape_html(path);
    std::string page = "<!DOCTYPE html>\n<html>\n<head><meta charset=\"utf-8\"><title>" + title +
                       "</title></head>\n<body>\n<h1>" + title + "</h1>\n<ul>\n";
    if (path != "/") page += "<li><a href=\"../\">../</a></li>\n";
    for (const DirectoryEntry& entry : entries) {
        std::string_view slash = entry.kind == FileKind::Directory ? "/" : "";
        // "./" in front of the name: otherwise "javascript:x" would be read as a URL with a scheme.
        page.append("<li><a href=\"./").append(wire::percent_encode(entry.name)).append(slash);
        page.append("\">").append(escape_html(entry.name)).append(slash).append("</a></li>\n");
    }
    page += "</ul>\n";
    if (entries.size() >= kListingEntriesMax) page += "<p>There are more.</p>\n";
    return page += "</body>\n</html>\n";
}

}  // namespace weft::http
