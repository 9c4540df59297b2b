#include "weft/api/console/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "weft/base/env.h"
#include "weft/base/time.h"

namespace weft::api {
namespace {

class Output : public ::testing::Test {
protected:
    Output() { EXPECT_EQ(::pipe(ends_.data()), 0); }
    ~Output() override {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }

    // The content of the pipe.
    std::string read_all() {
        ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
        std::string all;
        char part[4096];
        for (ssize_t count = 0; (count = ::read(ends_[0], part, sizeof part)) > 0;)
            all.append(part, static_cast<std::size_t>(count));
        return all;
    }

    std::array<int, 2> ends_{};
};

// A pipe has a buffer of 64 KiB.
TEST_F(Output, JS_4_a_reader_that_stopped_holds_a_server_once_and_not_for_long) {
    for (bool blocks : {true, false}) {
        ::fcntl(ends_[1], F_SETFL, blocks ? 0 : O_NONBLOCK);
        ConsoleOutput output(ConsoleOutput::WhenStuck::Drop);
        std::int64_t begun = env::now_ns();
        for (int i = 0; i < 1000; ++i) output.write(ends_[1], std::string(1000, 'x') + "\n");
        Nanoseconds took(env::now_ns() - begun);
        EXPECT_GE(took, ConsoleOutput::kStuckReaderWait);
        // The wait happens once and not for each text.
        EXPECT_LT(took, 100 * ConsoleOutput::kStuckReaderWait);
        EXPECT_GT(output.dropped(), 900U);
        std::string dropped = std::to_string(output.dropped());
        read_all();
        output.write(ends_[1], "after\n");
        EXPECT_EQ(output.dropped(), 0U);
        EXPECT_EQ(read_all(),
                  "\nweft: " + dropped + " texts were dropped here, as nobody read them\nafter\n");
        output.write(ends_[1], "more\n");
        EXPECT_EQ(read_all(), "more\n");
    }
}

TEST_F(Output, JS_4_a_reader_that_has_gone_holds_nobody) {
    ::signal(SIGPIPE, SIG_IGN);
    ::close(ends_[0]);
    ConsoleOutput output(ConsoleOutput::WhenStuck::Drop);
    output.write(ends_[1], "text");
    EXPECT_EQ(output.dropped(), 0U);
    EXPECT_EQ(::pipe(ends_.data()), 0);
}

}  // namespace
}  // namespace weft::api
