// The native functions with which the prelude reads a request and answers it.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/api/application/application.h"
#include "weft/api/encoding/bindings.h"
#include "weft/api/fetch/fetch_client.h"
#include "weft/api/serve/bindings.h"
#include "weft/api/serve/body_queue.h"
#include "weft/api/serve/flat_headers.h"
#include "weft/api/serve/server_calls.h"
#include "weft/api/url/url.h"
#include "weft/api/url/url_offsets.h"
#include "weft/api/weft_http/file_answer.h"
#include "weft/base/assert.h"
#include "weft/js/describe.h"
#include "weft/js/owned_bytes.h"
#include "weft/js/task.h"
#include "weft/js/tasks.h"

namespace weft::api {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

// Returns null, and gives the script nothing, if the request is over.
http::Request* request_of(js::Call& call) {
    ServerCall* found = calls_of(call).find(call.number(0));
    return found ? found->request : nullptr;
}

void request_method(js::Call& call) {
    if (http::Request* request = request_of(call))
        call.give(from_latin1(call.v8(), request->method()));
}

// (id, offsets): with the offsets of its parts where the text is a serialized URL; else the first
// of them is 0, and the text is to be parsed.
void request_url(js::Call& call) {
    http::Request* request = request_of(call);
    if (!request) return;
    write_offsets(call, 1, {});
    std::string_view target = request->target();
    if (!target.starts_with('/')) {
        // An absolute target names its own host; the target of OPTIONS may be "*".
        if (target.starts_with("http://") || target.starts_with("https://"))
            return call.give(target);
        target = "/";
    }
    std::string url = request->tls() ? "https://" : "http://";
    url += request->host().empty() ? std::string_view("localhost") : request->host();
    url += target;
    UrlOffsets offsets;
    if (is_serialized(url, offsets)) write_offsets(call, 1, offsets);
    call.give(from_latin1(call.v8(), url));
}

// (id, places): see to_packed().
void request_headers(js::Call& call) {
    http::Request* request = request_of(call);
    if (!request) return call.give(v8::Array::New(call.v8(), 0));
    call.give(to_packed(call, 1, request->headers()));
}

void request_peer(js::Call& call) {
    if (http::Request* request = request_of(call)) call.give(request->peer().to_string());
}

// Gives undefined if the request is over, because it is no longer known whether there was a body.
void request_has_body(js::Call& call) {
    ServerCall* found = calls_of(call).find(call.number(0));
    if (found && found->body) return call.give(!found->body->empty());
    if (!found || !found->request) return;
    call.give(found->request->body().size() != 0);
}

// Gives the whole body if it came with the head; undefined if it must be read in pieces.
void request_take_body(js::Call& call) {
    ServerCall* found = calls_of(call).find(call.number(0));
    if (!found || !found->body || std::exchange(found->body_taken, true)) return;
    call.give_bytes(as_bytes(*found->body));
}

// The same as text.
void request_take_text(js::Call& call) {
    ServerCall* found = calls_of(call).find(call.number(0));
    if (!found || !found->body || std::exchange(found->body_taken, true)) return;
    give_text(call, as_bytes(*found->body));
}

// Gives a promise of the next piece; undefined at the end.
void request_body_read(js::Call& call) {
    ServerCall* found = calls_of(call).find(call.number(0));
    if (found && found->body) {
        std::string_view whole;
        if (!std::exchange(found->body_taken, true)) whole = *found->body;
        js::start_task(call, "read body", [bytes = std::string(whole)]() -> Result<js::Settled> {
            if (bytes.empty()) return js::settled();
            Bytes all = as_bytes(bytes);
            return js::settled(std::vector<std::byte>(all.begin(), all.end()));
        });
        return;
    }
    if (!found || !found->request) {
        js::start_task(call, "read body", []() -> Result<js::Settled> {
            return Error(ErrorKind::Closed, "the request is over");
        });
        return;
    }
    http::BodyReader* body = &found->request->body();
    auto read = [body, &calls = calls_of(call), number = call.number(0)]() -> Result<js::Settled> {
        js::OwnedBytes bytes(kReadBytes);
        Result<std::size_t> count = body->read(bytes.space());
        if (!count) {
            if (ServerCall* open = calls.find(number)) open->body_error = count.error();
            return count.error();
        }
        if (*count == 0) return js::settled();
        bytes.shrink(*count);
        return js::settled(std::move(bytes));
    };
    // Uses the server's own context of the request, because the server waits for this task before
    // the request ends.
    call.give(js::start_task(call.isolate(), "read body", std::move(read), found->context));
}

std::string body_text(js::Call& call, v8::Local<v8::Value> value) {
    if (value->IsString()) return call.text_of(value);
    if (value->IsNull() || value->IsUndefined()) return {};
    ByteSpace bytes = js::Call::bytes_of(value);
    return std::string(as_text(bytes));
}

// Does nothing: the server discards what was not read of a body.
void request_body_cancel(js::Call&) {}

Result<void> forward_body(http::ClientResponse& from, http::BodyWriter& writer) {
    js::OwnedBytes bytes(kReadBytes);
    for (;;) {
        std::size_t count = WEFT_TRY(from.body().read(bytes.space()));
        if (count == 0) return {};
        WEFT_TRY(writer.write(Bytes(bytes.space()).first(count)));
        // Data that arrives slowly is forwarded at once.
        if (count < bytes.size()) WEFT_TRY(writer.flush());
    }
}

// The body of a fetch's response on its way to a client. It holds the request, because an abort may
// end the fetch until then. The request is told of the end also when the body was never written:
// the client went away, or the request was a HEAD.
struct ForwardedBody {
    std::weak_ptr<ServerCalls*> calls;  // they may end before the connection
    double number;
    std::shared_ptr<js::TaskCancel> cancel = std::make_shared<js::TaskCancel>();
    bool cut_off = false;

