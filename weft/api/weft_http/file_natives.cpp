#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/api/application/application.h"
#include "weft/api/serve/flat_headers.h"
#include "weft/api/serve/server_calls.h"
#include "weft/api/weft_http/bindings.h"
#include "weft/api/weft_http/file_answer.h"
#include "weft/api/weft_http/file_store.h"
#include "weft/base/assert.h"
#include "weft/http/files/file_response.h"
#include "weft/http/request.h"
#include "weft/js/describe.h"
#include "weft/js/isolate.h"
#include "weft/js/owned_bytes.h"
#include "weft/js/task.h"

namespace weft::api {
namespace {

// The most that one read by a script returns; larger files take several reads.
constexpr std::int64_t kReadBytesMax = std::int64_t{1024} * 1024;
// Positions among the arguments: the request's number, its method, and the first of its fields.
constexpr int kRequest = 2;
constexpr int kMethod = 3;
constexpr int kFirstField = 4;

class NoBody final : public http::BodyReader {
public:
    Result<std::size_t> read(ByteSpace) override { return 0; }
    std::optional<std::uint64_t> size() const override { return 0; }
    const http::Headers& trailers() const override { return trailers_; }

private:
    http::Headers trailers_;
};

// What a script asks for, copied because the request may be over when it is used.
struct FileQuery {
    std::string root;
    std::string path;
    std::string method;
    http::Headers headers;

    // (root, path, id, method, name, value, ...)
    explicit FileQuery(js::Call& call)
        : root(call.text(0)), path(call.text(1)), method(call.text(kMethod)) {
        if (http::Request* request = request_of(call)) {
            method = request->method();
            for (const auto& field : request->headers()) headers.add(field.name, field.value);
        }
        for (int at = kFirstField; at + 1 < call.count(); at += 2)
            headers.add(to_latin1(call.v8(), call[at].As<v8::String>()),
                        to_latin1(call.v8(), call[at + 1].As<v8::String>()));
    }

    static http::Request* request_of(js::Call& call) {
        double number = call.number(kRequest);
        ServerCall* found = number > 0 ? calls_of(call).find(number) : nullptr;
        return found ? found->request : nullptr;
    }

