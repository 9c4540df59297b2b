// In virtual time the load of the real machine can neither hide nor cause a late event.
#include <gtest/gtest.h>

#include <chrono>
#include <span>

#include "weft/base/env.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/io.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/sim.h"

namespace weft::sim {
namespace {

using namespace std::chrono_literals;

constexpr int kEvents = 6;

void compute_for(Nanoseconds time) {
    for (Instant end = Clock::now() + time; Clock::now() < end;) env::step();
}

// A fiber computes; its worker's reactor watches a pipe, into which a plain thread of the machine
// writes the time.
void read_beside_a_spinner(unsigned workers) {
    Runtime runtime({.workers = workers});
    Pipe pipe = make_pipe().value();
    int in_time = 0;
    Future<void> spinner = runtime.spawn([&]() -> Result<void> {
        WEFT_TRY(pipe.reader.watch_by(0, kReadable));
        auto reader = spawn([&]() -> Result<void> {
            for (int i = 0; i < kEvents; ++i) {
                std::int64_t sent = 0;
                auto space = std::as_writable_bytes(std::span(&sent, 1));
                // The pipe of some seeds is smaller than that.
                while (!space.empty()) space = space.subspan(WEFT_TRY(pipe.reader.read(space)));
                Nanoseconds took = Clock::now().time_since_epoch() - Nanoseconds(sent);
                require(took <= 10ms, "an event came late");
                ++in_time;
            }
            return {};
        });
        compute_for(28ms);
        return reader.join();
    });
    for (int i = 0; i < kEvents; ++i) {
        require(weft::sleep_for(4ms).has_value(), "no sleep");
        std::int64_t now = Clock::now().time_since_epoch().count();
        require(pipe.writer.write_all(std::as_bytes(std::span(&now, 1))).has_value(), "no write");
    }
    require(spinner.join().has_value(), "the spinner failed");
    require(in_time == kEvents, "an event was lost");
}

TEST(Fairness, FIB_6a_each_event_of_a_busy_worker_is_picked_up_within_10_ms) {
    for (unsigned workers : {2U, 3U}) {
        Options options;
        options.faults = Faults::none();
        options.chooser = Chooser::Random;
        options.steps_max = 100'000'000;
        for (options.seed = 1; options.seed <= 3; ++options.seed) {
            Report report = run(options, [&] { read_beside_a_spinner(workers); });
            EXPECT_TRUE(report.ok()) << workers << " workers: " << report.text();
        }
    }
}

}  // namespace
}  // namespace weft::sim
