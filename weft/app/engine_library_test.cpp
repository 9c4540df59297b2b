#include "weft/app/engine_library.h"

#include <gtest/gtest.h>
#include <link.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace weft::app {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t resident_file_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "RssFile:" && status >> word) return std::stoul(word) * 1024;
    return 0;
}

struct Read {
    std::size_t bytes = 0;
    unsigned sum = 0;
};

// The first byte of a page may lie between two objects, where the sanitizer expects nobody to read.
[[gnu::no_sanitize_address]] unsigned read_byte(const volatile unsigned char* at) { return *at; }

// Reads from every page of the constant segments of all libraries.
Read read_constants() {
    Read read;
    auto visit = [](dl_phdr_info* library, std::size_t, void* into) {
        auto& sums = *static_cast<Read*>(into);
        for (int i = 0; i < library->dlpi_phnum; ++i) {
            const ElfW(Phdr)& segment = library->dlpi_phdr[i];
            if (segment.p_type != PT_LOAD || segment.p_flags != PF_R) continue;
            const auto* data = reinterpret_cast<const volatile unsigned char*>(library->dlpi_addr +
                                                                               segment.p_vaddr);
            for (std::size_t at = 0; at < segment.p_filesz; at += kPage)
                sums.sum += read_byte(data + at);
            sums.bytes += segment.p_filesz;
        }
        return 0;
    };
    ::dl_iterate_phdr(visit, &read);
    return read;
}

TEST(EngineLibrary, JS_14_what_the_linker_has_read_does_not_stay_resident) {
    Read first = read_constants();
    std::size_t before = resident_file_bytes();
    release_constant_pages();
    std::size_t after = resident_file_bytes();
    EXPECT_LT(after + first.bytes / 2, before);
    EXPECT_EQ(read_constants().sum, first.sum);
}

}  // namespace
}  // namespace weft::app
