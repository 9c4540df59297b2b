#include "weft/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

Error caught(auto thrown) {
    try {
        throw thrown;
    } catch (...) {
        return Error::from_current_exception();
    }
}

TEST(Error, an_error_is_sixteen_bytes) { EXPECT_EQ(sizeof(Error), 16u); }

// What a constant expression can do does not allocate.
static_assert([] {
    Error error(ErrorKind::Cancelled);
    Error moved = std::move(error);
    return moved.kind() == ErrorKind::Cancelled && moved == Error(ErrorKind::Cancelled);
}());

TEST(Error, every_kind_has_its_own_phrase) {
    std::set<std::string_view> phrases;
    for (int kind = 0; kind <= static_cast<int>(ErrorKind::Other); ++kind) {
        std::string_view phrase = to_string(static_cast<ErrorKind>(kind));
        EXPECT_FALSE(phrase.empty());
        EXPECT_TRUE(phrases.insert(phrase).second) << phrase;
    }
    EXPECT_EQ(to_string(static_cast<ErrorKind>(250)), "unknown error kind");
}

TEST(Error, the_message_of_a_bare_kind_is_its_phrase) {
    Error error(ErrorKind::TimedOut);
    EXPECT_EQ(error.message(), "timed out");
    EXPECT_EQ(error.native_code(), 0);
    EXPECT_EQ(error.exception(), nullptr);
}

TEST(Error, the_message_of_a_native_code_describes_it) {
    EXPECT_EQ(Error::from_errno(EINVAL).message(), "Invalid argument");
    EXPECT_EQ(Error(ErrorKind::Other, 99999).message(), "other error 99999");
}

TEST(Error, NET_3b_a_kind_and_its_native_code_say_one_thing) {
    EXPECT_EQ(Error::from_errno(ECONNREFUSED).message(), "Connection refused");
    EXPECT_EQ(Error::from_errno(ENOENT).message(), "No such file or directory");
}

TEST(Error, NET_3b_context_stands_before_the_message_from_the_outside_in) {
    Error inner = Error::from_errno(ECONNREFUSED).with_context("connect", "127.0.0.1:80");
    EXPECT_EQ(inner.message(), "connect 127.0.0.1:80: Connection refused");
    Error outer = inner.with_context("the health check");
    EXPECT_EQ(outer.message(), "the health check: connect 127.0.0.1:80: Connection refused");
    EXPECT_EQ(outer, Error::from_errno(ECONNREFUSED));
    EXPECT_EQ(Error(ErrorKind::TimedOut).with_context("read").message(), "read: timed out");
}

TEST(Error, NET_3b_a_cancelled_error_takes_no_context) {
    EXPECT_EQ(Error(ErrorKind::Cancelled).with_context("read", "a file").message(), "cancelled");
}

TEST(Error, NET_3b_context_keeps_an_exception) {
    Error error = caught(std::out_of_range("index 7")).with_context("GET", "/users");
    EXPECT_EQ(error.message(), "GET /users: index 7");
    EXPECT_THROW(error.rethrow(), std::out_of_range);
}

TEST(Error, NET_3b_a_limit_says_its_number_and_its_name) {
    Error error = Error::limit("the head has more bytes than", 65536, "Limits::head_bytes_max");
    EXPECT_EQ(error.kind(), ErrorKind::Limit);
    EXPECT_EQ(error.message(), "the head has more bytes than 65536 (Limits::head_bytes_max)");
}

