// The switch between two stacks, alone: no scheduler, no pool. Built a second time with the
// portable fallback in place of the assembly (see CMakeLists.txt).
#include "weft/fiber/switch/context.h"

#include <gtest/gtest.h>
#include <unwind.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(WEFT_UCONTEXT)
#define SWITCH_TEST(name) TEST(SavedContext, FIB_7d_##name)
#elif defined(__x86_64__)
#define SWITCH_TEST(name) TEST(SavedContext, FIB_7a_##name)
#elif defined(__aarch64__)
#define SWITCH_TEST(name) TEST(SavedContext, FIB_7b_##name)
#elif defined(__riscv)
#define SWITCH_TEST(name) TEST(SavedContext, FIB_7c_##name)
#else
#define SWITCH_TEST(name) TEST(SavedContext, FIB_7d_##name)
#endif

namespace weft {
namespace {

// A function on a stack of its own, which goes on where it left off.
class Coroutine {
public:
    explicit Coroutine(std::function<void(Coroutine&)> body) : body_(std::move(body)) {
        StackBounds bounds{memory_.get(), memory_.get() + kStackBytes};
        context_.prepare(bounds, enter, this, sanitizer_fiber_);
    }
    ~Coroutine() { SavedContext::delete_sanitizer_fiber(sanitizer_fiber_); }
    Coroutine(const Coroutine&) = delete;
    Coroutine& operator=(const Coroutine&) = delete;

    // Runs it until it leaves or ends. Any thread, one at a time.
    [[gnu::noinline]] void go_on() {
        SavedContext here;
        caller_ = &here;
        SavedContext::change(here, context_);
        keep_frame();
    }
    // In the body: back to the caller of go_on().
    [[gnu::noinline]] void leave() {
        SavedContext::change(context_, *caller_);
        keep_frame();
    }
    bool has_ended() const { return has_ended_; }
    StackBounds bounds() const { return {memory_.get(), memory_.get() + kStackBytes}; }

private:
    static constexpr std::size_t kStackBytes = 256 * 1024;

    static void enter(void* argument) {
        SavedContext::entered();
        auto& self = *static_cast<Coroutine*>(argument);
        self.body_(self);
        self.has_ended_ = true;
        SavedContext::change(self.context_, *self.caller_, SavedContext::Leave::ForEver);
        std::abort();
    }
    // A function that switches must not be a leaf: see context_switch.h.
    [[gnu::noinline]] static void keep_frame() { asm volatile("" ::: "memory"); }

