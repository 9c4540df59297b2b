// The stackful contexts on which the model checker runs its virtual threads, on one OS thread.
// They report every switch to the sanitizers; the warning that ASan prints about swapcontext is for
// programs that do not. Used by model_execution.h alone.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define WEFT_MODEL_ASAN
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define WEFT_MODEL_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::model {

// While it lives, what is allocated is not reported as leaked.
class LeaksAllowed {
public:
    LeaksAllowed() noexcept {
#ifdef WEFT_MODEL_ASAN
        __lsan_disable();
#endif
    }
    LeaksAllowed(const LeaksAllowed&) = delete;
    LeaksAllowed& operator=(const LeaksAllowed&) = delete;
    ~LeaksAllowed() {
#ifdef WEFT_MODEL_ASAN
        __lsan_enable();
#endif
    }
};

class Context {
public:
    // The context of the caller, on its own stack.
    Context() noexcept {
#ifdef WEFT_MODEL_TSAN
        tsan_fiber_ = __tsan_get_current_fiber();
#endif
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() {
#ifdef WEFT_MODEL_TSAN
        if (stack_ != nullptr) __tsan_destroy_fiber(tsan_fiber_);
#endif
    }

    bool is_started() const noexcept { return stack_ != nullptr; }

    // Gives it a stack; the first switch to it calls entry(argument), which never returns.
    void start(void (*entry)(void*), void* argument) {
        stack_ = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
        stack_begin_ = stack_.get();
        stack_bytes_ = kStackBytes;
        entry_ = entry;
        argument_ = argument;
        ::getcontext(registers_.get());
        registers_->uc_stack.ss_sp = stack_.get();
        registers_->uc_stack.ss_size = kStackBytes;
        registers_->uc_link = nullptr;
        // makecontext passes ints only, so the pointer travels in two halves.
        auto self = reinterpret_cast<std::uintptr_t>(this);
        ::makecontext(registers_.get(), reinterpret_cast<void (*)()>(&Context::first_entry), 2,
                      static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
#ifdef WEFT_MODEL_TSAN
        tsan_fiber_ = __tsan_create_fiber(0);
#endif
    }

    // Returns when another context switches back to `from`.
    void switch_from(Context& from) noexcept {
        came_from_ = &from;
#ifdef WEFT_MODEL_ASAN
        __sanitizer_start_switch_fiber(&from.asan_fake_stack_, stack_begin_, stack_bytes_);
#endif
#ifdef WEFT_MODEL_TSAN
        __tsan_switch_to_fiber(tsan_fiber_, 0);
#endif
        ::swapcontext(from.registers_.get(), registers_.get());
        from.arrived();
    }

private:
    static constexpr std::size_t kStackBytes = 256 * 1024;

    static void first_entry(unsigned high, unsigned low) {
        auto* self = reinterpret_cast<Context*>(std::uintptr_t{high} << 32 | low);
        self->arrived();
        self->entry_(self->argument_);
    }

    void arrived() noexcept {
#ifdef WEFT_MODEL_ASAN
        // The bounds of the OS thread's stack are learnt from the first switch away from it.
        __sanitizer_finish_switch_fiber(asan_fake_stack_, &came_from_->stack_begin_,
                                        &came_from_->stack_bytes_);
#endif
    }

    // Not a member: on riscv64 it ends in an array of size zero, which no class may contain.
    std::unique_ptr<ucontext_t> registers_ = std::make_unique<ucontext_t>();
    std::unique_ptr<std::byte[]> stack_;
    const void* stack_begin_ = nullptr;
    std::size_t stack_bytes_ = 0;
    void (*entry_)(void*) = nullptr;
    void* argument_ = nullptr;
    Context* came_from_ = nullptr;
#ifdef WEFT_MODEL_ASAN
    void* asan_fake_stack_ = nullptr;
#endif
#ifdef WEFT_MODEL_TSAN
    void* tsan_fiber_ = nullptr;
#endif
};

}  // namespace weft::model
