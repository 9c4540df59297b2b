// Our side: `weft_bench <metric> [count]`, or `weft_bench echo <port>`. WEFT_WORKERS is the number
// of workers.
#include <array>

#include "bench/common/workload.h"
#include "bench/weft/workloads.h"
#include "weft/fiber/runtime.h"

namespace {

constexpr auto kWorkloads = std::to_array<bench::Workload>({
    {"yield", bench::yield},
    {"spawn", bench::spawn},
    {"spawnjoin", bench::spawn_join},
    {"fib", bench::fibonacci},
    {"skynet", bench::skynet},
    {"chan0", bench::stream_unbuffered},
    {"chan128", bench::stream_buffered},
    {"ping0", bench::ping_unbuffered},
    {"ping128", bench::ping_buffered},
    {"mpmc", bench::many_to_many},
    {"mutex", bench::mutex},
    {"sleep", bench::sleep},
    {"timer", bench::timer},
    {"park", bench::park},
    {"park20k", bench::park20k},
    {"idle", bench::idle},
    {"file", bench::file},
    {"pipe", bench::pipe},
    {"group", bench::group},
    {"task", bench::task},
    {"pool", bench::pool},
    {"timeout", bench::timeout},
    {"context", bench::context},
    {"contexts", bench::contexts},
    {"echo", bench::echo},
});

}  // namespace

unsigned bench::workers() {
    static const unsigned count = workers_from("WEFT_WORKERS");
    return count;
}

const bench::Reporter& bench::reporter() {
    static const Reporter weft("weft", workers());
    return weft;
}

int main(int argc, char** argv) {
    const bench::Request request = bench::parse_request(kWorkloads, argc, argv);
    const auto outcome = weft::run([&request] { request.workload->run(request.count); },
                                   {.workers = bench::workers()});
    if (outcome) return 0;
    std::fprintf(stderr, "%s\n", outcome.error().message().c_str());
    return 1;
}
