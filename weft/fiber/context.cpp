#include "weft/fiber/context.h"

#include <cstdint>
#include <cstring>
#include <new>

#include "weft/base/assert.h"

#ifdef WEFT_ASAN
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WEFT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(__x86_64__) && !defined(__aarch64__) && !(defined(__riscv) && __riscv_xlen == 64)
#define WEFT_UCONTEXT 1
#endif

#ifdef WEFT_UCONTEXT
#include <ucontext.h>
#endif

// A shadow stack would have to be switched as well; nothing we run on turns it on yet.
#if defined(__SHSTK__) && defined(WEFT_REQUIRE_SHADOW_STACK)
#error "weft_context_switch does not switch shadow stacks"
#endif

namespace weft {

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

void SavedContext::adopt_thread() {
#ifdef WEFT_ASAN
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void* address = nullptr;
    pthread_attr_getstack(&attributes, &address, &stack_bytes_);
    stack_bottom_ = address;
    pthread_attr_destroy(&attributes);
#endif
#ifdef WEFT_TSAN
    sanitizer_fiber_ = __tsan_get_current_fiber();
#endif
}

void SavedContext::prepare(StackBounds stack, void (*entry)(void*), void* argument,
                           [[maybe_unused]] void* sanitizer_fiber) {
    stack_pointer_ = first_frame(stack, entry, argument);
#ifdef WEFT_ASAN
    fake_stack_ = nullptr;
    stack_bottom_ = stack.bottom;
    stack_bytes_ = static_cast<std::size_t>(stack.top - stack.bottom);
#endif
#ifdef WEFT_TSAN
    sanitizer_fiber_ = sanitizer_fiber;
#endif
}

#if defined(WEFT_ASAN) || defined(WEFT_TSAN)

// Not instrumented: a function exit noted on the shadow stack that was switched in would unbalance
// it.
__attribute__((no_sanitize("thread"), noinline)) void SavedContext::change(
    SavedContext& from, SavedContext& to, [[maybe_unused]] Leave leave) {
#ifdef WEFT_ASAN
    // A null place to save tells the sanitizer to destroy the fake stack of a context that ends.
    __sanitizer_start_switch_fiber(leave == Leave::ForEver ? nullptr : &from.fake_stack_,
                                   to.stack_bottom_, to.stack_bytes_);
#endif
#ifdef WEFT_TSAN
    // Not always what prepare() was given: a simulated thread may be left while it runs a fiber.
    from.sanitizer_fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.sanitizer_fiber_, 0);
#endif
    weft_context_switch(&from.stack_pointer_, to.stack_pointer_);
#ifdef WEFT_ASAN
    __sanitizer_finish_switch_fiber(from.fake_stack_, nullptr, nullptr);
#endif
}

void SavedContext::entered() {
#ifdef WEFT_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

#endif

void* SavedContext::new_sanitizer_fiber() {
#ifdef WEFT_TSAN
    return __tsan_create_fiber(0);
#else
    return nullptr;
#endif
}

void SavedContext::delete_sanitizer_fiber([[maybe_unused]] void* fiber) {
#ifdef WEFT_TSAN
    __tsan_destroy_fiber(fiber);
#endif
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
