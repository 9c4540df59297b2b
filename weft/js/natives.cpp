#include "weft/js/natives.h"

#include "weft/js/describe.h"
#include "weft/js/isolate.h"
#include "weft/js/task.h"

namespace weft::js {
namespace {

void timer_arm(Call& call) { call.isolate().arm_timer(call.number(0)); }
void timers_keep_alive(Call& call) { call.isolate().set_timers_keep_alive(call.flag(0)); }

void monotonic_now(Call& call) { call.give(call.isolate().now_ms()); }

void time_origin(Call& call) { call.give(call.isolate().time_origin_ms()); }

void end_callback(Call& call) { call.give(call.isolate().end_callback()); }

void late_outcome(Call& call) { ++call.isolate().counters().late; }

void report_uncaught(Call& call) {
    call.isolate().report_uncaught(call[0], v8::Exception::CreateMessage(call.v8(), call[0]));
}

void heap_limit(Call& call) {
    call.give(static_cast<double>(call.isolate().options().limits.heap_bytes));
}

void error_text(Call& call) {
    v8::Local<v8::Message> message = v8::Exception::CreateMessage(call.v8(), call[0]);
    call.give(std::string_view(describe_error(call.v8(), call.context(), call[0], message)));
}

void current_request(Call& call) { call.give(call.isolate().current_request()); }

void pending_until_settled(Call& call) {
    if (call[0]->IsPromise()) call.isolate().pending_until_settled(call[0].As<v8::Promise>());
}

void task_last(Call& call) { call.give(last_task(call.isolate())); }

void task_cancel(Call& call) { cancel_task(call.isolate(), call.number(0)); }

constexpr Binding kBindings[] = {
    bind<timer_arm>("timerArm", "(deadlineMs: number): void"),
    bind<timers_keep_alive>("timersHold", "(hold: boolean): void"),
    bind<monotonic_now>("monotonicNow", "(): number"),
    bind<time_origin>("timeOrigin", "(): number"),
    bind<end_callback>("endCallback", "(): boolean"),
    bind<late_outcome>("lateOutcome", "(): void"),
    bind<report_uncaught>("reportUncaught", "(error: unknown): void"),
    bind<error_text>("errorText", "(error: unknown): string"),
    bind<heap_limit>("heapLimit", "(): number"),
    bind<current_request>("currentRequest", "(): number"),
    bind<pending_until_settled>("pendingUntilSettled", "(promise: Promise<unknown>): void"),
    bind<task_last>("taskLast", "(): number"),
    bind<task_cancel>("taskCancel", "(task: number): void"),
};

}  // namespace

std::span<const Binding> engine_bindings() { return kBindings; }

}  // namespace weft::js
