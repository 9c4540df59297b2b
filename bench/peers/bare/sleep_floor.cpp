// What the kernel leaves for 1 M sleeping fibers with stacks of their own: a guard for each 64 KiB
// stack and the first touch of its top page, nothing else. `sleep_floor sleep [count]`.
#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "bench/common/measure.h"
#include "bench/common/workload.h"

namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::size_t kPageBytes = 4 * 1024;
constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL, Linux 6.13; not in Debian 12's headers

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

char* map_stacks(std::size_t count) {
    void* memory = mmap(nullptr, count * kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    madvise(memory, count * kStackBytes, MADV_NOHUGEPAGE);
    return static_cast<char*>(memory);
}

void install_guards(char* stacks, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const int result = madvise(stacks + i * kStackBytes, kPageBytes, kGuardInstall);
        if (result != 0) fail("MADV_GUARD_INSTALL");
    }
}

void touch_tops(char* stacks, std::size_t count) {
    for (std::size_t i = 1; i <= count; ++i) {
        auto* top = reinterpret_cast<volatile char*>(stacks + i * kStackBytes - 1);
        *top = 1;
    }
}

void sleep(std::size_t count) {
    const bench::Stopwatch watch;
    char* stacks = map_stacks(count);
    install_guards(stacks, count);
    touch_tops(stacks, count);
    std::printf("floor sleep %.3f ms\n", watch.milliseconds());
    std::printf("floor sleep_cpu %.3f ms\n", bench::cpu_nanoseconds() / 1e6);
    std::printf("floor sleep_rss %.3f MB\n", bench::peak_resident_megabytes());
}

constexpr bench::Workload kWorkloads[] = {{"sleep", sleep}};

}  // namespace

int main(int argc, char** argv) {
    const bench::Request request = bench::parse_request(kWorkloads, argc, argv);
    request.workload->run(request.count);
}