    http::Response answer(FileStore::Shared resource) const {
        http::wire::RequestHead head;
        head.method = method;
        head.target = "/";
        head.headers = headers.copy();
        NoBody body;
        net::Address peer;
        http::wire::Target target;
        http::Request request({head, target, body, peer, nullptr});
        return http::file_response(request, std::move(resource), {});
    }
};

FileStore& store_of(js::Call& call) { return JsApplication::of(call.isolate()).file_store(); }

// Gives nothing if the file must be loaded first.
void file_find(js::Call& call) {
    FileStore::Shared resource = store_of(call).find(call.text(0), call.text(1));
    if (!resource) return;
    http::Request* request = FileQuery::request_of(call);
    http::Response response = request ? http::file_response(*request, std::move(resource), {})
                                      : FileQuery(call).answer(std::move(resource));
    call.give(FileAnswer::to_script(call.v8(), std::move(response)));
}

void file_load(js::Call& call) {
    auto load = [&store = store_of(call), query = FileQuery(call)]() -> Result<js::Settled> {
        FileStore::Shared resource = WEFT_TRY(store.open(query.root, query.path));
        auto response = std::make_shared<http::Response>(query.answer(std::move(resource)));
        return js::Settled([response](js::Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
            return FileAnswer::to_script(isolate.v8(), std::move(*response));
        });
    };
    js::start_task(call, "open file", std::move(load));
}

// Collects the parts of a response with several ranges, as they would be sent.
class GatheringWriter final : public http::BodyWriter {
public:
    using BodyWriter::write;
    Result<void> write(Bytes bytes) override {
        text_ += as_text(bytes);
        return {};
    }
    Result<void> flush() override { return {}; }
    http::Headers& trailers() override { return trailers_; }
    std::string take() { return std::move(text_); }

private:
    std::string text_;
    http::Headers trailers_;
};

// For scripts that read the content themselves.
void file_read(js::Call& call) {
    auto offset = static_cast<std::uint64_t>(std::max<std::int64_t>(0, call.integer(1)));
    auto count =
        static_cast<std::size_t>(std::clamp<std::int64_t>(call.integer(2), 0, kReadBytesMax));
    auto read = [body = FileAnswer::of(call[0]).body, offset, count]() -> Result<js::Settled> {
        if (http::Body::Produced* produced = body->as_produced()) {
            GatheringWriter writer;
            WEFT_TRY(produced->producer(writer));
            *body = http::Body(writer.take());
        }
        js::OwnedBytes bytes(count);
        std::size_t got = 0;
        if (auto text = body->text()) {
            std::string_view part =
                text->substr(std::min<std::size_t>(offset, text->size()), count);
            std::ranges::copy(as_bytes(part), bytes.space().begin());
            got = part.size();
        } else if (const http::Body::FilePart* part = body->as_file()) {
            while (got < count) {
                std::size_t step = WEFT_TRY(
                    part->file->read_at(part->offset + offset + got, bytes.space().subspan(got)));
                if (step == 0) break;
                got += step;
            }
        }
        bytes.shrink(got);
        return js::settled(std::move(bytes));
    };
    js::start_task(call, "read file", std::move(read));
}

// (path, folder, index, cacheControl)
void declare_static(js::Call& call) {
    JsApplication::of(call.isolate())
        .declared_routes()
        .folders.push_back({.path = call.text(0),
                            .folder = call.text(1),
                            .index = call.text(2),
                            .cache_control = call.text(3)});
}

// (path, upstream, ...)
void declare_proxy(js::Call& call) {
    ProxyRoute route{.path = call.text(0), .upstreams = {}};
    for (int at = 1; at < call.count(); ++at) route.upstreams.push_back(call.text(at));
    JsApplication::of(call.isolate()).declared_routes().proxies.push_back(std::move(route));
}

constexpr js::Binding kBindings[] = {
    js::bind<declare_static>("httpDeclareStatic",
                             "(path: string, folder: string, index: string, "
                             "cacheControl: string): void"),
    js::bind<declare_proxy>("httpDeclareProxy", "(path: string, ...upstreams: string[]): void"),
    js::bind<file_find>("httpFileFind",
                        "(root: string, path: string, id: number, method: string, "
                        "...fields: string[]): unknown[] | undefined"),
    js::bind<file_load>("httpFileLoad",
                        "(root: string, path: string, id: number, method: string, "
                        "...fields: string[]): Promise<unknown[]>",
                        js::Awaits::Cancellable),
    js::bind<file_read>("httpFileRead",
                        "(content: ArrayBuffer, offset: number, count: number): "
                        "Promise<ArrayBuffer>",
                        js::Awaits::Cancellable),
};

}  // namespace

v8::Local<v8::Value> FileAnswer::to_script(v8::Isolate* isolate, http::Response&& response) {
    auto size = static_cast<double>(response.body.size().value_or(0));
    // tidy: allow new: the deleter of the buffer frees it
    auto* answer = new FileAnswer{std::make_shared<http::Body>(std::move(response.body))};
    std::unique_ptr<v8::BackingStore> memory = v8::ArrayBuffer::NewBackingStore(
        answer, sizeof(FileAnswer),
        [](void* kept, std::size_t, void*) {
            delete static_cast<FileAnswer*>(kept);  // tidy: allow delete: see above
        },
        nullptr);
    constexpr std::size_t kFirst = 3;
    std::vector<v8::Local<v8::Value>> values;
    values.reserve(kFirst + 2 * response.headers.size());
    values.push_back(v8::ArrayBuffer::New(isolate, std::move(memory)));
    values.push_back(v8::Integer::New(isolate, response.status));
    values.push_back(v8::Number::New(isolate, size));
    for (const http::Headers::Field& field : response.headers) {
        values.push_back(from_latin1(isolate, field.name));
        values.push_back(from_latin1(isolate, field.value));
    }
    return v8::Array::New(isolate, values.data(), values.size());
}

FileAnswer& FileAnswer::of(v8::Local<v8::Value> content) {
    WEFT_ASSERT(content->IsArrayBuffer(), "the prelude holds the content of a file");
    return *static_cast<FileAnswer*>(content.As<v8::ArrayBuffer>()->GetBackingStore()->Data());
}

std::span<const js::Binding> weft_http_bindings() { return kBindings; }

}  // namespace weft::api
