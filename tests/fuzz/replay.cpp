// Stands in for libFuzzer where it is not built in: gives a fuzz target every file of a folder, and
// every beginning of each, as when a connection is cut off.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** arguments) {
    if (count != 2) return 2;
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
        std::ifstream stream(entry.path(), std::ios::binary);
        std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
        for (std::size_t size = 0; size <= bytes.size(); ++size) {
            // A copy of just that size, so that the address sanitizer sees what is read behind it.
            std::vector<std::uint8_t> input(bytes.begin(), bytes.begin() + size);
            LLVMFuzzerTestOneInput(input.data(), input.size());
        }
        ++files;
    }
    std::printf("%zu files\n", files);
    return files == 0 ? 1 : 0;
}
