// What a C++ program of bench/ asks about itself: time, CPU, memory; and the line it prints.
// Any thread.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace bench {

class Stopwatch {
public:
    double nanoseconds() const {
        return std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
    }
    double milliseconds() const { return nanoseconds() / 1e6; }
    double nanoseconds_each(std::size_t count) const {
        return nanoseconds() / static_cast<double>(count);
    }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

// User and system time of the process so far.
inline double cpu_nanoseconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
    const double micros = static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return seconds * 1e9 + micros * 1e3;
}

// One field of /proc/self/status that is given in kB; 0 when it is not there.
inline double status_bytes(std::string_view field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.size() > field.size() && line.starts_with(field) && line[field.size()] == ':') {
            return std::strtod(line.c_str() + field.size() + 1, nullptr) * 1024;
        }
    }
    return 0;
}

// Page tables count too: they are what a sparse stack costs beside its pages.
inline double resident_bytes() { return status_bytes("VmRSS") + status_bytes("VmPTE"); }
inline double peak_resident_megabytes() { return status_bytes("VmHWM") / 1e6; }

// The number of workers, from the environment variable the driver sets.
inline unsigned workers_from(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? 1U : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

// The one form of output: `peer metric value unit`, peer = runtime + number of workers.
class Reporter {
public:
    Reporter(std::string_view runtime, unsigned workers)
        : peer_(std::string(runtime) + std::to_string(workers)) {}

    void report(std::string_view metric, double value, std::string_view unit) const {
        std::printf("%s %.*s %.3f %.*s\n", peer_.c_str(), static_cast<int>(metric.size()),
                    metric.data(), value, static_cast<int>(unit.size()), unit.data());
        std::fflush(stdout);
    }

private:
    std::string peer_;
};

}  // namespace bench
