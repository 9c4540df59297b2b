// MultipartReader: reads the parts of a multipart/form-data request one by one, as they arrive.
//
//     auto form = WEFT_TRY(http::MultipartReader::open(request));
//     while (auto part = WEFT_TRY(form->next())) {
//         if (part->file_name) {
//             http::BodyFileOptions options{.folder = "/srv/new"};
//             auto upload = WEFT_TRY(http::BodyFile::save(form->content(), options));
//         } else {
//             std::string value = WEFT_TRY(form->content().read_all(1000));
//         }
//     }
//
// Memory is bounded whatever the client sends: a part is a stream, and next() skips what was not
// read of it. The whole body is subject to the server's limit (RouteOptions::body_bytes_max).
// Errors: Unavailable when the request has another content type, Other when the body is malformed,
// Limit, and the errors of reading the body. form_failure() turns them into a response.
//
// Owned by the fiber that handles the request, which outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/http/body.h"
#include "weft/http/headers.h"
#include "weft/http/wire/multipart.h"

namespace weft::http {

class Request;
using wire::MultipartPart;
using wire::safe_file_name;

struct MultipartReaderLimits : wire::MultipartLimits {
    // Of one part; content().set_bytes_max() changes it for the part that next() gave.
    std::uint64_t part_bytes = 16ULL * 1024 * 1024;
};

class MultipartReader {
public:
    using Limits = MultipartReaderLimits;

    static Result<std::unique_ptr<MultipartReader>> open(Request& request,
                                                         const Limits& limits = {});
    // The same for any body, with the value of its Content-Type field.
    static Result<std::unique_ptr<MultipartReader>> open(BodyReader& body,
                                                         std::string_view content_type,
                                                         const Limits& limits = {});
    MultipartReader(const MultipartReader&) = delete;
    MultipartReader& operator=(const MultipartReader&) = delete;

    // The next part, or nothing after the last one. After an error every call returns the same.
    Result<std::optional<MultipartPart>> next();
    // The content of the part that next() gave last.
    BodyReader& content() { return content_; }

private:
    class Content final : public BodyReader {
    public:
        explicit Content(MultipartReader& form) : form_(form) {}
        Result<std::size_t> read(ByteSpace space) override { return form_.read(space); }
        std::optional<std::uint64_t> size() const override { return std::nullopt; }
        const Headers& trailers() const override { return trailers_; }
        void set_bytes_max(std::uint64_t bytes_max) override { form_.limit_part(bytes_max); }

    private:
        MultipartReader& form_;
        Headers trailers_;
    };
    using Event = wire::MultipartStep::Event;

    MultipartReader(BodyReader& body, std::string_view boundary, const Limits& limits);

    Result<std::size_t> read(ByteSpace space);
    Result<wire::MultipartStep> step();
    Result<void> fill();
    Result<void> finish();
    void limit_part(std::uint64_t bytes_max) { part_bytes_max_ = part_left_ = bytes_max; }
    Error fail(Error error);
    std::string_view unparsed() const;

    BodyReader& body_;
    const Limits limits_;
    wire::MultipartParser parser_;
    std::vector<std::byte> buffer_;  // of which [begin_, end_) is not parsed yet
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::string_view unread_content_;  // parsed, but not read: in the buffer before begin_
    std::uint64_t part_bytes_max_ = 0;
    std::uint64_t part_left_ = 0;   // how many bytes of content the part may still have
    bool in_part_ = false;          // the end of the current part has not been parsed
    bool form_ended_ = false;       // the end of the form has been parsed
    bool body_ended_ = false;       // the body has been read to its end
    std::optional<Error> failure_;  // returned by every further call
    Content content_{*this};
};

}  // namespace weft::http
