// An error between go() and wait(): the frame that the jobs refer to goes, so they must have gone
// before. With the address sanitizer a job that is left behind is seen.
#include <weft/async/group.h>
#include <weft/fiber/runtime.h>
#include <weft/sync/event.h>

#include <cstdio>
#include <vector>

using weft::Result;

namespace {

Result<int> load() { return weft::Error(weft::ErrorKind::Other, "no such file"); }

Result<void> request(int& ended, weft::Event& begun) {
    std::vector<int> lent(1000, 7);
    weft::async::Group group;
    WEFT_TRY(group.go([&] {
        begun.set();
        (void)weft::sleep_for(std::chrono::hours(1));  // ends with the group
        for (int number : lent) ended += number == 7;
    }));
    WEFT_TRY(begun.wait());
    int limit = WEFT_TRY(load());
    lent.resize(static_cast<std::size_t>(limit));
    return group.wait();
}

}  // namespace

int main() {
    int ended = 0;
    auto outcome = weft::run([&] {
        weft::Event begun;
        return request(ended, begun);
    });
    bool right = !outcome && outcome.error().message().find("no such file") != std::string::npos;
    std::printf("early return: %s, %d\n", outcome ? "no error" : outcome.error().message().c_str(),
                ended);
    return right && ended == 1000 ? 0 : 1;
}
