// The native functions with which fetch() sends a request and reads its response.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/api/application/application.h"
#include "weft/api/encoding/bindings.h"
#include "weft/api/fetch/bindings.h"
#include "weft/api/fetch/fetch_client.h"
#include "weft/api/serve/flat_headers.h"
#include "weft/http/wire/format.h"
#include "weft/js/describe.h"
#include "weft/js/owned_bytes.h"
#include "weft/js/task.h"

namespace weft::api {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

FetchClient& client_of(js::Call& call) { return JsApplication::of(call.isolate()).fetch_client(); }

// The code of the failure, which scripts see as `cause.code`.
std::string_view code_of(const Error& error) {
    switch (error.kind()) {
    case ErrorKind::PermissionDenied: return "BlockedHost";
    case ErrorKind::Cancelled: return "Cancelled";
    case ErrorKind::Limit: return "Limit";
    case ErrorKind::Tls: return "TlsFailed";
    case ErrorKind::Misuse: return "InvalidRequest";
    default: return "ConnectionFailed";
    }
}

js::Settled failed(const Error& error) {
    return [error](js::Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
        v8::Isolate* engine = isolate.v8();
        std::string text(code_of(error));
        text += ": " + error.message();
        v8::Local<v8::Value> thrown = v8::Exception::Error(js::to_v8(engine, text));
        js::seen_by_turn(thrown.As<v8::Object>()->Set(isolate.context(), js::to_v8(engine, "code"),
                                                      js::to_v8(engine, code_of(error))));
        engine->ThrowException(thrown);
        return {};
    };
}

// [handle, status, statusText, name, value, ...]
v8::MaybeLocal<v8::Value> describe(js::Isolate& isolate, Fetched& fetched, double handle) {
    constexpr std::size_t kFirstField = 3;
    v8::Isolate* engine = isolate.v8();
    const http::Headers& headers = fetched.response.headers;
    std::vector<v8::Local<v8::Value>> values;
    values.reserve(kFirstField + 2 * headers.size());
    values.push_back(v8::Number::New(engine, handle));
    values.push_back(v8::Integer::New(engine, fetched.response.status));
    values.push_back(from_latin1(engine, http::wire::reason_phrase(fetched.response.status)));
    for (const http::Headers::Field& field : headers) {
        values.push_back(from_latin1(engine, field.name));
        values.push_back(from_latin1(engine, field.value));
    }
    return v8::Array::New(engine, values.data(), values.size()).As<v8::Value>();
}

// The body of a request that is written in pieces. The writer is told of the end also when the
// fetch was refused, so that nobody took the body.
struct Upload {
    FetchClient* fetches = nullptr;
    double number = 0;
    std::shared_ptr<BodyQueue> queue;  // null if there is no such body
    Upload() = default;
    Upload(Upload&&) = default;
    ~Upload() { abandon(); }
    // After this the script finds no upload with this number.
    void abandon() {
        if (!queue) return;
        queue->abandon();
        if (fetches->find_upload(number) == queue) fetches->end_upload(number);
    }
};

struct Asked {
    http::ClientRequest request;
    Upload upload;
};

// (method, url, body, streamId, id, name, value, ...): streamId is the number of a body that is
// written with fetchBodyWrite, or 0; the fetch can be cancelled by id.
Asked read_request(js::Call& call) {
    constexpr int kFirstField = 5;
    Asked asked;
    FetchClient& fetches = client_of(call);
    asked.request.method = call.text(0);
    asked.request.url = fetches.parse(call.text(1));
    if (call[2]->IsString())
        asked.request.body = http::Body(call.text(2));
    else if (!call[2]->IsNull() && !call[2]->IsUndefined())
        asked.request.body = http::Body(std::string(as_text(call.bytes(2))));
    if (double upload = call.number(3); upload != 0) {
        asked.upload.fetches = &fetches;
        asked.upload.number = upload;
        asked.upload.queue = fetches.open_upload(upload);
        asked.request.body =
            http::Body::produced([queue = asked.upload.queue](http::BodyWriter& writer) {
                return queue->produce(writer);
            });
    }
    calls_of(call).known_fields().add_all(call, kFirstField, asked.request.headers);
    return asked;
}

void fetch_start(js::Call& call) {
    JsApplication& application = JsApplication::of(call.isolate());
    js::Isolate& isolate = call.isolate();
    double owner = isolate.current_request();
    double id = call.number(4);
    auto work = [&application, &calls = calls_of(call), owner, id,
                 asked = read_request(call)]() mutable -> Result<js::Settled> {
        FetchClient& fetches = application.fetch_client();
        Result<http::ClientResponse> response = fetches.client().send(asked.request);
        fetches.forget_task(id);
        asked.upload.abandon();
        if (!response) return failed(response.error());
        auto fetched = std::make_shared<Fetched>(std::move(*response));
        fetched->whole = fetched->response.take_whole();
        double handle = WEFT_TRY(fetches.keep(fetched));
        calls.owns_fetch(owner, handle);
        return js::Settled(
            [fetched, handle](js::Isolate& here) { return describe(here, *fetched, handle); });
    };
    call.give(js::start_task(isolate, "fetch", std::move(work), isolate.find_token(owner)));
    if (double task = js::last_task(isolate); task != 0)
        application.fetch_client().remember_task(id, task);
}

void fetch_abort(js::Call& call) {
    if (double task = client_of(call).task_of(call.number(0)); task != 0)
        js::cancel_task(call.isolate(), task);
    if (std::shared_ptr<BodyQueue> upload = client_of(call).find_upload(call.number(0)))
        upload->fail(Error(ErrorKind::Cancelled, "the fetch was aborted"));
    client_of(call).end_upload(call.number(0));
}

// Gives a promise of the next piece of a response's body; undefined at its end.
void fetch_body_read(js::Call& call) {
    FetchClient& fetches = client_of(call);
    double handle = call.number(0);
    std::shared_ptr<Fetched> fetched = fetches.find(handle);
    js::start_task(call, "read response", [&fetches, handle, fetched]() -> Result<js::Settled> {
        if (!fetched) return failed(Error(ErrorKind::Closed, "it was dropped"));
        if (fetched->whole && !fetched->whole->empty()) {
            js::OwnedBytes bytes(fetched->whole->size());
            std::ranges::copy(as_bytes(*fetched->whole), bytes.space().begin());
            fetched->whole.emplace();
            return js::settled(std::move(bytes));
        }
        js::OwnedBytes bytes(kReadBytes);
        Result<std::size_t> count = fetched->response.body().read(bytes.space());
        if (!count || *count == 0) fetches.drop(handle);
        if (!count) return failed(count.error());
        if (*count == 0) return js::settled();
        bytes.shrink(*count);
        return js::settled(std::move(bytes));
    });
    if (fetched) fetched->reading = js::last_task(call.isolate());
}

// Takes a body that came at once, and ends the response; gives nothing for any other.
std::optional<std::string> take_whole(js::Call& call) {
    std::shared_ptr<Fetched> fetched = client_of(call).find(call.number(0));
    if (!fetched || !fetched->whole) return std::nullopt;
    client_of(call).drop(call.number(0));
    return std::move(fetched->whole);
}

// Gives the whole body if it is there already; undefined if the script must wait for it.
void fetch_body_take(js::Call& call) {
    if (std::optional<std::string> whole = take_whole(call)) call.give_bytes(as_bytes(*whole));
}

void fetch_body_take_text(js::Call& call) {
    if (std::optional<std::string> whole = take_whole(call)) give_text(call, as_bytes(*whole));
}

// Gives one promise of the whole body.
void fetch_body_take_all(js::Call& call) {
    FetchClient& fetches = client_of(call);
    double handle = call.number(0);
    std::shared_ptr<Fetched> fetched = fetches.find(handle);
    js::start_task(call, "read response", [&fetches, handle, fetched]() -> Result<js::Settled> {
        if (!fetched) return failed(Error(ErrorKind::Closed, "it was dropped"));
        Result<std::string> text = fetches.read_whole(fetched->response.body());
        fetches.drop(handle);
        if (!text) return failed(text.error());
        js::OwnedBytes bytes(text->size());
        std::ranges::copy(as_bytes(*text), bytes.space().begin());
        return js::settled(std::move(bytes));
    });
    if (fetched) fetched->reading = js::last_task(call.isolate());
}

// Also cancels a pending read, whose fiber would hold the connection until the server sends more.
void fetch_body_cancel(js::Call& call) {
    FetchClient& fetches = client_of(call);
    double handle = call.number(0);
    std::shared_ptr<Fetched> fetched = fetches.find(handle);
    if (fetched && fetched->reading != 0) js::cancel_task(call.isolate(), fetched->reading);
    fetches.drop(handle);
}

// (upload, bytes): gives undefined, or a promise that is settled when there is room for more.
void fetch_body_write(js::Call& call) {
    std::shared_ptr<BodyQueue> upload = client_of(call).find_upload(call.number(0));
    if (!upload || upload->is_abandoned())
        return call.throw_type_error("The server takes no more of the request");
    if (upload->put(std::string(as_text(call.bytes(1))))) return;
    call.give(room_promise(call, *upload));
}

void fetch_body_end(js::Call& call) {
    if (std::shared_ptr<BodyQueue> upload = client_of(call).find_upload(call.number(0)))
        upload->close();
    client_of(call).end_upload(call.number(0));
}

constexpr js::Binding kBindings[] = {
    js::bind<fetch_start>("fetchStart",
                          "(method: string, url: string, body: string | BufferSource | null, "
                          "streamId: number, id: number, ...headers: string[]): "
                          "Promise<unknown[]>",
                          js::Awaits::Cancellable),
    js::bind<fetch_abort>("fetchAbort", "(id: number): void"),
    js::bind<fetch_body_read>("fetchBodyRead", "(handle: number): Promise<ArrayBuffer | undefined>",
                              js::Awaits::Cancellable),
    js::bind<fetch_body_take>("fetchBodyTake", "(handle: number): ArrayBuffer | undefined"),
    js::bind<fetch_body_take_text>("fetchBodyTakeText", "(handle: number): string | undefined"),
    js::bind<fetch_body_take_all>("fetchBodyTakeAll", "(handle: number): Promise<ArrayBuffer>",
                                  js::Awaits::Cancellable),
    js::bind<fetch_body_cancel>("fetchBodyCancel", "(handle: number): void"),
    js::bind<fetch_body_write>("fetchBodyWrite",
                               "(upload: number, bytes: BufferSource): Promise<void> | undefined",
                               js::Awaits::Uncancellable),
    js::bind<fetch_body_end>("fetchBodyEnd", "(upload: number): void"),
};

}  // namespace

std::span<const js::Binding> fetch_bindings() { return kBindings; }

}  // namespace weft::api
