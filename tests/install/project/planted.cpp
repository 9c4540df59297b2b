// Bugs of a user's own, one for each word, all in fibers: a sanitizer has to see them although the
// library was built without it.
#include <weft/fiber/runtime.h>
#include <weft/sync/channel.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

namespace {

// Hides a value from the optimizer.
template <class T>
T hide(T value) {
    asm volatile("" : "+r"(value));
    return value;
}

int use_after_free() {
    weft::Channel<int*> freed(1);
    auto child = weft::spawn([&] {
        int* number = hide(new int(7));
        delete number;
        (void)freed.send(number);
    });
    int* number = *freed.receive();
    (void)child.join();
    return *number;
}

int write_past_the_frame() {
    char array[16] = {};
    weft::yield();
    std::memset(hide(&array[0]), 1, hide(std::size_t{32}));
    return array[0];
}

[[gnu::noinline]] char* address_of_a_frame() {
    char array[64] = {};
    weft::yield();
    return hide(&array[0]);
}

int use_after_return() { return *address_of_a_frame(); }

int leak() {
    *hide(new int[100]) = 1;
    weft::yield();
    return 0;
}

// Both run at the same time, and nothing orders them: a relaxed counter does not.
int race() {
    int shared = 0;
    std::atomic<int> meeting = 0;
    auto add = [&] {
        meeting.fetch_add(1, std::memory_order_relaxed);
        while (meeting.load(std::memory_order_relaxed) < 2) {}
        for (int i = 0; i < 1'000; ++i) shared = hide(shared) + 1;
    };
    auto one = weft::spawn(add);
    auto two = weft::spawn(add);
    (void)one.join();
    (void)two.join();
    return shared == 0;
}

int overflow() { return hide(INT_MAX) + hide(1); }

int planted(std::string_view word) {
    if (word == "use-after-free") return use_after_free();
    if (word == "write-past-the-frame") return write_past_the_frame();
    if (word == "use-after-return") return use_after_return();
    if (word == "leak") return leak();
    if (word == "race") return race();
    if (word == "overflow") return overflow();
    return -1;
}

}  // namespace

int main(int count, char** arguments) {
    std::string_view word = count > 1 ? arguments[1] : "";
    auto outcome = weft::run([&] { return weft::spawn([&] { return planted(word); }).join(); },
                             {.workers = 2});
    std::printf("planted: %s went unnoticed\n", count > 1 ? arguments[1] : "nothing");
    return outcome && *outcome == -1 ? 2 : 0;
}
