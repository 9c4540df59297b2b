#include "weft/api/serve/body_queue.h"

#include <array>
#include <span>
#include <utility>

#include "weft/base/assert.h"
#include "weft/js/describe.h"
#include "weft/js/isolate.h"

namespace weft::api {

bool BodyQueue::put(std::string chunk) {
    if (ended_ || abandoned_) return true;
    bytes_ += chunk.size();
    chunks_.push_back(std::move(chunk));
    if (std::exchange(fiber_waits_, false) && fiber_.try_claim(Wake::Ready)) fiber_.resume();
    return bytes_ < kHighWaterBytes;
}

void BodyQueue::close() {
    if (ended_) return;
    ended_.emplace();
    if (std::exchange(fiber_waits_, false) && fiber_.try_claim(Wake::Ready)) fiber_.resume();
}

void BodyQueue::fail(const Error& error) {
    if (ended_) return;
    ended_.emplace(error);
    if (std::exchange(fiber_waits_, false) && fiber_.try_claim(Wake::Ready)) fiber_.resume();
    // The fiber may never run again, or may be blocked by its peer, so the script is told here.
    notify_room();
}

Result<void> BodyQueue::wait_for_chunks() {
    WEFT_ASSERT(!fiber_waits_, "one fiber writes the body");
    Waiter waiter(WaitReason::Operation, this);
    fiber_ = waiter.ref();
    fiber_waits_ = true;
    Result<void> waited = waiter.to_result(waiter.wait());
    fiber_waits_ = false;
    return waited;
}

void BodyQueue::notify_room() {
    if (OnRoom tell = std::exchange(on_room_, {})) tell();
}

// Writes what is in the queue, as far as it is sent together.
Result<void> BodyQueue::write_some(http::BodyWriter& writer) {
    std::array<std::string, kChunksTogether> taken;
    std::array<Bytes, kChunksTogether> pieces;
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < kChunksTogether && !chunks_.empty()) {
        taken[count] = std::move(chunks_.front());
        chunks_.pop_front();
        pieces[count] = as_bytes(taken[count]);
        bytes += taken[count++].size();
    }
    Result<void> written = writer.write_all(std::span(pieces).first(count));
    WEFT_DASSERT(bytes_ >= bytes, "every chunk was counted when it was put in");
    bytes_ -= bytes;
    return written;
}

Result<void> BodyQueue::produce(http::BodyWriter& writer) {
    began_ = true;
    Result<void> outcome;
    while (outcome) {
        while (!chunks_.empty() && outcome) {
            outcome = write_some(writer);
            if (bytes_ < kHighWaterBytes / 2) notify_room();
        }
        if (!outcome || (chunks_.empty() && ended_)) break;
        if (chunks_.empty()) outcome = writer.flush();
        if (outcome && chunks_.empty() && !ended_) outcome = wait_for_chunks();
    }
    done_ = outcome.has_value();
    return outcome ? *ended_ : outcome;
}

void BodyQueue::abandon() {
    abandoned_ = true;
    chunks_.clear();
    notify_room();
}

v8::Local<v8::Value> room_promise(js::Call& call, BodyQueue& queue) {
    v8::Local<v8::Promise::Resolver> resolver =
        v8::Promise::Resolver::New(call.context()).ToLocalChecked();
    js::Isolate& isolate = call.isolate();
    auto kept = std::make_shared<v8::Global<v8::Promise::Resolver>>(call.v8(), resolver);
    isolate.task_begins();
    queue.on_room([&isolate, kept] {
        isolate.post([&isolate, kept] {
            isolate.task_ends();
            isolate.turn([&](v8::Local<v8::Context> context) {
                js::seen_by_turn(
                    kept->Get(isolate.v8())->Resolve(context, v8::Undefined(isolate.v8())));
            });
            kept->Reset();
        });
    });
    return resolver->GetPromise();
}

}  // namespace weft::api
