// What the scenarios share: how large a run is, and who takes part in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "weft/base/env.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/waiter.h"
#include "weft/sim/sim.h"

namespace weft::sim::scenarios {

inline unsigned some_workers() { return 1 + static_cast<unsigned>(random_below(4)); }
// From `least` to `most`, both included.
inline int between(int least, int most) {
    return least + static_cast<int>(random_below(static_cast<std::uint64_t>(most - least + 1)));
}
inline std::chrono::microseconds up_to_us(std::uint64_t most) {
    return std::chrono::microseconds(random_below(most + 1));
}
inline void some_yields(int most = 3) {
    for (int i = between(0, most); i > 0; --i) yield();
}

template <class T>
bool is_error(const Result<T>& result, ErrorKind kind) {
    return !result && result.error().kind() == kind;
}

// Fibers and plain threads that work at the same time. They are joined by join(), in the end at the
// latest; a fiber that failed fails the run. Owned and joined by the thread that made it.
class Crew {
public:
    explicit Crew(Runtime& runtime) : runtime_(runtime) {
        require(runtime.start().has_value(), "the runtime did not start");
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew() { join(); }

    // One or the other, by seed.
    void add(std::function<void()> work) {
        if (random_below(3) == 0) return add_thread(std::move(work));
        add_fiber(std::move(work));
    }
    void add_fiber(std::function<void()> work) {
        fibers_.push_back(runtime_.spawn(std::move(work)));
    }
    void add_thread(std::function<void()> work) {
        work_.push_back(std::move(work));
        threads_.push_back(env::start_thread(
            [](void* function) { (*static_cast<std::function<void()>*>(function))(); },
            &work_.back(), "thread"));
    }
    void join() {
        for (Future<void>& fiber : fibers_)
            require(fiber.join().has_value(), "a fiber of the crew failed");
        for (EnvThread thread : threads_) env::join_thread(thread);
        fibers_.clear();
        threads_.clear();
    }

private:
    Runtime& runtime_;
    std::deque<std::function<void()>> work_;  // stable addresses
    std::vector<Future<void>> fibers_;
    std::vector<EnvThread> threads_;
};

// Tells others when its owner waits.
class Watched {
public:
    // By the fiber or thread that will wait.
    void here() { cell_ = &current_cell(); }
    // By the others. The first wait after here() counts.
    void await_waiting() const {
        while (!is_waiting()) {
            env::spin_pause(0);
            yield();
        }
    }

private:
    bool is_waiting() const { return cell_ && cell_->word.peek() != 0; }

    WaitCell* cell_ = nullptr;
};

}  // namespace weft::sim::scenarios
