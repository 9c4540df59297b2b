// A service under mixed load for a while: 20 s, 30 minutes with WEFT_TEST_LONG=1, or as many as
// WEFT_SOAK_SECONDS says. Its memory must stay level, and nothing may be left when the clients are
// gone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <string>
#include <vector>

#include "tests/stress/service.h"
#include "tests/stress/soak_clients.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft::stress {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kClients = 32;
constexpr std::uint64_t kSeed = 20'100;
constexpr std::chrono::milliseconds kSampleInterval = 250ms;
constexpr double kGrowthBytesMax = 4.0 * 1024 * 1024;  // of short runs
constexpr double kSlopePercentMax = 0.1;               // a minute, of long runs
constexpr std::chrono::seconds kLongFrom = 10min;      // a slope of less says nothing
// Theil-Sen looks at every pair.
constexpr std::size_t kSlopePointsMax = 1000;

std::chrono::seconds duration() {
    if (const char* text = std::getenv("WEFT_SOAK_SECONDS"))
        return std::chrono::seconds(std::max(std::atoi(text), 4));
    if (weft::testing::is_long()) return 30min;
    return weft::testing::kSanitizer ? 8s : 20s;
}

struct Sample {
    double minutes = 0;
    double resident_bytes = 0;
};

// What the kernel knows about the service.
double resident_bytes(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    double all_pages = 0;
    double resident_pages = 0;
    file >> all_pages >> resident_pages;
    return resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}
std::size_t descriptors(pid_t pid) {
    std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

double median(std::vector<double> values) {
    auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}
double median_bytes(std::span<const Sample> samples) {
    std::vector<double> values;
    for (const Sample& sample : samples) values.push_back(sample.resident_bytes);
    return median(std::move(values));
}

// The median of the slopes of all pairs: a few outliers do not move it.
double theil_sen(std::span<const Sample> samples) {
    std::size_t step = samples.size() / kSlopePointsMax + 1;
    std::vector<double> slopes;
    for (std::size_t i = 0; i < samples.size(); i += step) {
        for (std::size_t j = i + step; j < samples.size(); j += step) {
            double rise = samples[j].resident_bytes - samples[i].resident_bytes;
            slopes.push_back(rise / (samples[j].minutes - samples[i].minutes));
        }
    }
    return median(std::move(slopes));
}

// The first quarter is for warming up.
void expect_level(std::span<const Sample> samples) {
    ASSERT_GE(samples.size(), 8U);
    std::size_t quarter = samples.size() / 4;
    auto settled = samples.subspan(quarter);
    double before = median_bytes(settled.first(quarter));
    double growth = median_bytes(settled.last(quarter)) - before;
    double slope_percent = theil_sen(settled) / before * 100;
    ::testing::Test::RecordProperty("resident_kib", std::to_string(before / 1024));
    ::testing::Test::RecordProperty("growth_kib", std::to_string(growth / 1024));
    ::testing::Test::RecordProperty("slope_percent", std::to_string(slope_percent));
    std::printf("%zu samples, %.0f KiB resident, %+.0f KiB since, %+.3f %% a minute\n",
                samples.size(), before / 1024, growth / 1024, slope_percent);
    if (samples.back().minutes * 60 >= static_cast<double>(kLongFrom.count())) {
        EXPECT_LE(slope_percent, kSlopePercentMax);
    } else {
        EXPECT_LE(growth, kGrowthBytesMax);
    }
}

// Below a directory of its own, and removed with it.
class Files {
public:
    Files() {
        std::string name = (std::filesystem::temp_directory_path() / "weft-soak.XXXXXX").string();
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
        std::ofstream(directory_ + "/small") << std::string(kSmallFileBytes, 's');
        std::ofstream(directory_ + "/large") << std::string(kLargeFileBytes, 'l');
    }
    ~Files() {
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;
    const std::string& directory() const { return directory_; }

private:
    std::string directory_;
};

// As it is when nobody is there but the one who asks.
struct Rest {
    std::string stats;
    std::size_t descriptors = 0;
    friend bool operator==(const Rest&, const Rest&) = default;
};
Result<Rest> look(Service& service) {
    // Those who have asked before are to be gone; if they are not, settle() looks again.
    WEFT_TRY(weft::sleep_for(20ms));
    http::Client client;
    auto response = WEFT_TRY(client.get("http://" + service.address().to_string() + "/stats"));
    Rest rest;
    rest.stats = WEFT_TRY(response.read_all());  // "1 connections, 3 fibers", this one among them
    // With the connection of the question, which the client keeps: nobody could say when the
    // service has let go of it.
    rest.descriptors = descriptors(service.process().pid());
    return rest;
}
// Twice the same, with one connection: nobody is left who is about to go.
Result<Rest> settle(Service& service) {
    Deadline deadline = Deadline::after(kPatience);
    Rest before = WEFT_TRY(look(service));
    for (;;) {
        Rest rest = WEFT_TRY(look(service));
        if (rest == before && rest.stats.starts_with("1 connections,")) return rest;
        if (deadline.expired(Clock::now())) return Error(ErrorKind::TimedOut, rest.stats);
        before = rest;
    }
}

Result<std::vector<Sample>> soak(Service& service, std::chrono::seconds time) {
    http::Client shared;
    std::list<SoakClient> clients;
    std::vector<Future<void>> running;
    Deadline end = Deadline::after(time);
    for (std::size_t index = 0; index < kClients; ++index) {
        SoakClient& client = clients.emplace_back(service.address(), shared, kSeed + index);
        running.push_back(spawn([&client, end] { return client.run(end); }));
    }
    std::vector<Sample> samples;
    Instant begun = Clock::now();
    while (!end.expired(Clock::now())) {
        double minutes =
            std::chrono::duration<double, std::ratio<60>>(Clock::now() - begun).count();
        samples.push_back({minutes, resident_bytes(service.process().pid())});
        WEFT_TRY(weft::sleep_for(kSampleInterval));
    }
    std::size_t acts = 0;
    for (auto& client : running) {
        auto outcome = client.join();
        EXPECT_TRUE(outcome) << outcome.error().message();
    }
    for (const SoakClient& client : clients) acts += client.acts();
    std::printf("%zu acts of %zu clients\n", acts, kClients);
    EXPECT_GT(acts, kClients * static_cast<std::size_t>(time.count()));
    return samples;
}

TEST(Soak, HTTP_4_mixed_load_leaves_memory_descriptors_and_fibers_as_they_were) {
    Files files;
    auto outcome = run([&]() -> Result<void> {
        Service service =
            WEFT_TRY(Service::start({WEFT_SOAK_PROGRAM, "127.0.0.1:0", files.directory()}));
        {
            http::Client once;
            WEFT_TRY(SoakClient(service.address(), once, kSeed).visit_all());
        }
        Rest before = WEFT_TRY(settle(service));
        auto samples = WEFT_TRY(soak(service, duration()));
        Rest after = WEFT_TRY(settle(service));
        EXPECT_EQ(after.stats, before.stats);
        EXPECT_EQ(after.descriptors, before.descriptors);
        // Sanitizers keep freed memory for a while.
        if (!weft::testing::kSanitizer) expect_level(samples);
        ExitStatus status = WEFT_TRY(service.stop());
        EXPECT_TRUE(status.is_success()) << status.code << " " << status.signal;
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

}  // namespace
}  // namespace weft::stress
