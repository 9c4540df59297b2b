// Tasks: asynchronous work in C++ that a script awaits.
//
//     void read_file(js::Call& call) {
//         js::start_task(call, "read file", [path = call.text(0)]() -> Result<js::Settled> {
//             std::string text = WEFT_TRY(read_whole(path));       // on a fiber: may wait
//             return js::settled(std::move(text));
//         });
//     }
//
// The native function returns a promise. Its work runs on a fiber below the token of the request
// that the running JavaScript belongs to, or of the application; so it is cancelled when that ends,
// and honours its deadline. When the work has returned, the promise is settled in a turn of its
// own, exactly once. If the request is over by then, the outcome is destroyed and counted as late.
//
// The functions: owning isolate only. The work: a fiber of the owner's worker.
#pragma once

#include <v8.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/fiber/cancel.h"
#include "weft/js/binding.h"

namespace weft::js {

class Isolate;
class OwnedBytes;

// Makes the value of a promise, in the turn that settles it. It may throw a JavaScript exception:
// an empty handle then rejects the promise.
using Settled = std::move_only_function<v8::MaybeLocal<v8::Value>(Isolate& isolate)>;

Settled settled();                                // undefined
Settled settled(std::string utf8);                // a string
Settled settled(std::vector<std::byte>&& bytes);  // an ArrayBuffer
Settled settled(OwnedBytes bytes);                // the same
Settled settled(double number);

using Work = std::move_only_function<Result<Settled>()>;
// Sets the call's result to the promise. An error of the work rejects it with an Error whose `code`
// is the error's kind.
void start_task(Call& call, std::string_view name, Work work);
// The same without a call. With a `token` the work runs below that one, and belongs to no request;
// an empty one refuses the task as late.
v8::Local<v8::Promise> start_task(Isolate& isolate, std::string_view name, Work work);
v8::Local<v8::Promise> start_task(Isolate& isolate, std::string_view name, Work work,
                                  std::optional<CancelToken> token);

// The number of the task that was started last, for cancel_task(); 0 if it was refused.
double last_task(Isolate& isolate);
// Cancels a task; does nothing when it has ended.
void cancel_task(Isolate& isolate, double task);

}  // namespace weft::js