    ForwardedBody(ServerCalls& calls_in, double number_in)
        : calls(calls_in.self()), number(number_in) {}
    ForwardedBody(ForwardedBody&& other) noexcept = default;
    ~ForwardedBody() {
        if (auto open = calls.lock()) (*open)->body_ended(number, cut_off);
    }

    Result<void> run(http::ClientResponse& from, http::BodyWriter& writer) {
        CancelSource source;
        if (cancel->requested) source.cancel();
        cancel->source = &source;
        CancelScope ambient(source.token());
        Result<void> outcome = forward_body(from, writer);
        cancel->source = nullptr;
        cut_off = !outcome;
        return outcome;
    }
};

// RFC 9110 §8.6: the answer to a HEAD and a 304 may state the length that the content would have,
// without having content.
std::optional<std::uint64_t> length_without_body(js::Call& call, int first, std::uint16_t status) {
    http::Request* request = request_of(call);
    if (status != 304 && (!request || request->method() != "HEAD")) return std::nullopt;
    std::optional<std::string> text = field_among(call, first, "content-length");
    std::uint64_t length = 0;
    if (!text) return std::nullopt;
    auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), length);
    if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
    return length;
}

// (id, status, body, name, value, ...)
void respond(js::Call& call) {
    constexpr int kFirstField = 3;
    ServerCalls& calls = calls_of(call);
    http::Response response;
    response.status = static_cast<std::uint16_t>(call.integer(1));
    response.body = http::Body(body_text(call, call[2]));
    calls.known_fields().add_all(call, kFirstField, response.headers);
    if (response.body.size() == 0) {
        if (auto length = length_without_body(call, kFirstField, response.status))
            response.body =
                http::Body::produced([](http::BodyWriter&) -> Result<void> { return {}; }, length);
    }
    // RFC 9110 §15.5.22: a 426 (Upgrade Required) MUST name the protocol.
    if (response.status == 426) {
        if (auto protocols = field_among(call, kFirstField, "upgrade"))
            response.headers.add("upgrade", *protocols);
    }
    calls.answer(call.number(0), std::move(response));
}

