#include "weft/sim/scenarios/memory.h"

#include <array>
#include <memory>
#include <vector>

#include "weft/fiber/io.h"
#include "weft/sim/scenarios/crew.h"
#include "weft/sim/scenarios/traffic.h"
#include "weft/sync/channel.h"
#include "weft/sync/wait_group.h"

namespace weft::sim::scenarios {
namespace {

// Starts a fiber that must not fail; as often as it takes.
template <class Function>
auto spawn_at_last(Runtime& runtime, Function function) {
    for (;;) {
        auto future = runtime.spawn(function);
        if (future) return future;
        require(is_error(future.join(), ErrorKind::OutOfMemory), "a spawn gave an odd error");
        env::step();
    }
}

}  // namespace

// A spawn fails at once, or its join says that there was no stack; the others are not disturbed.
void spawn_without_memory() {
    Runtime runtime({.workers = some_workers()});
    int ran = 0;
    int expected = 0;
    int closures = 0;
    struct Captured {
        int* count;
        explicit Captured(int* live) : count(live) { ++*count; }
        Captured(const Captured& other) : count(other.count) { ++*count; }
        Captured& operator=(const Captured&) = delete;
        ~Captured() { --*count; }
    };
    {
        std::vector<Future<int>> fibers;
        Captured captured(&closures);
        for (int i = between(1, 8); i > 0; --i) {
            fibers.push_back(runtime.spawn([&ran, captured]() -> int {
                some_yields();
                ++ran;
                Future<void> child = spawn([captured] { some_yields(); });
                Result<void> joined = child.join();
                require(joined || is_error(joined, ErrorKind::OutOfMemory), "an odd error");
                return 1;
            }));
        }
        for (auto& fiber : fibers) {
            Result<int> joined = fiber.join();
            require(joined || is_error(joined, ErrorKind::OutOfMemory), "an odd error");
            expected += joined.value_or(0);
        }
        require(ran == expected, "a fiber ran and failed, or the other way round");
    }
    runtime.run();
    require(closures == 0, "a closure was lost, or destroyed twice");
    require(runtime.live_fibers() == 0, "a fiber that never ran is counted as live");
}

// A send that finds no memory leaves the item with its sender.
void channel_without_memory() {
    Runtime runtime({.workers = some_workers()});
    constexpr int kItems = 20;
    Ledger ledger(1, kItems);
    std::unique_ptr<Channel<Item>> channel = some_channel();
    auto sender = spawn_at_last(runtime, [&] {
        for (int number = 0; number < kItems; ++number) {
            Item item(0, number);
            Result<void> sent = channel->send(std::move(item));
            if (sent) {
                ledger.sent(0, number, item);
                continue;
            }
            require(is_error(sent, ErrorKind::OutOfMemory), "a send gave an odd error");
            ledger.kept(0, number, item);
        }
        channel->close();
    });
    Order order(1);
    auto take = [&](const Item& item) {
        ledger.received(item);
        order.next(item);
    };
    // A fiber that got no stack never closes.
    while (!sender.is_done()) {
        Result<Item> item = channel->receive_for(up_to_us(20));
        if (item) take(*item);
        if (is_error(item, ErrorKind::Closed)) break;
    }
    Result<void> joined = sender.join();
    require(joined || is_error(joined, ErrorKind::OutOfMemory), "an odd error");
    channel->close();
    for (Item item : *channel) take(item);
    ledger.check();
}

// A wait on a descriptor needs a registration.
void pipe_without_memory() {
    Runtime runtime({.workers = some_workers()});
    Result<Pipe> pipe = make_pipe();
    require(pipe.has_value(), "no pipe could be made");
    bool read = false;
    auto reader = runtime.spawn([&]() -> Result<void> {
        std::array<std::byte, 1> buffer;
        for (;;) {
            Result<std::size_t> count = pipe->reader.read(buffer);
            if (is_error(count, ErrorKind::OutOfMemory)) {
                yield();
                continue;
            }
            require(count.has_value() && *count == 1, "a read gave an odd error");
            read = true;
            return {};
        }
    });
    bool started = static_cast<bool>(reader);
    Result<void> written = ErrorKind::OutOfMemory;
    while (is_error(written, ErrorKind::OutOfMemory))
        written = pipe->writer.write_all(as_bytes("w"));
    require(written.has_value(), "a write gave an odd error");
    Result<void> joined = reader.join();
    require(joined || is_error(joined, ErrorKind::OutOfMemory), "an odd error");
    require(read == joined.has_value() && (started || !read), "it ran and failed, or the reverse");
}

}  // namespace weft::sim::scenarios
