// What the choice of a reactor is made from (docs/design/005-reactors.md); no peer has them.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "bench/weft/workloads.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/io.h"
#include "weft/fiber/os/file.h"

namespace bench {
namespace {

constexpr std::size_t kReaders = 64;
constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kBlocks = 4096;

// Open and already without a name.
weft::Result<weft::File> make_file() {
    const char* folder = std::getenv("TMPDIR");
    std::string path = std::string(folder ? folder : "/tmp") + "/weft_bench.XXXXXX";
    const int fd = mkstemp(path.data());
    if (fd < 0) return weft::Error::from_errno(errno);
    close(fd);
    weft::File file = WEFT_TRY(weft::File::open(path, {.write = true}));
    WEFT_TRY(weft::files::remove(path));
    const std::vector<std::byte> block(kBlockBytes);
    for (std::size_t i = 0; i < kBlocks; ++i) WEFT_TRY(file.write_all(block));
    return file;
}

void report(std::string_view metric, const Stopwatch& watch, double cpu_before, std::size_t count) {
    const double cpu = (cpu_nanoseconds() - cpu_before) / static_cast<double>(count);
    reporter().report(metric, watch.nanoseconds_each(count), "ns");
    reporter().report(std::string(metric) + "_cpu", cpu, "ns");
}

}  // namespace

// Reads of a file that is in memory, by many fibers at once.
void file(std::size_t count) {
    weft::File blocks = make_file().value();
    const double cpu = cpu_nanoseconds();
    const Stopwatch watch;
    std::vector<weft::Future<void>> readers;
    for (std::size_t r = 0; r < kReaders; ++r) {
        readers.push_back(
            weft::spawn([&blocks, r, each = count / kReaders]() -> weft::Result<void> {
                std::array<std::byte, kBlockBytes> block;
                for (std::size_t i = 0; i < each; ++i) {
                    const std::size_t number = (r * each + i * 7) % kBlocks;
                    WEFT_TRY(blocks.read_at(number * kBlockBytes, block));
                }
                return {};
            }));
    }
    for (auto& reader : readers) reader.join().value();
    report("file", watch, cpu, count);
}

// A byte there and back between two fibers, each of which waits for readiness.
void pipe(std::size_t count) {
    weft::Pipe there = weft::make_pipe().value();
    weft::Pipe back = weft::make_pipe().value();
    const double cpu = cpu_nanoseconds();
    const Stopwatch watch;
    auto echoing = weft::spawn([&]() -> weft::Result<void> {
        std::array<std::byte, 1> byte;
        for (std::size_t i = 0; i < count; ++i) {
            WEFT_TRY(there.reader.read(byte));
            WEFT_TRY(back.writer.write_all(byte));
        }
        return {};
    });
    std::array<std::byte, 1> byte{};
    for (std::size_t i = 0; i < count; ++i) {
        there.writer.write_all(byte).value();
        static_cast<void>(back.reader.read(byte).value());
    }
    echoing.join().value();
    report("pipe", watch, cpu, count);
}

}  // namespace bench
