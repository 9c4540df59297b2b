// docs/guide/cancelled-calls.md, one test a row.
// tidy: allow-file sleep: a sleep is one of the calls, and the longest wait that a job can have
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <regex>
#include <semaphore>
#include <set>
#include <string>

#include "weft/async/group.h"
#include "weft/async/pool.h"
#include "weft/async/scope.h"
#include "weft/async/timeout.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/os/file.h"
#include "weft/fiber/os/process.h"
#include "weft/fiber/runtime.h"
#include "weft/http/client/client.h"
#include "weft/http/forms/multipart_reader.h"
#include "weft/http/middleware/body_file.h"
#include "weft/http/websocket/connect.h"
#include "weft/http/websocket/websocket.h"
#include "weft/net/buffered_reader.h"
#include "weft/net/socket.h"
#include "weft/sync/barrier.h"
#include "weft/sync/channel.h"
#include "weft/sync/condition.h"
#include "weft/sync/event.h"
#include "weft/sync/gate.h"
#include "weft/sync/mutex.h"
#include "weft/sync/once.h"
#include "weft/sync/select.h"
#include "weft/sync/semaphore.h"

namespace weft {
namespace {

using async::Context;
using std::chrono::seconds;

// On one worker: the other fibers run until each of them waits or has ended.
void settle() {
    for (int i = 0; i < 32; ++i) yield();
}

void on_one_worker(const std::function<Result<void>()>& body, unsigned blocking_threads = 4) {
    Result<void> ended = run(body, {.workers = 1, .blocking_threads = blocking_threads});
    EXPECT_TRUE(ended) << ended.error().message();
}

// Calls the function on a fiber, cancels it while it waits, and gives what it returned.
template <class Call>
auto cancelled(Call call) {
    CancelSource source;
    auto fiber = spawn([&] {
        CancelScope scope(source.token());
        return call();
    });
    settle();
    EXPECT_FALSE(fiber.is_done()) << "it did not wait";
    source.cancel();
    return fiber.join();
}

template <class T>
ErrorKind kind_of(const Result<T>& result) {
    return result ? ErrorKind::Other : result.error().kind();
}

TEST(CancelledCall, sleep) {
    on_one_worker([]() -> Result<void> {
        Instant begun = Clock::now();
        EXPECT_EQ(kind_of(cancelled([] { return sleep_for(seconds(60)); })), ErrorKind::Cancelled);
        EXPECT_LT(Clock::now() - begun, seconds(30));
        return {};
    });
}

TEST(CancelledCall, channel_send) {
    on_one_worker([]() -> Result<void> {
        Channel<std::unique_ptr<int>> channel(0);
        auto item = std::make_unique<int>(7);
        Result<void> sent = cancelled([&] { return channel.send(std::move(item)); });
        EXPECT_EQ(kind_of(sent), ErrorKind::Cancelled);
        EXPECT_TRUE(item && *item == 7);
        EXPECT_EQ(kind_of(channel.try_receive()), ErrorKind::Unavailable);
        return {};
    });
}

TEST(CancelledCall, channel_receive) {
    on_one_worker([]() -> Result<void> {
        Channel<int> channel(4);
        EXPECT_EQ(kind_of(cancelled([&] { return channel.receive(); })), ErrorKind::Cancelled);
        WEFT_TRY(channel.send(1));
        EXPECT_EQ(channel.receive(), 1);
        return {};
    });
}

TEST(CancelledCall, select) {
    on_one_worker([]() -> Result<void> {
        Channel<int> from(1);
        Channel<int> to(0);
        int handlers = 0;
        auto chosen = cancelled([&] {
            return select(on_receive(from, [&](Result<int>) { ++handlers; }),
                          on_send(to, 1, [&](Result<void>) { ++handlers; }));
        });
        EXPECT_EQ(kind_of(chosen), ErrorKind::Cancelled);
        EXPECT_EQ(handlers, 0);
        EXPECT_EQ(kind_of(to.try_receive()), ErrorKind::Unavailable);
        return {};
    });
}

TEST(CancelledCall, mutex_lock) {
    on_one_worker([]() -> Result<void> {
        Mutex mutex;
        mutex.lock();
        CancelSource source;
        bool held = false;
        auto fiber = spawn([&] {
            CancelScope scope(source.token());
            std::lock_guard guard(mutex);
            held = true;
        });
        settle();
        source.cancel();
        settle();
        EXPECT_FALSE(held);
        mutex.unlock();
        WEFT_TRY(fiber.join());
        EXPECT_TRUE(held);
        return {};
    });
}

TEST(CancelledCall, mutex_lock_cancellable) {
    on_one_worker([]() -> Result<void> {
        Mutex mutex;
        mutex.lock();
        EXPECT_EQ(kind_of(cancelled([&] { return mutex.lock_cancellable(); })),
                  ErrorKind::Cancelled);
        mutex.unlock();
        EXPECT_TRUE(mutex.try_lock());
        mutex.unlock();
        return {};
    });
}

TEST(CancelledCall, condition_wait) {
    on_one_worker([]() -> Result<void> {
        Mutex mutex;
        Condition condition;
        bool notified = false;
        auto other = spawn([&]() -> Result<void> {
            std::unique_lock lock(mutex);
            WEFT_TRY(condition.wait(lock));
            notified = true;
            return {};
        });
        settle();
        Result<void> waited = cancelled([&]() -> Result<void> {
            std::unique_lock lock(mutex);
            Result<void> ended = condition.wait(lock);
            EXPECT_TRUE(lock.owns_lock());
            EXPECT_FALSE(mutex.try_lock());
            return ended;
        });
        EXPECT_EQ(kind_of(waited), ErrorKind::Cancelled);
        condition.notify_one();
        WEFT_TRY(other.join());
        EXPECT_TRUE(notified);
        return {};
    });
}

TEST(CancelledCall, semaphore_acquire) {
    on_one_worker([]() -> Result<void> {
        Semaphore semaphore(1);
        CancelSource source;
        auto many = spawn([&] {
            CancelScope scope(source.token());
            return semaphore.acquire(2);
        });
        settle();
        auto behind = spawn([&] { return semaphore.acquire(1); });
        settle();
        EXPECT_FALSE(behind.is_done());
        source.cancel();
        EXPECT_EQ(kind_of(many.join()), ErrorKind::Cancelled);
        WEFT_TRY(behind.join());
        EXPECT_EQ(semaphore.available(), 0U);
        return {};
    });
}

TEST(CancelledCall, barrier) {
    on_one_worker([]() -> Result<void> {
        Barrier barrier(2);
        EXPECT_EQ(kind_of(cancelled([&] { return barrier.arrive_and_wait(); })),
                  ErrorKind::Cancelled);
        auto first = spawn([&] { return barrier.arrive_and_wait(); });
        settle();
        EXPECT_FALSE(first.is_done());
        EXPECT_EQ(barrier.arrive_and_wait(), true);
        EXPECT_EQ(first.join(), false);
        return {};
    });
}

TEST(CancelledCall, gate_close) {
    on_one_worker([]() -> Result<void> {
        Gate gate;
        WEFT_TRY(gate.enter());
        EXPECT_EQ(kind_of(cancelled([&] { return gate.close(); })), ErrorKind::Cancelled);
        EXPECT_TRUE(gate.is_closed());
        EXPECT_EQ(kind_of(gate.enter()), ErrorKind::Closed);
        EXPECT_EQ(gate.inside(), 1U);
        gate.leave();
        return gate.close();
    });
}

TEST(CancelledCall, once_call) {
    on_one_worker([]() -> Result<void> {
        Once once;
        Event go_on;
        auto other = spawn([&] { return once.call([&] { return go_on.wait(); }); });
        settle();
        EXPECT_EQ(kind_of(cancelled([&] { return once.call([] {}); })), ErrorKind::Cancelled);
        EXPECT_FALSE(once.is_done());
        go_on.set();
        WEFT_TRY(other.join());
        EXPECT_TRUE(once.is_done());
        return {};
    });
}

TEST(CancelledCall, future_join) {
    on_one_worker([]() -> Result<void> {
        Event go_on;
        auto job = spawn([&]() -> Result<int> {
            WEFT_TRY(go_on.wait());
            return 7;
        });
        EXPECT_EQ(kind_of(cancelled([&] { return job.join(); })), ErrorKind::Cancelled);
        go_on.set();
        EXPECT_EQ(job.join(), 7);
        return {};
    });
}

TEST(CancelledCall, group_wait) {
    on_one_worker([]() -> Result<void> {
        bool ended = false;
        Result<void> waited = cancelled([&] {
            async::Group group;
            EXPECT_TRUE(group.go([&]() -> Result<void> {
                Result<void> slept = sleep_for(seconds(60));
                settle();  // it takes its time to end, and wait() stays for it
                ended = true;
                return slept;
            }));
            return group.wait();
        });
        EXPECT_EQ(kind_of(waited), ErrorKind::Cancelled);
        EXPECT_TRUE(ended);
        return {};
    });
}

TEST(CancelledCall, pool_submit) {
    on_one_worker([]() -> Result<void> {
        auto pool = WEFT_TRY(async::Pool::create({.workers = 1, .queue_size = 1}));
        Event go_on;
        for (int i = 0; i < 2; ++i) WEFT_TRY(pool.submit([&] { return go_on.wait(); }));
        auto kept = std::make_unique<int>(7);
        bool ran = false;
        auto job = [&ran, mine = std::move(kept)] { ran = *mine == 7; };
        EXPECT_EQ(kind_of(cancelled([&] { return pool.submit(std::move(job)); })),
                  ErrorKind::Cancelled);
        EXPECT_FALSE(ran);
        job();  // as it was
        EXPECT_TRUE(ran);
        go_on.set();
        return pool.close();
    });
}

TEST(CancelledCall, with_timeout) {
    on_one_worker([]() -> Result<void> {
        auto ended = std::make_shared<bool>(false);
        auto go_on = std::make_shared<Event>();
        WEFT_TRY(async::run_scope(async::ScopeKind::Request, [&](async::Scope&) -> Result<void> {
            // It asks nobody whether it may go on.
            Result<void> late = async::with_timeout(std::chrono::milliseconds(100), [ended, go_on] {
                static_cast<void>(shield(Deadline::never(), [&] { return go_on->wait(); }));
                *ended = true;
            });
            EXPECT_EQ(kind_of(late), ErrorKind::TimedOut);
            EXPECT_FALSE(*ended);
            go_on->set();
            return {};
        }));
        EXPECT_TRUE(*ended);  // the scope has waited for it
        return {};
    });
}

TEST(CancelledCall, blocking_queued) {
    on_one_worker(
        []() -> Result<void> {
            std::binary_semaphore go_on(0);
            auto holder = spawn([&] { return blocking([&] { go_on.acquire(); }); });
            settle();
            bool ran = false;
            EXPECT_EQ(kind_of(cancelled([&] { return blocking([&] { ran = true; }); })),
                      ErrorKind::Cancelled);
            go_on.release();
            WEFT_TRY(holder.join());
            EXPECT_FALSE(ran);
            return {};
        },
        1);
}

TEST(CancelledCall, blocking_running) {
    on_one_worker([]() -> Result<void> {
        std::binary_semaphore begun(0);
        std::binary_semaphore go_on(0);
        CancelSource source;
        auto fiber = spawn([&] {
            CancelScope scope(source.token());
            return blocking([&] {
                begun.release();
                go_on.acquire();
                return 7;
            });
        });
        settle();
        begun.acquire();
        source.cancel();
        settle();
        EXPECT_FALSE(fiber.is_done());
        go_on.release();
        EXPECT_EQ(fiber.join(), 7);
        return {};
    });
}

TEST(CancelledCall, listener_accept) {
    on_one_worker([]() -> Result<void> {
        auto listener = WEFT_TRY(net::Listener::open(net::Address::loopback(0)));
        EXPECT_EQ(kind_of(cancelled([&] { return listener.accept(); })), ErrorKind::Cancelled);
        auto client = WEFT_TRY(net::Socket::connect(listener.address()));
        auto server = WEFT_TRY(listener.accept(Deadline::after(seconds(20))));
        EXPECT_EQ(server.peer_address().port(), client.local_address().port());
        return {};
    });
}

std::size_t count_descriptors() {
    auto entries = files::list_directory("/proc/self/fd");
    return entries ? entries->size() : 0;
}

TEST(CancelledCall, socket_connect) {
    on_one_worker([]() -> Result<void> {
        // A listener whose backlog is full lets nobody in.
        auto listener = WEFT_TRY(net::Listener::open(net::Address::loopback(0), {.backlog = 0}));
        std::vector<net::Socket> before;
        for (int i = 0; i < 2; ++i) {
            auto filling = net::Socket::connect(listener.address(),
                                                Deadline::after(std::chrono::milliseconds(50)));
            if (filling) before.push_back(std::move(*filling));
        }
        std::size_t descriptors = count_descriptors();
        EXPECT_EQ(kind_of(cancelled([&] { return net::Socket::connect(listener.address()); })),
                  ErrorKind::Cancelled);
        EXPECT_EQ(count_descriptors(), descriptors);
        return {};
    });
}

TEST(CancelledCall, socket_read) {
    on_one_worker([]() -> Result<void> {
        auto [one, other] = WEFT_TRY(net::Socket::make_pair());
        std::byte space[16];
        EXPECT_EQ(kind_of(cancelled([&] { return one.read(space); })), ErrorKind::Cancelled);
        WEFT_TRY(other.write_all(as_bytes("hello")));
        EXPECT_EQ(one.read(space), 5U);
        return {};
    });
}

TEST(CancelledCall, buffered_reader) {
    on_one_worker([]() -> Result<void> {
        auto [one, other] = WEFT_TRY(net::Socket::make_pair());
        net::BufferedReader reader(one);
        WEFT_TRY(other.write_all(as_bytes("hel")));
        EXPECT_EQ(kind_of(cancelled([&] { return reader.line(); })), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(cancelled([&] { return reader.until("\n"); })), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(cancelled([&] { return reader.exactly(6); })), ErrorKind::Cancelled);
        WEFT_TRY(other.write_all(as_bytes("lo\n")));
        EXPECT_EQ(WEFT_TRY(reader.line()), "hello");
        return {};
    });
}

TEST(CancelledCall, socket_write_all) {
    on_one_worker([]() -> Result<void> {
        auto [one, other] = WEFT_TRY(net::Socket::make_pair());
        const std::string much(16 * 1024 * 1024, 'x');
        EXPECT_EQ(kind_of(cancelled([&] { return one.write_all(as_bytes(much)); })),
                  ErrorKind::Cancelled);
        one.close();
        std::size_t received = 0;
        std::byte space[4096];
        for (;;) {
            std::size_t count = WEFT_TRY(other.read(space));
            if (count == 0) break;
            received += count;
        }
        EXPECT_GT(received, 0U);
        EXPECT_LT(received, much.size());
        return {};
    });
}

TEST(CancelledCall, file_read) {
    on_one_worker([]() -> Result<void> {
        std::string path = testing::TempDir() + "weft-cancelled-" + std::to_string(::getpid());
        File file = WEFT_TRY(File::open(path, {.write = true, .create = true}));
        WEFT_TRY(file.write_all(as_bytes("text")));
        for (int round = 0; round < 100; ++round) {
            CancelSource source;
            std::byte space[4];
            auto fiber = spawn([&] {
                CancelScope scope(source.token());
                return file.read_at(0, space);
            });
            for (int i = 0; i < round % 8; ++i) yield();
            source.cancel();
            Result<std::size_t> count = fiber.join();
            EXPECT_TRUE(count == 4U || kind_of(count) == ErrorKind::Cancelled);
        }
        return files::remove(path);
    });
}

TEST(CancelledCall, process_wait) {
    on_one_worker([]() -> Result<void> {
        Process child = WEFT_TRY(Process::spawn(
            {.arguments = {"cat"}, .input = ChildStream::Pipe, .output = ChildStream::Null}));
        EXPECT_EQ(kind_of(cancelled([&] { return child.wait(); })), ErrorKind::Cancelled);
        child.input().close();
        EXPECT_TRUE(WEFT_TRY(child.wait(Deadline::after(seconds(20)))).is_success());
        return {};
    });
}

TEST(CancelledCall, client_send) {
    on_one_worker([]() -> Result<void> {
        auto listener = WEFT_TRY(net::Listener::open(net::Address::loopback(0)));
        http::Client client;
        std::string url = "http://" + listener.address().to_string() + "/";
        EXPECT_EQ(kind_of(cancelled([&] { return client.get(url); })), ErrorKind::Cancelled);
        EXPECT_EQ(client.counters().idle, 0U);
        // The server sees the request, and then the end of the connection.
        auto server = WEFT_TRY(listener.accept(Deadline::after(seconds(20))));
        std::byte space[4096];
        for (;;) {
            Result<std::size_t> count = server.read(space, Deadline::after(seconds(20)));
            if (!count && count.error().kind() == ErrorKind::Reset) break;
            if (WEFT_TRY(std::move(count)) == 0) break;
        }
        return {};
    });
}

// A body that comes through a socket.
class SocketBody final : public http::BodyReader {
public:
    explicit SocketBody(net::Socket& socket) : socket_(socket) {}
    Result<std::size_t> read(ByteSpace space) override { return socket_.read(space); }
    std::optional<std::uint64_t> size() const override { return std::nullopt; }
    const http::Headers& trailers() const override { return trailers_; }

private:
    net::Socket& socket_;
    http::Headers trailers_;
};

TEST(CancelledCall, body_file_save) {
    namespace fs = std::filesystem;
    std::string folder = testing::TempDir() + "weft-cancelled-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    on_one_worker([&]() -> Result<void> {
        auto [one, other] = WEFT_TRY(net::Socket::make_pair());
        SocketBody body(one);
        WEFT_TRY(other.write_all(as_bytes("half of it")));
        CancelSource source;
        auto saving = spawn([&] {
            CancelScope scope(source.token());
            return http::BodyFile::save(body, {.folder = folder});
        });
        Deadline patience = Deadline::after(seconds(20));
        while (fs::is_empty(folder) && !patience.expired(Clock::now())) yield();
        source.cancel();
        EXPECT_EQ(kind_of(saving.join()), ErrorKind::Cancelled);
        while (!fs::is_empty(folder) && !patience.expired(Clock::now())) yield();
        EXPECT_TRUE(fs::is_empty(folder));
        return {};
    });
    fs::remove_all(folder);
}

