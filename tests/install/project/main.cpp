// A program of somebody else. It sees only what `cmake --install` gave.
#include <weft/fiber/runtime.h>

#include <cstdio>

int main() {
    auto answer = weft::run([] {
        auto six = weft::spawn([] { return 6; });
        auto seven = weft::spawn([] { return 7; });
        return six.join().value_or(0) * seven.join().value_or(0);
    });
    std::printf("outside: %d\n", answer.value_or(0));
    return answer && *answer == 42 ? 0 : 1;
}
