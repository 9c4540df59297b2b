// A name whose look-up gets no fiber: an error now, and an answer when there is memory again.
#include <gtest/gtest.h>

#include <string>

#include "weft/fiber/runtime.h"
#include "weft/net/resolver.h"
#include "weft/testing/dns_server.h"
#include "weft/testing/scale.h"
#include "weft/testing/short_memory.h"
#include "weft/testing/sockets.h"
#include "weft/testing/stack_shortage.h"

namespace weft::net {
namespace {

using namespace weft::testing;

class ResolverMemoryDeathTest : public ::testing::Test {
protected:
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        if (kSanitizer) GTEST_SKIP() << "the sanitizer itself needs the address space";
        use_one_heap();
    }
};

TEST_F(ResolverMemoryDeathTest,
       NET_5d_a_name_that_gets_no_fiber_is_an_error_and_asked_again_later) {
    EXPECT_EXIT(
        {
            std::string verdict;
            fill_heap(16 << 20);
            in_runtime(1, [&]() -> Result<void> {
                return with_dns_server(
                    {{"a.test", {.addresses = {IpAddress::loopback()}}}},
                    [&](DnsServer& server) -> Result<void> {
                        Resolver resolver({.servers = {server.address()}});
                        StackShortage shortage;
                        auto found = resolver.resolve("a.test", in_ten_seconds());
                        verdict += found ? "found" : to_string(found.error().kind());
                        verdict += shortage.end() > 0 ? ", no stacks" : ", stacks";
                        found = resolver.resolve("a.test", in_ten_seconds());
                        verdict += found ? ", then found" : ", then " + found.error().message();
                        return {};
                    });
            });
            end_with(verdict);
        },
        ::testing::ExitedWithCode(0), "out of memory, no stacks, then found");
}

}  // namespace
}  // namespace weft::net