TEST(CancelledCall, multipart_next) {
    on_one_worker([]() -> Result<void> {
        auto [one, other] = WEFT_TRY(net::Socket::make_pair());
        SocketBody body(one);
        auto form = WEFT_TRY(http::MultipartReader::open(body, "multipart/form-data; boundary=b"));
        WEFT_TRY(other.write_all(as_bytes("--b\r\nContent-Disposition: form-da")));
        EXPECT_EQ(kind_of(cancelled([&] { return form->next(); })), ErrorKind::Cancelled);
        WEFT_TRY(other.write_all(as_bytes("ta; name=a\r\n\r\nx\r\n--b--")));
        auto part = WEFT_TRY(form->next());
        EXPECT_TRUE(part && part->name == "a");
        // Behind the last part the end of the body is awaited.
        EXPECT_EQ(kind_of(cancelled([&] { return form->next(); })), ErrorKind::Cancelled);
        other.close();
        EXPECT_FALSE(WEFT_TRY(form->next()));
        return {};
    });
}

TEST(CancelledCall, connect_websocket) {
    on_one_worker([]() -> Result<void> {
        auto listener = WEFT_TRY(net::Listener::open(net::Address::loopback(0)));
        std::string url = "ws://" + listener.address().to_string() + "/";
        EXPECT_EQ(kind_of(cancelled([&] { return http::connect_websocket(url); })),
                  ErrorKind::Cancelled);
        auto peer = WEFT_TRY(listener.accept());
        std::byte space[1000];
        for (;;) {
            auto count = peer.read(space, Deadline::after(seconds(20)));
            EXPECT_TRUE(count || count.error().kind() == ErrorKind::Reset);
            if (!count || *count == 0) return {};
        }
    });
}

