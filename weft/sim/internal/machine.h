// The simulated machine: an Env whose threads are all played by one real thread.
//
// Each simulated thread is a context on a stack of its own. Exactly one runs; at a step it may
// switch directly to another. When none can run, the clock jumps to the first deadline; when there
// is none either, the run has deadlocked. Owning thread only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/env.h"
#include "weft/fiber/switch/context.h"
#include "weft/fiber/switch/stack.h"
#include "weft/fiber/switch/thread_state.h"
#include "weft/sim/internal/chooser.h"
#include "weft/sim/internal/random.h"
#include "weft/sim/internal/schedule.h"
#include "weft/sim/sim.h"

namespace weft {
struct WaitCell;
}

namespace weft::sim {

class DescriptorTable;
class Disk;
class Story;

class Machine final : public Env {
public:
    explicit Machine(const Options& options);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    Report run(const std::function<void()>& scenario);
    [[noreturn]] void fail(std::string_view why) override;
    bool is_hidden() const { return hidden_ != 0; }  // see hidden_
    void await_interrupt();

    std::int64_t now_ns() override;
    std::int64_t wall_ns() override { return now_ns_; }
    std::uint64_t random(RandomStream stream) override;
    void step() override;
    bool operation(const char* name, const void* object, MayWait may_wait) override;
    void spin() override;
    void trace(const char* event, std::uint64_t a, std::uint64_t b) override;
    void log(std::string_view line) override;
    bool fails(Allocation kind) override;
    void hide() override { ++hidden_; }
    void show() override { --hidden_; }
    EnvThreadStorage& thread_storage() override { return threads_[current_].room; }
    fiber_blocks::Depot& block_depot() override { return *block_depot_; }
    EnvThread start_thread(void (*entry)(void*), void* argument, const char* name) override;
    void join_thread(EnvThread thread) override;
    FutexWait futex_wait(std::uint32_t* word, std::uint32_t expected,
                         std::int64_t deadline_ns) override;
    void futex_wake(std::uint32_t* word, unsigned count) override;
    Reactor* make_reactor() override;
    long read(int fd, void* buffer, std::size_t size) override;
    long write(int fd, const void* buffer, std::size_t size) override;
    int pipe(int (&ends)[2]) override;
    int close(int fd) override;
    EnvSockets& sockets() override;
    EnvFiles& files() override;
    void sometimes(bool reached, const char* name) override;
    bool buggify(std::uint64_t site) override;
    bool wants_values() const override { return story_ != nullptr; }
    void keep_value(std::string_view text) override;

    // For the simulated reactors: blocks the running thread until wake(), or the deadline.
    void block(const void* on, std::int64_t deadline_ns);
    unsigned wake(const void* on, unsigned count = UINT32_MAX);  // returns how many it woke
    // Whether this fault, which is possible now, is injected: with probability 1 / `one_in`, if the
    // seed has switched it on.
    bool injects(FaultKind kind, std::uint64_t one_in);
    // The running thread's stream for the details of a fault: how much, and when.
    Random& fault_random() { return threads_[current_].fault_random; }

    void calm();  // from now on no faults are injected and no thread is starved

private:
    struct Thread {
        SavedContext context;
        Stack* stack = nullptr;
        void (*entry)(void*) = nullptr;
        void* argument = nullptr;
        std::string name;
        bool ended = false;
        const void* blocked_on = nullptr;  // null: it can run
        std::int64_t deadline_ns = kNeverNs;
        bool timed_out = false;
        const WaitCell* cell = nullptr;          // of a plain thread: what it waits for
        std::vector<std::uintptr_t> blocked_at;  // its frames; only while a story is recorded
        EnvThreadStorage room;
        ThreadState state;  // saved while it does not run
        // Each thread has its own streams and counts its own points, so that a choice which is left
        // out changes little in the other threads.
        Random scheduler_random{0};
        Random fault_random{0};
        Random workload_random{0};
        std::uint64_t points = 0;
        std::array<std::uint64_t, kFaultKinds> chances{};
    };

    static void thread_main(void* thread);
    Random stream(std::uint64_t which, std::uint64_t thread) const;
    void count_step();
    void hand_over(int stuck);
    void hand_over_to(unsigned next);
    unsigned plain_choice(int stuck) const;
    unsigned choose(unsigned plain, int stuck);
    bool is_interrupt_due();
    void record(Choice::Act act, unsigned to = 0);
    bool gives_up_turn();
    void tell_story_of_wait();
    void change_to(unsigned index, SavedContext::Leave leave = SavedContext::Leave::ToReturn);
    bool wake_the_earliest();
    void wake_those_due();
    void interrupt();
    [[noreturn]] void leave_for_ever();
    void note(const char* event, std::uint64_t a, std::uint64_t b);
    void keep(const char* event, std::uint64_t a, std::uint64_t b);
    std::string describe_threads();
    std::string describe_wait(const Thread& thread) const;

    const Options options_;
    const std::optional<ScheduleIndex> replay_;
    Schedule recorded_;
    Strategy strategy_;
    Faults faults_;
    FaultCounts injected_;
    std::uint64_t interrupt_at_;
    bool interrupted_ = false;  // the step interrupt_at_ was reached
    struct Sometimes {
        const char* name;
        bool reached;
    };
    std::vector<Sometimes> sometimes_;
    std::unique_ptr<DescriptorTable> descriptors_;
    std::unique_ptr<Disk> disk_;
    std::unique_ptr<Story> story_;  // null: not recorded
    fiber_blocks::Depot* const block_depot_;

    std::deque<Thread> threads_;  // stable addresses; index = EnvThread handle
    std::vector<unsigned> runnable_;
    unsigned current_ = 0;
    bool changed_ = false;  // a thread became runnable since the last choice
    SavedContext driver_;   // of the real thread, in run()

    std::int64_t now_ns_ = 1'000'000'000;
    std::int64_t earliest_ns_ = kNeverNs;  // no deadline of a blocked thread is earlier
    std::uint64_t steps_ = 0;
    std::uint64_t spins_ = 0;
    std::uint64_t allocations_ = 0;
    std::uint64_t hash_ = 0xcbf29ce484222325U;
    std::string failure_;
    std::vector<std::uintptr_t> failed_at_;
    std::uint64_t story_wait_ = 0;  // the wait that story_ has last
    // Above zero: the code that runs is not part of the simulation; no steps, no faults.
    unsigned hidden_ = 0;
    struct Event {
        std::uint64_t step;
        std::uint64_t a, b;
        const char* name;
        unsigned thread;
    };
    std::vector<Event> events_;  // a ring unless the whole trace is kept
    std::size_t events_next_ = 0;
    std::deque<std::string> log_lines_;  // Event::name points into them
};

}  // namespace weft::sim
