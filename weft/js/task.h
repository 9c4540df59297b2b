// Tasks: what a script awaits.
//
//     void read_file(js::Call& call) {
//         js::start_task(call, "read file", [path = call.text(0)]() -> Result<js::Settled> {
//             std::string text = WEFT_TRY(read_whole(path));       // on a fiber: may wait
//             return js::settled(std::move(text));
//         });
//     }
//
// The native function gives a promise. Its work runs on a fiber in the scope of the request whose
// turn it is, or of the application; so it ends when that ends, and honours its deadline. When the
// work has returned, the promise is settled in a turn of its own, exactly once; when nobody is left
// to see it, the outcome is destroyed and counted as late.
//
// Owning isolate only; the work: a fiber of the owner's worker.
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
// Gives call's promise. An error of the work rejects it with an Error whose `code` is its kind.
void start_task(Call& call, std::string_view name, Work work);
// The same for a promise that does not belong to a call; below a token of one's own choice.
v8::Local<v8::Promise> start_task(Isolate& isolate, std::string_view name, Work work);
v8::Local<v8::Promise> start_task(Isolate& isolate, std::string_view name, Work work,
                                  std::optional<CancelToken> token);

// The number of the task that was started last, by which it can be given up; see cancel_task(). 0
// if it was refused.
double last_task(Isolate& isolate);
// Ends the waits of a task's fiber; nothing when it has ended.
void cancel_task(Isolate& isolate, double task);

}  // namespace weft::js
