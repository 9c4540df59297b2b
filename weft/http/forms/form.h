// HTML forms: reads and writes application/x-www-form-urlencoded, and writes multipart/form-data.
//
//     FormFields fields = WEFT_TRY(http::read_form(request));          // in a handler
//     auto response = WEFT_TRY(client.send(http::form_request(url, {{"name", "Ada"}})));
//
//     http::MultipartForm form;                                         // with files
//     form.field("title", "a picture").file("picture", "a.png", "image/png", std::move(bytes));
//     auto answer = WEFT_TRY(client.send(WEFT_TRY(std::move(form).request(url))));
//
// A handler reads multipart/form-data by multipart_reader.h. The functions: any fiber. A
// MultipartForm: owned by one fiber at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/result.h"
#include "weft/fiber/os/file.h"
#include "weft/http/body.h"
#include "weft/http/client/client.h"
#include "weft/http/response.h"

namespace weft::http {

class Request;

// The fields in their order; a name may occur several times.
using FormFields = std::vector<std::pair<std::string, std::string>>;

struct FormLimits {
    std::size_t bytes = 64 * 1024;  // of the body
    std::size_t fields = 1000;
};

// To "name=Ada+Lovelace&x=%26", and back. A malformed escape is left as it is. Limit.
std::string encode_form(const FormFields& fields);
Result<FormFields> decode_form(std::string_view text, const FormLimits& limits = {});

// Reads the form in the body of a request. Unavailable when the request has another content type,
// Limit, and the errors of reading the body.
Result<FormFields> read_form(Request& request, const FormLimits& limits = {});

// The response to a form that could not be read: 415, 413 or 400. Any other error is returned, for
// the server to answer.
Result<Response> form_failure(const Error& error);

// A POST of the fields, urlencoded.
ClientRequest form_request(RequestUrl url, const FormFields& fields);

// Builds a multipart/form-data body. If all parts are in memory the request can be repeated, for
// example after a redirect. An open file is read while it is sent.
class MultipartForm {
public:
    MultipartForm();

    MultipartForm& field(std::string_view name, std::string_view value);
    // Adds a file whose content is in memory; an empty type means application/octet-stream.
    MultipartForm& file(std::string_view name, std::string_view file_name,
                        std::string_view content_type, std::string content);
    // Adds the first `count` bytes of an open file.
    MultipartForm& file(std::string_view name, std::string_view file_name,
                        std::string_view content_type, std::shared_ptr<const File> file,
                        std::uint64_t count);

    std::string content_type() const;
    // The body, which takes over the parts. Misuse when a type cannot be sent or a name has a zero
    // byte. Quotes and line ends in names are escaped as browsers do (%22, %0D, %0A).
    Result<Body> body() &&;
    // A POST with this body and its content type.
    Result<ClientRequest> request(RequestUrl url) &&;

private:
    struct Part {
        std::string head;                  // the boundary, and the fields of the part
        std::string text;                  // the content, unless there is a file
        std::shared_ptr<const File> file;  // shared with the caller; null: the content is `text`
        std::uint64_t count = 0;

        std::uint64_t size() const { return head.size() + (file ? count : text.size()); }
    };
    static Result<void> write(const std::vector<Part>& parts, std::string_view end,
                              BodyWriter& writer);
    Part& add(std::string_view name, std::optional<std::string_view> file_name,
              std::string_view content_type);

    std::string boundary_;
    std::vector<Part> parts_;
    bool valid_ = true;  // all names and types can be sent
};

}  // namespace weft::http