// (id, status, headers, length): the body is written with bodyWrite.
void respond_stream(js::Call& call) {
    ServerCalls& calls = calls_of(call);
    double number = call.number(0);
    ServerCall* found = calls.find(number);
    if (!found || found->answered) return call.give(false);
    http::Response response;
    response.status = static_cast<std::uint16_t>(call.integer(1));
    response.headers = from_flat(call.context(), call[2].As<v8::Array>());
    auto queue = std::make_shared<BodyQueue>();
    found->outgoing = queue;
    calls.hold(number);
    // Tells the request of the end of the body also when the function was never called: the client
    // went away, or the request was a HEAD.
    struct ReleaseOnEnd {
        std::weak_ptr<ServerCalls*> calls;  // they may end before the connection
        double number;
        std::shared_ptr<BodyQueue> queue;
        ReleaseOnEnd(ServerCalls& calls_in, double number_in, std::shared_ptr<BodyQueue> queue_in)
            : calls(calls_in.self()), number(number_in), queue(std::move(queue_in)) {}
        ReleaseOnEnd(ReleaseOnEnd&& other) noexcept = default;
        ~ReleaseOnEnd() {
            if (!queue) return;
            queue->abandon();
            if (auto open = calls.lock()) (*open)->body_ended(number, queue->was_cut_off());
        }
    };
    std::optional<std::uint64_t> size;
    if (call.number(3) >= 0) size = static_cast<std::uint64_t>(call.number(3));
    response.body = http::Body::produced(
        [queue, end = ReleaseOnEnd(calls, number, queue)](http::BodyWriter& writer) mutable {
            return queue->produce(writer);
        },
        size);
    calls.answer(number, std::move(response));
    call.give(true);
}

// (id, status, fetch, mayAbort, name, value, ...): the body of a fetch's response, from socket to
// socket. With mayAbort, bodyFail can cut the body off until it was sent; gives true in that case.
void respond_fetch(js::Call& call) {
    constexpr int kFirstField = 4;
    ServerCalls& calls = calls_of(call);
    FetchClient& fetches = JsApplication::of(call.isolate()).fetch_client();
    std::shared_ptr<Fetched> fetched = fetches.find(call.number(2));
    if (!fetched) return call.throw_type_error("The response to be passed on is gone");
    fetches.drop(call.number(2));
    http::Response response;
    response.status = static_cast<std::uint16_t>(call.integer(1));
    calls.known_fields().add_all(call, kFirstField, response.headers);
    double number = call.number(0);
    ServerCall* found = calls.find(number);
    bool is_held = call.flag(3) && !fetched->whole && found && !found->answered;
    if (fetched->whole) {
        response.body = http::Body(std::move(*fetched->whole));
    } else if (is_held) {
        ForwardedBody passed(calls, number);
        found->forward_cancel = passed.cancel;
        calls.hold(number);
        response.body = http::Body::produced(
            [fetched, passed = std::move(passed)](http::BodyWriter& writer) mutable {
                return passed.run(fetched->response, writer);
            },
            fetched->response.body().size());
    } else {
        response.body = http::Body::produced(
            [fetched](http::BodyWriter& writer) { return forward_body(fetched->response, writer); },
            fetched->response.body().size());
    }
    calls.answer(number, std::move(response));
    call.give(is_held);
}

// (id, status, content, name, value, ...): the content of a file, which the kernel sends.
void respond_file(js::Call& call) {
    constexpr int kFirstField = 3;
    ServerCalls& calls = calls_of(call);
    http::Response response;
    response.status = static_cast<std::uint16_t>(call.integer(1));
    response.body = std::move(*FileAnswer::of(call[2]).body);
    calls.known_fields().add_all(call, kFirstField, response.headers);
    calls.answer(call.number(0), std::move(response));
}

// (id, chunks): gives undefined, or a promise that is settled when there is room for more.
void body_write(js::Call& call) {
    ServerCall* found = calls_of(call).find(call.number(0));
    if (!found || !found->outgoing || found->outgoing->is_abandoned())
        return call.throw_type_error("The client takes no more of the response");
    v8::Local<v8::Array> chunks = call[1].As<v8::Array>();
    bool more = true;
    for (std::uint32_t i = 0; i < chunks->Length(); ++i) {
        v8::Local<v8::Value> chunk;
        if (!chunks->Get(call.context(), i).ToLocal(&chunk)) return;
        more = found->outgoing->put(body_text(call, chunk));
    }
    if (more) return;
    call.give(room_promise(call, *found->outgoing));
}

void body_close(js::Call& call) {
    ServerCall* found = calls_of(call).find(call.number(0));
    if (found && found->outgoing) found->outgoing->close();
}

void body_fail(js::Call& call) {
    ServerCall* found = calls_of(call).find(call.number(0));
    if (found && found->outgoing)
        found->outgoing->fail(Error(ErrorKind::Other, "the response's stream failed"));
    if (found && found->forward_cancel) found->forward_cancel->request();
}

