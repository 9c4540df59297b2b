// Requests that go through http/ into JavaScript on the worker's own stack, and back.
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/journeys/js_seam/host.h"
#include "weft/http/client/client.h"
#include "weft/net/socket.h"
#include "weft/testing/eventually.h"
#include "weft/testing/sockets.h"

namespace weft::journeys {
namespace {

using std::chrono::milliseconds;
using testing::eventually;
using Place = Operation::Place;

const RuntimeOptions kTwoWorkers{.workers = 1, .pinned_workers = 1};

OpenEngine engine() {
    static const OpenEngine open = load_engine(WEFT_JS_SEAM);
    return open;
}

Result<net::Socket> send(const net::Address& address, std::string_view path) {
    net::Socket socket = WEFT_TRY(net::Socket::connect(address, testing::in_ten_seconds()));
    std::string request =
        "GET " + std::string(path) + " HTTP/1.1\r\nHost: seam\r\nConnection: close\r\n\r\n";
    WEFT_TRY(socket.write_all(as_bytes(request), testing::in_ten_seconds()));
    return socket;
}

// "200 body"
std::string read_answer(Result<net::Socket>& socket) {
    if (!socket) return socket.error().message();
    Result<std::string> text = testing::read_to_end(*socket);
    if (!text) return text.error().message();
    std::size_t end_of_head = text->find("\r\n\r\n");
    if (!text->starts_with("HTTP/1.1 ") || end_of_head == std::string::npos) return *text;
    return text->substr(9, 3) + " " + text->substr(end_of_head + 4);
}

std::string ask(const net::Address& address, std::string_view path) {
    Result<net::Socket> socket = send(address, path);
    return read_answer(socket);
}

Operation sleep_operation() {
    return {"sleep", Place::Fiber, [](const std::string& text) -> Result<std::string> {
                int count = 0;
                std::from_chars(text.data(), text.data() + text.size(), count);
                WEFT_TRY(weft::sleep_for(milliseconds(count)));
                return text;
            }};
}

// ---------------------------------------------------------------- the way in and out

TEST(JsSeam, JS_1_the_engine_is_a_shared_object_without_thread_locals) {
    ASSERT_NE(engine(), nullptr);
    struct Found {
        bool module = false;
        bool thread_locals = false;
    } found;
    ::dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* argument) {
            if (std::string_view(object->dlpi_name) != WEFT_JS_SEAM) return 0;
            auto& seen = *static_cast<Found*>(argument);
            seen.module = true;
            for (int i = 0; i < object->dlpi_phnum; ++i)
                seen.thread_locals |= object->dlpi_phdr[i].p_type == PT_TLS;
            return 1;
        },
        &found);
    EXPECT_TRUE(found.module);
    EXPECT_FALSE(found.thread_locals);
}

// The engine asserts at each entry that it is on that stack. The other fibers leave the worker no
// pause, so that its loop gets its turn between them or never.
TEST(JsSeam, JS_1_a_script_answers_on_its_owners_own_stack_between_busy_fibers) {
    Runtime runtime(kTwoWorkers);
    Host host(runtime, engine(), {.script = "function handle(path) { return 'hello ' + path; }"});
    Atomic<bool> over{false};
    std::vector<Future<void>> busy;
    for (int i = 0; i < 3; ++i) {
        busy.push_back(runtime.spawn_pinned(0, [&] {
            while (!over.load(std::memory_order_relaxed)) yield();
        }));
    }
    for (int i = 0; i < 50; ++i) EXPECT_EQ(ask(host.address(), "/a"), "200 hello /a");
    EXPECT_EQ(ask(host.address(), "/native"), "200 native");
    over.store(true, std::memory_order_relaxed);
    for (Future<void>& fiber : busy) EXPECT_TRUE(fiber.join());
    EXPECT_EQ(host.counters().dispatches, 51u);  // with the one that loaded the script
}

TEST(JsSeam, JS_1_a_script_that_recurses_for_ever_gets_a_range_error) {
    Runtime runtime(kTwoWorkers);
    Host host(runtime, engine(), {.script = R"(
        function recurse(depth) { return recurse(depth + 1) + 1; }
        function handle(path) {
            if (path === '/caught') try { recurse(0); } catch (error) { return error.name; }
            return recurse(0);
        })"});
    EXPECT_EQ(ask(host.address(), "/caught"), "200 RangeError");
    EXPECT_EQ(ask(host.address(), "/uncaught"), "500 RangeError: Maximum call stack size exceeded");
    EXPECT_EQ(ask(host.address(), "/caught"), "200 RangeError");
}

TEST(JsSeam, SCP_1e_a_script_awaits_a_timer_a_call_and_the_blocking_pool) {
    Runtime runtime(kTwoWorkers);
    Atomic<bool> worked_elsewhere{false};
    pthread_t owner{};
    http::Client client;
    Operation call{"call", Place::Fiber, [&](const std::string& url) -> Result<std::string> {
                       http::ClientResponse response = WEFT_TRY(client.get(url));
                       return response.read_all();
                   }};
    Operation work{"work", Place::Pool, [&](const std::string& text) -> Result<std::string> {
                       worked_elsewhere.store(::pthread_self() != owner, std::memory_order_relaxed);
                       return std::string(text.rbegin(), text.rend());
                   }};
    Host upstream(runtime, engine(),
                  {.script = "function handle(path) { return 'from ' + path; }"});
    std::string script = "const url = 'http://" + upstream.address().to_string() + "/up';" + R"(
        async function handle(path) {
            const slept = await sleep(5);
            const body = await call(url);
            return path + ': ' + slept + ', ' + await work(body);
        })";
    Host host(runtime, engine(), {.script = script, .operations = {sleep_operation(), call, work}});
    static_cast<void>(host.on_owner([&] { owner = ::pthread_self(); }));
    EXPECT_EQ(ask(host.address(), "/a"), "200 /a: 5, pu/ morf");
    EXPECT_TRUE(worked_elsewhere.load(std::memory_order_relaxed));
    EngineCounters counters = host.counters();
    EXPECT_EQ(counters.late, 0u);
    EXPECT_EQ(counters.open_promises, 0u);
}