TEST(Error, NET_3b_a_long_text_is_cut_and_not_overrun) {
    std::string thing(100'000, 'x');
    EXPECT_EQ(Error(ErrorKind::Closed).with_context("read", thing).message().size(), 64u * 1024);
}

TEST(Error, a_given_text_is_the_message) {
    Error error(ErrorKind::Refused, ECONNREFUSED, "connect to the database: nobody listens");
    EXPECT_EQ(error.message(), "connect to the database: nobody listens");
    EXPECT_EQ(error.kind(), ErrorKind::Refused);
    EXPECT_EQ(error.native_code(), ECONNREFUSED);
}

TEST(Error, an_empty_text_is_no_text) {
    EXPECT_EQ(Error(ErrorKind::Closed, "").message(), "closed");
}

TEST(Error, a_text_may_hold_any_bytes) {
    std::string_view bytes("a\0b\xff", 4);
    EXPECT_EQ(Error(ErrorKind::Other, bytes).message(), bytes);
}

TEST(Error, native_codes_map_to_kinds) {
    struct Row {
        int native_code;
        ErrorKind kind;
    };
    constexpr Row rows[] = {
        {ECONNREFUSED, ErrorKind::Refused},
        {ECONNRESET, ErrorKind::Reset},
        {EPIPE, ErrorKind::Reset},
        {ECONNABORTED, ErrorKind::Reset},
        {EADDRINUSE, ErrorKind::AddressInUse},
        {EMFILE, ErrorKind::OutOfFds},
        {ENFILE, ErrorKind::OutOfFds},
        {ENOMEM, ErrorKind::OutOfMemory},
        {ENOBUFS, ErrorKind::OutOfMemory},
        {ETIMEDOUT, ErrorKind::TimedOut},
        {ENETUNREACH, ErrorKind::Unreachable},
        {EHOSTUNREACH, ErrorKind::Unreachable},
        {ENETDOWN, ErrorKind::Unreachable},
        {EHOSTDOWN, ErrorKind::Unreachable},
        {EMSGSIZE, ErrorKind::Limit},
        {ECANCELED, ErrorKind::Cancelled},
        {ENOENT, ErrorKind::NotFound},
        {ESRCH, ErrorKind::NotFound},
        {EEXIST, ErrorKind::AlreadyExists},
        {EACCES, ErrorKind::PermissionDenied},
        {EPERM, ErrorKind::PermissionDenied},
        {EINVAL, ErrorKind::Other},
    };
    for (const Row& row : rows) {
        Error error = Error::from_errno(row.native_code);
        EXPECT_EQ(error.kind(), row.kind) << row.native_code;
        EXPECT_EQ(error.native_code(), row.native_code);
    }
    EXPECT_EQ(Error::from_errno(EPIPE, "write").message(), "write");
}

TEST(Error, equality_is_kind_and_native_code) {
    EXPECT_EQ(Error(ErrorKind::Closed), Error(ErrorKind::Closed, "with a text"));
    EXPECT_NE(Error(ErrorKind::Closed), Error(ErrorKind::Reset));
    EXPECT_NE(Error::from_errno(ECONNRESET), Error::from_errno(EPIPE));
}

TEST(Error, copies_share_the_text_and_survive_the_original) {
    Error copy(ErrorKind::Other);
    {
        Error original(ErrorKind::Limit, "too many");
        copy = original;
        Error second = copy;
        EXPECT_EQ(second.message(), "too many");
    }
    EXPECT_EQ(copy.message(), "too many");
    EXPECT_EQ(copy.kind(), ErrorKind::Limit);
}

TEST(Error, assigning_an_error_to_itself_keeps_it) {
    Error error(ErrorKind::Limit, "kept");
    Error& same = error;
    error = same;
    EXPECT_EQ(error.message(), "kept");
}

TEST(Error, an_exception_keeps_its_type_and_text) {
    Error error = caught(std::out_of_range("index 7"));
    EXPECT_EQ(error.kind(), ErrorKind::Exception);
    EXPECT_EQ(error.message(), "index 7");
    ASSERT_NE(error.exception(), nullptr);
    EXPECT_THROW(error.rethrow(), std::out_of_range);
    EXPECT_THROW(Error(error).rethrow(), std::out_of_range);
}

TEST(Error, an_exception_of_any_type_is_held) {
    Error error = caught(42);
    EXPECT_EQ(error.message(), "exception of unknown type");
    EXPECT_THROW(error.rethrow(), int);
}

TEST(Error, an_exception_without_text_has_an_empty_message) {
    EXPECT_EQ(caught(std::runtime_error("")).message(), "");
}

TEST(Error, no_current_exception_is_misuse) {
    EXPECT_EQ(Error::from_current_exception().kind(), ErrorKind::Misuse);
}

TEST(ErrorDeathTest, rethrowing_an_error_without_exception_aborts) {
    EXPECT_DEATH(Error(ErrorKind::Closed).rethrow(), "weft: assertion failed: .*no exception");
}

TEST(Error, threads_may_copy_and_drop_the_same_error) {
    Error shared = caught(std::runtime_error("shared"));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([error = shared] {
            for (int round = 0; round < 1000; ++round) {
                Error copy = error;
                Error moved = std::move(copy);
                ASSERT_EQ(moved.kind(), ErrorKind::Exception);
            }
        });
    }
    shared = ErrorKind::Closed;
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft
