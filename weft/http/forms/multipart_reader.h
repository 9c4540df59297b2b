// The parts of a multipart/form-data request, one after the other as they come.
//
//     auto form = WEFT_TRY(http::MultipartReader::open(request));
//     while (auto part = WEFT_TRY(form->next())) {
//         if (part->file_name) {
//             auto upload = WEFT_TRY(http::BodyFile::save(form->content(), {.folder =
//             "/srv/new"}));
//         } else {
//             std::string value = WEFT_TRY(form->content().read_all(1000));
//         }
//     }
//
// Memory is bounded whatever the client sends: a part is a stream, and what was not read of it is
// skipped by next(). The whole body counts for the server's limit (RouteOptions::body_bytes_max).
// Errors: Unavailable when the content is something else, Other when it is malformed, Limit; and
// those of the body itself. form_failure() makes an answer of them.
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
    std::uint64_t part_bytes = 16ULL * 1024 * 1024;  // of one part; content().set_bytes_max()
};

class MultipartReader {
public:
    using Limits = MultipartReaderLimits;

    static Result<std::unique_ptr<MultipartReader>> open(Request& request,
                                                         const Limits& limits = {});
    // The same of any body.
    static Result<std::unique_ptr<MultipartReader>> open(BodyReader& body,
                                                         std::string_view content_type,
                                                         const Limits& limits = {});
    MultipartReader(const MultipartReader&) = delete;
    MultipartReader& operator=(const MultipartReader&) = delete;

    // The next part, or nothing behind the last. After an error every call gives the same.
    Result<std::optional<MultipartPart>> next();
    // Of the part that next() gave last.
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
    std::string_view unused() const;

    BodyReader& body_;
    const Limits limits_;
    wire::MultipartParser parser_;
    std::vector<std::byte> buffer_;  // of which [begin_, end_) is not used yet
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::string_view content_left_;  // of the last step, in the buffer before begin_
    std::uint64_t part_bytes_max_ = 0;
    std::uint64_t part_left_ = 0;
    bool in_part_ = false;
    bool was_last_ = false;  // the part before
    bool ended_ = false;     // the body
    std::optional<Error> failure_;
    Content content_{*this};
};

}  // namespace weft::http