// ---------------------------------------------------------------- whose call is it

TEST(JsSeam, SCP_1e_a_continuation_belongs_to_its_own_request_whoever_resumes_it) {
    Runtime runtime(kTwoWorkers);
    Host host(runtime, engine(),
              {.script = R"(
        let release;
        const released = new Promise((resolve) => { release = resolve; });
        let waiting = 0;
        async function handle(path) {
            const mine = request();
            if (path === '/waiting') return String(waiting);
            if (path === '/release') { release(); return 'released'; }
            waiting++;
            await released;                  // resumed in the dispatch of /release
            if (request() !== mine) return 'wrong after a promise';
            await sleep(1);                  // starts in the scope of this request
            if (request() !== mine) return 'wrong after an operation';
            return path;
        })",
               .operations = {sleep_operation()}});
    std::vector<Result<net::Socket>> waiting;
    for (int i = 0; i < 8; ++i) waiting.push_back(send(host.address(), "/" + std::to_string(i)));
    EXPECT_TRUE(eventually([&] { return ask(host.address(), "/waiting") == "200 8"; }));
    EXPECT_EQ(ask(host.address(), "/release"), "200 released");
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(read_answer(waiting[static_cast<std::size_t>(i)]), "200 /" + std::to_string(i));
    EXPECT_EQ(host.counters().late, 0u);
}

// ---------------------------------------------------------------- the client goes away

// What a pool's thread does until the test lets it go on.
struct HeldWork {
    std::binary_semaphore begun{0};
    std::binary_semaphore go_on{0};

    Operation operation() {
        return {"work", Place::Pool, [this](const std::string& text) -> Result<std::string> {
                    begun.release();
                    if (!go_on.try_acquire_for(std::chrono::seconds(10)))
                        return ErrorKind::TimedOut;
                    return text;
                }};
    }
};

constexpr std::string_view kWorkScript = R"(
    const events = [];
    async function handle(path) {
        if (path === '/events') return events.join();
        try {
            events.push(await work('done'));
        } catch (error) {
            events.push(error.message);
            try { await work('again'); } catch (error) { events.push(error.message); }
        }
        return events.join();
    }
)";

TEST(JsSeam, SCP_3_a_completion_after_the_client_has_gone_only_cleans_up) {
    Runtime runtime(kTwoWorkers);
    HeldWork held;
    Host host(runtime, engine(), {.script = kWorkScript, .operations = {held.operation()}});
    Result<net::Socket> client = send(host.address(), "/work");
    ASSERT_TRUE(client);
    ASSERT_TRUE(held.begun.try_acquire_for(std::chrono::seconds(10)));
    client->close();
    ASSERT_TRUE(eventually([&] { return host.counters().retired == 1; }));
    EngineCounters before = host.counters();
    EXPECT_EQ(before.open_promises, 0u);
    // The catch block ran; what it started was refused, and its answer found nobody.
    EXPECT_EQ(before.late, 2u);
    held.go_on.release();
    EXPECT_TRUE(eventually([&] { return host.counters().late == before.late + 1; }));
    EXPECT_EQ(ask(host.address(), "/events"), "200 the request is over,the request is over");
}

TEST(JsSeam, SCP_3_a_client_that_goes_away_after_the_completion_changes_nothing) {
    Runtime runtime(kTwoWorkers);
    HeldWork held;
    std::binary_semaphore answered{0};
    Atomic<bool> gone{false};
    Host host(runtime, engine(),
              {.script = kWorkScript,
               .operations = {held.operation()},
               .handler = [&](Engine& js, http::Request& request,
                              async::Context& context) -> Result<http::Response> {
                   std::string answer = WEFT_TRY(js.call(request.path(), context));
                   if (request.path() == "/work") {
                       answered.release();
                       EXPECT_TRUE(eventually([&] { return context.is_done(); }));
                       gone.store(answer == "done", std::memory_order_release);
                   }
                   return http::Response::text(std::move(answer));
               }});
    Result<net::Socket> client = send(host.address(), "/work");
    ASSERT_TRUE(client);
    held.go_on.release();
    ASSERT_TRUE(answered.try_acquire_for(std::chrono::seconds(10)));
    client->close();
    EXPECT_TRUE(eventually([&] { return gone.load(std::memory_order_acquire); }));
    EXPECT_EQ(ask(host.address(), "/events"), "200 done");
    EngineCounters counters = host.counters();
    EXPECT_EQ(counters.retired, 0u);
    EXPECT_EQ(counters.late, 0u);
}

