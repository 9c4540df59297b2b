#include "weft/http/files/file_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"

namespace weft::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::shared_ptr<const Resource> resource(std::size_t memory_bytes = 0, std::size_t files = 1) {
    auto made = std::make_shared<Resource>();
    made->memory_bytes = memory_bytes;
    made->representations.resize(files);
    return made;
}

constexpr Instant kStart{seconds(100)};

TEST(FileCache, HTTP_8_one_caller_is_told_that_a_resource_is_stale) {
    FileCache cache({.fresh_time = seconds(1)});
    EXPECT_FALSE(cache.find("/a", kStart).resource);
    auto made = resource();
    cache.keep("/a", made, kStart);
    EXPECT_EQ(cache.find("/a", kStart).resource, made);
    EXPECT_FALSE(cache.find("/a", kStart + milliseconds(999)).is_stale);
    EXPECT_TRUE(cache.find("/a", kStart + seconds(1)).is_stale);
    EXPECT_FALSE(cache.find("/a", kStart + seconds(1)).is_stale);
    EXPECT_TRUE(cache.find("/a", kStart + seconds(2)).is_stale);
    cache.forget("/a");
    cache.forget("/b");
    EXPECT_FALSE(cache.find("/a", kStart).resource);
    EXPECT_EQ(cache.files(), 0U);
}

TEST(FileCache, HTTP_8_the_cache_is_bounded_in_files_and_in_memory) {
    FileCache cache({.files = 80, .memory_bytes = 80'000});
    for (int i = 0; i < 1000; ++i) {
        cache.keep("/" + std::to_string(i), resource(100, 2), kStart);
        ASSERT_LE(cache.files(), 80U);
    }
    EXPECT_GT(cache.files(), 40U);
    for (int i = 0; i < 1000; ++i) {
        cache.keep("/" + std::to_string(i), resource(5000), kStart);
        ASSERT_LE(cache.memory_bytes(), 80'000U);
    }
    EXPECT_GT(cache.memory_bytes(), 20'000U);
    EXPECT_TRUE(cache.find("/999", kStart).resource);
    // A resource that is too large evicts no other, and its path is removed.
    std::size_t before = cache.files();
    cache.keep("/999", resource(20'000), kStart);
    EXPECT_FALSE(cache.find("/999", kStart).resource);
    EXPECT_EQ(cache.files(), before - 1);
}

TEST(FileCache, HTTP_8_what_was_asked_for_last_stays_the_longest) {
    FileCache cache({.files = 16});  // two in each shard
    cache.keep("/kept", resource(), kStart);
    for (int i = 0; i < 1000; ++i) {
        cache.keep("/" + std::to_string(i), resource(), kStart);
        ASSERT_TRUE(cache.find("/kept", kStart).resource) << i;
    }
}

TEST(FileCache, HTTP_8_a_resource_that_was_dropped_lives_as_long_as_somebody_has_it) {
    FileCache cache({});
    cache.keep("/a", resource(), kStart);
    auto held = cache.find("/a", kStart).resource;
    std::weak_ptr<const Resource> watched = held;
    cache.keep("/a", resource(), kStart);
    EXPECT_NE(cache.find("/a", kStart).resource, held);
    EXPECT_FALSE(watched.expired());
    held.reset();
    EXPECT_TRUE(watched.expired());
    EXPECT_EQ(cache.files(), 1U);
}

TEST(FileCache, HTTP_8_many_fibers_use_it_at_once) {
    FileCache cache({.files = 32, .fresh_time = milliseconds(0)});
    Result<void> outcome = run(
        [&] {
            std::vector<Future<void>> users;
            for (int user = 0; user < 8; ++user) {
                users.push_back(spawn([&cache, user] {
                    for (int i = 0; i < 2000; ++i) {
                        std::string path = "/" + std::to_string((user * 7 + i) % 100);
                        auto found = cache.find(path, kStart);
                        if (!found.resource) cache.keep(path, resource(10), kStart);
                        if (i % 10 == 0) cache.forget(path);
                    }
                }));
            }
            for (Future<void>& user : users) EXPECT_TRUE(user.join());
        },
        {.workers = 4});
    EXPECT_TRUE(outcome);
    EXPECT_LE(cache.files(), 32U);
    EXPECT_EQ(cache.memory_bytes(), cache.files() * 10);
}

}  // namespace
}  // namespace weft::http