TEST(CancelledCall, websocket_receive) {
    on_one_worker([]() -> Result<void> {
        auto [one, other] = WEFT_TRY(net::Socket::make_pair());
        http::WebSocket server(one, {}, http::WebSocketRole::Server);
        http::WebSocket client(other, {}, http::WebSocketRole::Client);
        EXPECT_EQ(kind_of(cancelled([&] { return server.receive(); })), ErrorKind::Cancelled);
        WEFT_TRY(client.send_text("hello"));
        EXPECT_EQ(WEFT_TRY(server.receive(Deadline::after(seconds(20)))).payload, "hello");
        return {};
    });
}

TEST(CancelledCall, every_row_of_the_page_has_its_test) {
    std::ifstream page(WEFT_CANCELLED_PAGE);
    ASSERT_TRUE(page);
    std::set<std::string> rows;
    static const std::regex row(R"(^\|.*\| `(\w+)` \|$)");
    std::smatch found;
    for (std::string line; std::getline(page, line);) {
        if (std::regex_match(line, found, row)) rows.insert(found[1]);
    }
    std::set<std::string> tests;
    const testing::TestSuite& suite = *testing::UnitTest::GetInstance()->current_test_suite();
    for (int i = 0; i < suite.total_test_count(); ++i) tests.insert(suite.GetTestInfo(i)->name());
    tests.erase("every_row_of_the_page_has_its_test");
    EXPECT_EQ(rows, tests);
}

}  // namespace
}  // namespace weft