// The closest race: the completion lies in the inbox when the request ends.
TEST(JsSeam, SCP_3_a_completion_that_is_on_its_way_when_the_request_ends_settles_once) {
    Runtime runtime(kTwoWorkers);
    async::OwnedContext owned = async::Context::background(runtime).with_cancel();
    Operation work{"work", Place::Fiber, [&](const std::string& text) -> Result<std::string> {
                       owned.source.cancel();
                       return text;
                   }};
    Host host(runtime, engine(), {.script = kWorkScript, .operations = {work}});
    Result<std::string> answer =
        host.on_owner([&] { return host.engine().call("/work", owned.context); });
    EXPECT_EQ(answer.error().kind(), ErrorKind::Cancelled);
    EXPECT_EQ(ask(host.address(), "/events"), "200 done");
    EngineCounters counters = host.counters();
    EXPECT_EQ(counters.retired, 0u);
    EXPECT_EQ(counters.late, 1u);  // the answer
    EXPECT_EQ(counters.open_promises, 0u);
}

// ---------------------------------------------------------------- scripts that do not end

constexpr std::string_view kSpinScript = R"(
    async function handle(path) {
        if (path === '/spin') while (true) {}
        if (path === '/spin_later') { await sleep(1); while (true) {} }
        if (path === '/spin_in_text') throw { toString() { while (true) {} } };
        if (path === '/patient') { await sleep(150); return 'patient'; }
        return 'fine';
    }
)";

// The longest that a native request of the same worker took while the script ran into the watchdog.
Nanoseconds longest_native_answer(Host& host, std::string_view path) {
    Result<net::Socket> spinning = send(host.address(), path);
    Instant begun = Clock::now();
    Nanoseconds longest{};
    while (Clock::now() - begun < milliseconds(120)) {
        Instant asked = Clock::now();
        EXPECT_EQ(ask(host.address(), "/native"), "200 native");
        longest = std::max(longest, Nanoseconds(Clock::now() - asked));
    }
    EXPECT_EQ(read_answer(spinning), "500 the script ran too long and was ended");
    return longest;
}

TEST(JsSeam, JS_5_an_endless_loop_is_ended_and_native_requests_wait_less_than_100_ms) {
    Runtime runtime(kTwoWorkers);
    Host host(runtime, engine(), {.script = kSpinScript, .operations = {sleep_operation()}});
    for (std::string_view path : {"/spin", "/spin_later"}) {
        // Other programs of the machine can hold up any one try, but not all.
        Nanoseconds best = Nanoseconds::max();
        for (int attempt = 0; attempt < 5 && best >= milliseconds(100); ++attempt) {
            best = std::min(best, longest_native_answer(host, path));
            EXPECT_EQ(ask(host.address(), "/"), "200 fine");
        }
        EXPECT_LT(best, milliseconds(100));
        EXPECT_GT(best, milliseconds(20));  // it did stand in the way
    }
    EXPECT_GE(host.counters().terminated, 2u);
}

TEST(JsSeam, JS_5_ending_one_dispatch_leaves_other_requests_alone) {
    Runtime runtime(kTwoWorkers);
    Host host(runtime, engine(), {.script = kSpinScript, .operations = {sleep_operation()}});
    Result<net::Socket> patient = send(host.address(), "/patient");
    EXPECT_EQ(ask(host.address(), "/spin"), "500 the script ran too long and was ended");
    EXPECT_EQ(ask(host.address(), "/spin_in_text"), "500 the script ran too long and was ended");
    EXPECT_EQ(read_answer(patient), "200 patient");
    EXPECT_EQ(host.counters().terminated, 2u);
}

// Dispatches that take about as long as they may, so that their end and the watchdog's meet.
TEST(JsSeam, JS_5_the_watchdog_never_ends_the_next_dispatch) {
    Runtime runtime(kTwoWorkers);
    Host host(runtime, engine(),
              {.script = R"(
        function handle(path) {
            const end = Date.now() + Number(path.slice(1));
            while (Date.now() < end) {}
            return 'fine';
        })",
               .dispatch_time = milliseconds(5)});
    for (int i = 0; i < 60; ++i) {
        std::string slow = ask(host.address(), "/" + std::to_string(4 + i % 4));
        EXPECT_TRUE(slow == "200 fine" || slow.starts_with("500 the script ran")) << slow;
        EXPECT_EQ(ask(host.address(), "/0"), "200 fine");
    }
}

}  // namespace
}  // namespace weft::journeys
