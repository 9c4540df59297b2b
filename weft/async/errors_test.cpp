#include "weft/async/errors.h"

#include <gtest/gtest.h>

#include <string_view>

namespace weft::async {
namespace {

TEST(Errors, SC_1g_the_thirteen_texts_are_fixed) {
    struct {
        const Fault& fault;
        std::string_view text;
    } texts[] = {
        {kGroupGoAfterWait, "async: group does not accept new tasks after wait starts"},
        {kGroupMaxErrors, "async: group max_errors must be positive"},
        {kGroupWaited, "async: group wait was already called"},
        {kInterval, "async: interval must be positive"},
        {kNilJob, "async: job function is nil"},
        {kPeriodicWaited, "async: periodic wait was already called"},
        {kPoolClosed, "async: pool is closed"},
        {kPoolFull, "async: pool queue is full"},
        {kPoolQueueSize, "async: pool queue size must be positive"},
        {kPoolWaited, "async: pool wait was already called"},
        {kPoolWorkers, "async: pool worker count must be positive"},
        {kTaskWaited, "async: task wait was already called"},
        {kTimeout, "async: timeout"},
    };
    for (const auto& [fault, text] : texts) {
        EXPECT_EQ(fault().message(), text);
        EXPECT_EQ(fault().kind(), fault.kind);
    }
}

}  // namespace
}  // namespace weft::async
