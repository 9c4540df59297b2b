// A name for whose look-up there is no memory: an error now, and an answer when there is memory
// again.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <string_view>

#include "weft/fiber/runtime.h"
#include "weft/net/resolver.h"
#include "weft/testing/counted_allocations.h"
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

#ifdef WEFT_COUNTS_ALLOCATIONS

// One lookup after the other, in each of which another allocation fails. The name is then asked for
// again, and is not waited for: the server refuses.
TEST(ResolverMemory, NET_5d_a_lookup_that_gets_no_memory_ends) {
    in_runtime(1, []() -> Result<void> {
        ResolverOptions options;
        Address nobody = WEFT_TRY(free_tcp_address());
        options.servers = {nobody, nobody};
        options.query_timeout = std::chrono::milliseconds(20);
        options.tries = 1;
        // Long enough that a copy of it is an allocation.
        constexpr std::string_view kName = "a-name-of-some-length.test";
        int most = 0;
        for (int count = 0; count <= most; ++count) {
            Resolver resolver(options);
            int begun = allocations_so_far();
            refused_allocation.store(begun + count, std::memory_order_relaxed);
            try {
                EXPECT_NE(kind_of(resolver.resolve(kName, in_ten_seconds())), ErrorKind::TimedOut);
            } catch (const std::bad_alloc&) {  // before there was a lookup
            }
            refused_allocation.store(-1, std::memory_order_relaxed);
            most = std::max(most, allocations_so_far() - begun);
            EXPECT_EQ(kind_of(resolver.resolve(kName, in_ten_seconds())), ErrorKind::Dns) << count;
        }
        return {};
    });
}

#endif

}  // namespace
}  // namespace weft::net
