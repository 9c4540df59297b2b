#include "weft/http/forms/form.h"

#include <algorithm>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/http/request.h"
#include "weft/http/wire/characters.h"
#include "weft/http/wire/target.h"

namespace weft::http {
namespace {

constexpr std::string_view kFormType = "application/x-www-form-urlencoded";
constexpr std::size_t kPieceBytes = 16 * 1024;

// The URL standard, §5.2: the application/x-www-form-urlencoded serializer.
void append_encoded(std::string& output, std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    for (char c : text) {
        if (wire::is_digit(c) || wire::is_alpha(c) ||
            std::string_view("*-._").find(c) != std::string_view::npos) {
            output += c;
        } else if (c == ' ') {
            output += '+';
        } else {
            auto byte = static_cast<unsigned char>(c);
            output += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
        }
    }
}

// The HTML standard, multipart/form-data encoding algorithm.
std::string escaped(std::string_view name) {
    std::string text;
    for (char c : name) {
        switch (c) {
        case '"': text += "%22"; break;
        case '\r': text += "%0D"; break;
        case '\n': text += "%0A"; break;
        default: text += c;
        }
    }
    return text;
}

Result<void> write_file(const File& file, std::uint64_t count, BodyWriter& writer) {
    std::vector<std::byte> buffer(std::min<std::uint64_t>(count, kPieceBytes));
    for (std::uint64_t at = 0; at < count;) {
        ByteSpace space(buffer.data(), std::min<std::uint64_t>(count - at, buffer.size()));
        std::size_t got = WEFT_TRY(file.read_at(at, space));
        if (got == 0) return Error(ErrorKind::Closed, "the file ends too early");
        WEFT_ASSERT(got <= space.size(), "a read fills its space at most");
        WEFT_TRY(writer.write(Bytes(space.first(got))));
        at += got;
    }
    return {};
}

}  // namespace

std::string encode_form(const FormFields& fields) {
    std::string text;
    for (const auto& [name, value] : fields) {
        if (!text.empty()) text += '&';
        append_encoded(text, name);
        text += '=';
        append_encoded(text, value);
    }
    return text;
}

Result<FormFields> decode_form(std::string_view text, const FormLimits& limits) {
    if (text.size() > limits.bytes)
        return Error::limit("the form has more bytes than", limits.bytes, "FormLimits::bytes");
    auto separators = static_cast<std::size_t>(std::ranges::count(text, '&'));
    if (separators >= limits.fields)
        return Error::limit("the form has more fields than", limits.fields, "FormLimits::fields");
    FormFields fields = wire::parse_query(text);
    WEFT_ASSERT(fields.size() <= separators + 1, "each field but the last has a separator");
    return fields;
}

Result<FormFields> read_form(Request& request, const FormLimits& limits) {
    std::string_view type = request.header("content-type").value_or("");
    if (!equal_without_case(wire::trim_blanks(type.substr(0, type.find(';'))), kFormType))
        return Error(ErrorKind::Unavailable, format("the content is no {}", kFormType));
    std::string text = WEFT_TRY(request.body().read_all(limits.bytes));
    return decode_form(text, limits);
}

Result<Response> form_failure(const Error& error) {
    if (error.native_code() != 0) return error;
    switch (error.kind()) {
    case ErrorKind::Unavailable: return Response::plain(415);
    case ErrorKind::Limit: return Response::plain(413);
    case ErrorKind::Other: return Response::plain(400);
    default: return error;
    }
}

ClientRequest form_request(RequestUrl url, const FormFields& fields) {
    ClientRequest request{
        .method = "POST", .url = std::move(url), .body = Body(encode_form(fields))};
    request.headers.set("Content-Type", kFormType);
    return request;
}

MultipartForm::MultipartForm()
    : boundary_(format("weft-{:016x}{:016x}", env::random(RandomStream::Secret),
                       env::random(RandomStream::Secret))) {}

std::string MultipartForm::content_type() const {
    return "multipart/form-data; boundary=" + boundary_;
}

MultipartForm::Part& MultipartForm::add(std::string_view name,
                                        std::optional<std::string_view> file_name,
                                        std::string_view content_type) {
    valid_ = valid_ && is_field_value(content_type) && name.find('\0') == name.npos &&
             file_name.value_or("").find('\0') == std::string_view::npos;
    Part& part = parts_.emplace_back();
    part.head = format("{}--{}\r\nContent-Disposition: form-data; name=\"{}\"",
                       parts_.size() == 1 ? "" : "\r\n", boundary_, escaped(name));
    if (file_name) {
        part.head += format("; filename=\"{}\"\r\nContent-Type: {}", escaped(*file_name),
                            content_type.empty() ? "application/octet-stream" : content_type);
    }
    part.head += "\r\n\r\n";
    return part;
}

MultipartForm& MultipartForm::field(std::string_view name, std::string_view value) {
    add(name, std::nullopt, {}).text = value;
    return *this;
}

MultipartForm& MultipartForm::file(std::string_view name, std::string_view file_name,
                                   std::string_view content_type, std::string content) {
    add(name, file_name, content_type).text = std::move(content);
    return *this;
}

MultipartForm& MultipartForm::file(std::string_view name, std::string_view file_name,
                                   std::string_view content_type, std::shared_ptr<const File> file,
                                   std::uint64_t count) {
    Part& part = add(name, file_name, content_type);
    part.file = std::move(file);
    part.count = count;
    return *this;
}

Result<void> MultipartForm::write(const std::vector<Part>& parts, std::string_view end,
                                  BodyWriter& writer) {
    for (const Part& part : parts) {
        WEFT_DASSERT(!part.file || part.text.empty(), "a part has one content");
        WEFT_TRY(writer.write(part.head));
        if (part.file) {
            WEFT_TRY(write_file(*part.file, part.count, writer));
        } else {
            WEFT_TRY(writer.write(part.text));
        }
    }
    return writer.write(end);
}

Result<Body> MultipartForm::body() && {
    if (!valid_) return Error(ErrorKind::Misuse, "a name or a type of the form cannot be sent");
    std::string end = format("{}--{}--\r\n", parts_.empty() ? "" : "\r\n", boundary_);
    bool in_memory = std::ranges::none_of(parts_, [](const Part& part) { return !!part.file; });
    if (in_memory) {
        std::string text;
        for (const Part& part : parts_) text.append(part.head).append(part.text);
        return Body(text + end);
    }
    std::uint64_t size = end.size();
    for (const Part& part : parts_) size += part.size();
    return Body::produced([parts = std::move(parts_), end = std::move(end)](
                              BodyWriter& writer) { return write(parts, end, writer); },
                          size);
}

Result<ClientRequest> MultipartForm::request(RequestUrl url) && {
    ClientRequest request{.method = "POST", .url = std::move(url)};
    request.headers.set("Content-Type", content_type());
    request.body = WEFT_TRY(std::move(*this).body());
    return request;
}

}  // namespace weft::http