    std::unique_ptr<std::byte[]> memory_ = std::make_unique<std::byte[]>(kStackBytes);
    void* sanitizer_fiber_ = SavedContext::new_sanitizer_fiber();
    SavedContext context_;
    SavedContext* caller_ = nullptr;
    std::function<void(Coroutine&)> body_;
    bool has_ended_ = false;
};

SWITCH_TEST(a_context_goes_on_where_it_was_left) {
    std::string trace;
    Coroutine coroutine([&](Coroutine& self) {
        for (char step = 'a'; step <= 'c'; ++step) {
            trace += step;
            self.leave();
        }
    });
    for (int i = 1; i <= 3; ++i) {
        coroutine.go_on();
        trace += std::to_string(i);
    }
    EXPECT_EQ(trace, "a1b2c3");
    EXPECT_FALSE(coroutine.has_ended());
    coroutine.go_on();
    EXPECT_TRUE(coroutine.has_ended());
}

// More values than there are registers, all alive over the switch.
template <class Number>
[[gnu::noinline]] Number sum_over_switches(Coroutine* self, Coroutine* other, Number seed) {
    std::array<Number, 24> live;
    for (std::size_t i = 0; i < live.size(); ++i) {
        live[i] = seed + static_cast<Number>(i);
        asm volatile("" : "+m"(live[i]));  // not known at compile time
    }
    Number a = live[0], b = live[1], c = live[2], d = live[3], e = live[4], f = live[5];
    Number g = live[6], h = live[7], i = live[8], j = live[9], k = live[10], l = live[11];
    for (int round = 0; round < 3; ++round) {
        self ? self->leave() : other->go_on();
        a += b, b += c, c += d, d += e, e += f, f += g;
        g += h, h += i, i += j, j += k, k += l, l += a;
    }
    return a + b + c + d + e + f + g + h + i + j + k + l;
}

template <class Number>
void check_registers() {
    auto alone = [](Number seed) {
        Coroutine nobody([](Coroutine& self) {
            for (;;) self.leave();
        });
        return sum_over_switches<Number>(nullptr, &nobody, seed);
    };
    Number here = alone(3);
    Number there = alone(1'000);
    Number got_there = 0;
    Coroutine other(
        [&](Coroutine& self) { got_there = sum_over_switches<Number>(&self, nullptr, 1'000); });
    EXPECT_EQ(sum_over_switches<Number>(nullptr, &other, 3), here);
    other.go_on();
    EXPECT_TRUE(other.has_ended());
    EXPECT_EQ(got_there, there);
}

SWITCH_TEST(integer_registers_survive) { check_registers<std::uint64_t>(); }
SWITCH_TEST(floating_point_registers_survive) { check_registers<double>(); }

SWITCH_TEST(the_stack_is_aligned_for_every_call) {
    bool aligned = false;
    std::string text;
    double rounded = 0;
    Coroutine coroutine([&](Coroutine& self) {
        alignas(16) std::array<double, 4> vector{1.5, 2.5, 3.5, 4.5};
        asm volatile("" : "+m"(vector));
        aligned = reinterpret_cast<std::uintptr_t>(&vector) % 16 == 0;
        self.leave();
        // Libraries save vector registers with aligned stores.
        char buffer[64];
        std::snprintf(buffer, sizeof buffer, "%.2f %.2f", vector[0], std::sqrt(vector[3]));
        text = buffer;
        rounded = std::accumulate(vector.begin(), vector.end(), 0.0);
    });
    coroutine.go_on();
    coroutine.go_on();
    EXPECT_TRUE(aligned);
    EXPECT_EQ(text, "1.50 2.12");
    EXPECT_EQ(rounded, 12.0);
}

SWITCH_TEST(frames_lie_within_the_bounds) {
    const void* frame = nullptr;
    Coroutine coroutine([&](Coroutine&) { frame = __builtin_frame_address(0); });
    coroutine.go_on();
    EXPECT_GE(frame, coroutine.bounds().bottom);
    EXPECT_LT(frame, coroutine.bounds().top);
}

[[gnu::noinline]] int throw_deep(int levels) {
    if (levels == 0) throw std::runtime_error("from below");
    return throw_deep(levels - 1) + 1;
}

SWITCH_TEST(exceptions_are_thrown_and_caught_on_the_stack) {
    std::string caught;
    Coroutine coroutine([&](Coroutine& self) {
        for (int i = 0; i < 3; ++i) {
            try {
                throw_deep(i * 10);
            } catch (const std::runtime_error& error) {
                caught += error.what();
            }
            self.leave();
        }
    });
    for (int i = 0; i < 4; ++i) coroutine.go_on();
    EXPECT_TRUE(coroutine.has_ended());
    EXPECT_EQ(caught, "from belowfrom belowfrom below");
}

_Unwind_Reason_Code count_frame(_Unwind_Context*, void* count) {
    return ++*static_cast<int*>(count) < 1'000 ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

SWITCH_TEST(a_walk_up_the_frames_ends_at_the_start) {
    int frames = 0;
    Coroutine coroutine([&](Coroutine&) { _Unwind_Backtrace(count_frame, &frames); });
    coroutine.go_on();
    EXPECT_GE(frames, 1);
    EXPECT_LT(frames, 100);
}

SWITCH_TEST(a_context_goes_on_in_another_thread) {
    std::vector<int> steps;
    Coroutine coroutine([&](Coroutine& self) {
        for (int i = 0; i < 4; ++i) {
            steps.push_back(i);
            self.leave();
        }
    });
    for (int i = 0; i < 4; ++i) std::thread([&] { coroutine.go_on(); }).join();
    coroutine.go_on();
    EXPECT_TRUE(coroutine.has_ended());
    EXPECT_EQ(steps, (std::vector<int>{0, 1, 2, 3}));
}

SWITCH_TEST(many_contexts_take_turns) {
    constexpr std::size_t count = 50;
    std::vector<std::unique_ptr<Coroutine>> coroutines;
    std::vector<int> sums(count);
    for (std::size_t i = 0; i < count; ++i) {
        coroutines.push_back(std::make_unique<Coroutine>([&sums, i](Coroutine& self) {
            int mine = 0;
            for (int turn = 0; turn < 200; ++turn) {
                mine += turn;
                self.leave();
            }
            sums[i] = mine;
        }));
    }
    for (int turn = 0; turn <= 200; ++turn) {
        for (auto& coroutine : coroutines) coroutine->go_on();
    }
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_TRUE(coroutines[i]->has_ended());
        EXPECT_EQ(sums[i], 19'900);
    }
}

// One context may start and enter another: a fiber goes straight to its successor.
SWITCH_TEST(a_context_may_go_on_in_another_context) {
    std::string trace;
    Coroutine inner([&](Coroutine& self) {
        trace += 'i';
        self.leave();
        trace += 'I';
    });
    Coroutine outer([&](Coroutine& self) {
        trace += 'o';
        inner.go_on();
        self.leave();
        inner.go_on();
        trace += 'O';
    });
    outer.go_on();
    trace += '|';
    outer.go_on();
    EXPECT_TRUE(inner.has_ended());
    EXPECT_TRUE(outer.has_ended());
    EXPECT_EQ(trace, "oi|IO");
}

}  // namespace
}  // namespace weft