// (id, failure): 0 the handler threw, 1 it returned something other than a Response, 2 it threw the
// error with which the body of the request failed, 3 a form is too large, 4 the response cannot be
// sent.
void request_fail(js::Call& call) {
    constexpr std::uint16_t kContentTooLarge = 413;
    if (call.number(1) == 3)
        return calls_of(call).answer(call.number(0), http::Response::plain(kContentTooLarge));
    if (call.number(1) == 2) return calls_of(call).fail_body(call.number(0));
    CallFailure failure = CallFailure::Threw;
    if (call.number(1) == 1) failure = CallFailure::NotAResponse;
    if (call.number(1) == 4) failure = CallFailure::Unsendable;
    calls_of(call).fail(call.number(0), failure);
}

void request_hold(js::Call& call) { calls_of(call).hold_for_wait(call.number(0)); }

// Gives true if this was the last hold and the request was answered or given up.
void request_release(js::Call& call) { call.give(calls_of(call).release_wait(call.number(0))); }

void request_deadline(js::Call& call) {
    ServerCall* found = calls_of(call).find(call.number(0));
    if (found) call.give(calls_of(call).remaining_ms(*found));
}

void request_limit(js::Call& call) {
    // No deadline while a debugger may be used: a person may be stepping through the handler.
    if (JsApplication::of(call.isolate()).debug_door()) return;
    auto span = std::chrono::duration<double, std::milli>(call.number(1));
    calls_of(call).set_deadline(call.number(0), saturate(span));
}

void request_watch(js::Call& call) {
    calls_of(call).watch_promise(call.number(0), call[1].As<v8::Promise>());
}

void request_wants_signal(js::Call& call) {
    if (ServerCall* found = calls_of(call).find(call.number(0))) found->wants_signal = true;
}

constexpr js::Binding kBindings[] = {
    js::bind<request_method>("requestMethod", "(id: number): string | undefined"),
    js::bind<request_url>("requestUrl", "(id: number, offsets: Uint32Array): string | undefined"),
    js::bind<request_headers>("requestHeaders",
                              "(id: number, places: Uint32Array): string | string[]"),
    js::bind<request_peer>("requestPeer", "(id: number): string | undefined"),
    js::bind<request_has_body>("requestHasBody", "(id: number): boolean | undefined"),
    js::bind<request_take_body>("requestTakeBody", "(id: number): ArrayBuffer | undefined"),
    js::bind<request_take_text>("requestTakeText", "(id: number): string | undefined"),
    js::bind<request_body_read>("requestBodyRead", "(id: number): Promise<ArrayBuffer | undefined>",
                                js::Awaits::Cancellable),
    js::bind<request_body_cancel>("requestBodyCancel", "(id: number): void"),
    js::bind<request_fail>("requestFail", "(id: number, failure: number): void"),
    js::bind<request_hold>("requestHold", "(id: number): void"),
    js::bind<request_release>("requestRelease", "(id: number): boolean"),
    js::bind<request_deadline>("requestDeadline", "(id: number): number | undefined"),
    js::bind<request_limit>("requestLimit", "(id: number, ms: number): void"),
    js::bind<request_watch>("requestWatch", "(id: number, promise: Promise<unknown>): void"),
    js::bind<request_wants_signal>("requestWantsSignal", "(id: number): void"),
    js::bind<respond>("respond",
                      "(id: number, status: number, body: string | BufferSource | null, "
                      "...headers: string[]): void"),
    js::bind<respond_stream>("respondStream",
                             "(id: number, status: number, headers: string[], "
                             "length: number): boolean"),
    js::bind<respond_fetch>("respondFetch",
                            "(id: number, status: number, fetch: number, mayAbort: boolean, "
                            "...headers: string[]): boolean"),
    js::bind<respond_file>("respondFile",
                           "(id: number, status: number, content: ArrayBuffer, "
                           "...headers: string[]): void"),
    js::bind<body_write>("bodyWrite",
                         "(id: number, chunks: BufferSource[]): Promise<void> | undefined",
                         js::Awaits::Uncancellable),
    js::bind<body_close>("bodyClose", "(id: number): void"),
    js::bind<body_fail>("bodyFail", "(id: number): void"),
};

}  // namespace

std::span<const js::Binding> serve_bindings() { return kBindings; }

}  // namespace weft::api
