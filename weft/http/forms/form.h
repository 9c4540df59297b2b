// Forms as browsers send them: application/x-www-form-urlencoded, and multipart/form-data to send.
//
//     FormFields fields = WEFT_TRY(http::read_form(request));          // in a handler
//     auto response = WEFT_TRY(client.send(http::form_request(url, {{"name", "Ada"}})));
//
//     http::MultipartForm form;                                         // with files
//     form.field("title", "a picture").file("picture", "a.png", "image/png", std::move(bytes));
//     auto answer = WEFT_TRY(client.send(WEFT_TRY(std::move(form).request(url))));
//
// How a handler reads the second kind: multipart_reader.h. The functions: any fiber. A
// MultipartForm: one owner.
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

// In their order; a name may come several times.
using FormFields = std::vector<std::pair<std::string, std::string>>;

struct FormLimits {
    std::size_t bytes = 64 * 1024;  // of the body
    std::size_t fields = 1000;
};

// "name=Ada+Lovelace&x=%26", and back; what is no proper escape stays as it is.
std::string encode_form(const FormFields& fields);
Result<FormFields> decode_form(std::string_view text, const FormLimits& limits = {});

// The form in the body of a request. Unavailable when its type is another one, Limit; and the
// errors of the body itself.
Result<FormFields> read_form(Request& request, const FormLimits& limits = {});

// The answer to a form that could not be read: 415, 413 or 400. Errors that are none of the form's
// come back, for the server to answer.
Result<Response> form_failure(const Error& error);

ClientRequest form_request(RequestUrl url, const FormFields& fields);

// A multipart/form-data body. Of parts in memory a request can be repeated, as after a redirect; a
// file is read while it is sent.
class MultipartForm {
public:
    MultipartForm();

    MultipartForm& field(std::string_view name, std::string_view value);
    // A file whose content is in memory; an empty type: application/octet-stream.
    MultipartForm& file(std::string_view name, std::string_view file_name,
                        std::string_view content_type, std::string content);
    // `count` bytes of a file that is open.
    MultipartForm& file(std::string_view name, std::string_view file_name,
                        std::string_view content_type, std::shared_ptr<const File> file,
                        std::uint64_t count);

    std::string content_type() const;
    // Misuse when a type cannot be sent or a name has a zero byte. Quotes and ends of lines in
    // names are escaped as browsers do (%22, %0D, %0A).
    Result<Body> body() &&;
    // A POST with it.
    Result<ClientRequest> request(RequestUrl url) &&;

private:
    struct Part {
        std::string head;  // with the boundary
        std::string text;
        std::shared_ptr<const File> file;  // instead of the text
        std::uint64_t count = 0;

        std::uint64_t size() const { return head.size() + (file ? count : text.size()); }
    };
    static Result<void> write(const std::vector<Part>& parts, std::string_view end,
                              BodyWriter& writer);
    Part& add(std::string_view name, std::optional<std::string_view> file_name,
              std::string_view content_type);

    std::string boundary_;
    std::vector<Part> parts_;
    bool valid_ = true;
};

}  // namespace weft::http
