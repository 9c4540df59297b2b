#include "weft/fiber/switch/context.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "weft/base/assert.h"

#if !defined(__x86_64__) && !defined(__aarch64__) && !(defined(__riscv) && __riscv_xlen == 64)
#define WEFT_UCONTEXT 1
#endif

#ifdef WEFT_UCONTEXT
#include <ucontext.h>
#endif

// A shadow stack would have to be switched as well; no supported platform turns it on yet.
#if defined(__SHSTK__) && defined(WEFT_REQUIRE_SHADOW_STACK)
#error "weft_context_switch does not switch shadow stacks"
#endif

extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom,
                                                  std::size_t bytes);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom_left,
                                                   std::size_t* bytes_left);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}

namespace weft {

// What a context that was left tells the sanitizers about its stack. Its bounds may differ from
// those it was prepared with: a simulated thread may be left while it runs a fiber, and is then on
// the stack of that fiber.
struct SavedContext::Seen {
    void* stack_pointer = nullptr;
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    void* fiber = nullptr;  // of the thread sanitizer
};

namespace {

#ifdef WEFT_UCONTEXT

// The portable fallback: the saved state is a ucontext_t on the stack that is left.
struct FirstCall {
    void (*entry)(void*);
    void* argument;
};

void start_ucontext(unsigned high, unsigned low) {
    auto* call = reinterpret_cast<FirstCall*>((std::uintptr_t{high} << 32) | low);
    call->entry(call->argument);
    WEFT_UNREACHABLE();
}

void* first_frame(StackBounds stack, void (*entry)(void*), void* argument) {
    std::byte* top = stack.top - sizeof(FirstCall);
    auto* call = new (top) FirstCall{entry, argument};
    auto address = reinterpret_cast<std::uintptr_t>(top) - sizeof(ucontext_t);
    auto* context = reinterpret_cast<ucontext_t*>(address & ~std::uintptr_t{63});
    getcontext(context);
    context->uc_stack.ss_sp = stack.bottom;
    context->uc_stack.ss_size =
        static_cast<std::size_t>(reinterpret_cast<std::byte*>(context) - stack.bottom);
    context->uc_link = nullptr;
    auto pointer = reinterpret_cast<std::uintptr_t>(call);
    makecontext(context, reinterpret_cast<void (*)()>(start_ucontext), 2,
                static_cast<unsigned>(pointer >> 32), static_cast<unsigned>(pointer));
    return context;
}

#else

void* first_frame(StackBounds stack, void (*entry)(void*), void* argument) {
    auto top = reinterpret_cast<std::uintptr_t>(stack.top) & ~std::uintptr_t{15};
    auto* start = reinterpret_cast<void*>(weft_context_start);
#if defined(__x86_64__)
    // Popped by the start stub, which then sees `top` itself: aligned for its call.
    auto* words = reinterpret_cast<void**>(top) - 2;
    words[0] = reinterpret_cast<void*>(entry);
    words[1] = argument;
    auto* frame = reinterpret_cast<SavedRegisters*>(words) - 1;
    *frame = {.rip = start, .rbp = nullptr};
    return frame;
#else
    auto* frame = reinterpret_cast<SavedRegisters*>(top - sizeof(SavedRegisters));
    std::memset(static_cast<void*>(frame), 0, sizeof *frame);
#if defined(__aarch64__)
    frame->x19 = argument;
    frame->x20 = reinterpret_cast<void*>(entry);
    frame->x30 = start;
    static_assert(sizeof(SavedRegisters) == 160);
#else
    frame->s[1] = argument;
    frame->s[2] = reinterpret_cast<void*>(entry);
    frame->ra = start;
    static_assert(sizeof(SavedRegisters) == 208);
#endif
    return frame;
#endif
}

#endif

}  // namespace

// The Seen of the context that this thread left last. Only the address sanitizer knows the bounds
// of its stack, and tells them after the switch.
constinit static thread_local void* left_last = nullptr;  // tidy: allow thread_local: see access

// The address of a thread-local must not be kept over a switch.
[[gnu::noinline]] static void* exchange_left(void* now) {
    asm volatile("" ::: "memory");
    return std::exchange(left_last, now);
}

void SavedContext::prepare(StackBounds stack, void (*entry)(void*), void* argument,
                           void* sanitizer_fiber) {
    WEFT_DASSERT(stack.bottom < stack.top, "a context needs a stack");
    if (!sanitizer::knows_stacks) [[likely]] {
        stack_pointer_ = first_frame(stack, entry, argument);
        return;
    }
    auto bytes = static_cast<std::size_t>(stack.top - stack.bottom);
    auto top = reinterpret_cast<std::uintptr_t>(stack.top) - sizeof(Seen);
    auto* seen = new (reinterpret_cast<void*>(top & ~(alignof(Seen) - 1))) Seen;
    seen->bottom = stack.bottom;
    seen->bytes = bytes;
    seen->fiber = sanitizer_fiber;
    StackBounds rest{stack.bottom, reinterpret_cast<std::byte*>(seen)};
    seen->stack_pointer = first_frame(rest, entry, argument);
    stack_pointer_ = seen;
}

// Not instrumented: the sanitizer would record the exit of this function on the shadow stack of the
// other context, and so unbalance it.
[[gnu::no_sanitize_thread, gnu::no_sanitize_address, gnu::noinline]] void SavedContext::change_seen(
    SavedContext& from, SavedContext& to, Leave leave) {
    const auto& next = *static_cast<Seen*>(to.stack_pointer_);
    Seen here;
    void* fake_stack = nullptr;
    from.stack_pointer_ = &here;
    exchange_left(&here);
    // A null pointer makes the sanitizer destroy the fake stack of a context that ends.
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(leave == Leave::ForEver ? nullptr : &fake_stack, next.bottom,
                                       next.bytes);
    if (__tsan_switch_to_fiber) {
        here.fiber = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(next.fiber, 0);
    }
    weft_context_switch(&here.stack_pointer, next.stack_pointer);
    arrive(fake_stack);
}

[[gnu::no_sanitize_thread, gnu::no_sanitize_address, gnu::noinline]] void SavedContext::arrive(
    void* fake_stack) {
    auto& left = *static_cast<Seen*>(exchange_left(nullptr));
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(fake_stack, &left.bottom, &left.bytes);
}

void* SavedContext::seen_stack_pointer() const {
    return stack_pointer_ ? static_cast<Seen*>(stack_pointer_)->stack_pointer : nullptr;
}

void* SavedContext::new_sanitizer_fiber() {
    return __tsan_create_fiber ? __tsan_create_fiber(0) : nullptr;
}

void SavedContext::delete_sanitizer_fiber(void* fiber) {
    if (__tsan_destroy_fiber) __tsan_destroy_fiber(fiber);
}

}  // namespace weft

#ifdef WEFT_UCONTEXT
extern "C" void weft_context_switch(void** save, void* to) {
    ucontext_t here;
    *save = &here;
    swapcontext(&here, static_cast<ucontext_t*>(to));
}
extern "C" void weft_context_start() { WEFT_UNREACHABLE(); }
#endif
