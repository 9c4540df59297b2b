// A program of somebody else. It sees only what `cmake --install` gave.
#include <weft/fiber/runtime.h>

#include <cstdio>

// A runtime can be handed on before it is used.
weft::Runtime make_runtime() {
    weft::Runtime runtime({.workers = 1});
    return runtime;
}

int main() {
    weft::Runtime runtime = make_runtime();
    bool moved = runtime.spawn([] { return true; }).join().value_or(false);
    auto answer = weft::run([] {
        auto six = weft::spawn([] { return 6; });
        auto seven = weft::spawn([] { return 7; });
        return six.join().value_or(0) * seven.join().value_or(0);
    });
    std::printf("outside: %d\n", answer.value_or(0));
    return moved && answer && *answer == 42 ? 0 : 1;
}
