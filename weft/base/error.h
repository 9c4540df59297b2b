#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

enum class ErrorKind : std::uint8_t {
    Cancelled,
    TimedOut,
    Closed,
    Refused,
    Reset,
    Unreachable,
    AddressInUse,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    Dns,
    Tls,
    Limit,
    OutOfFds,
    OutOfMemory,
    NoRuntime,
    Misuse,
    Unavailable,
    Exception,
    Other,
};

// A short phrase in lower case, such as "timed out".
std::string_view to_string(ErrorKind kind) noexcept;

// Why something did not succeed: a kind for the program, a native code (errno) when the kernel
// gave one, and a text or an exception for people. A value; copies share the immutable detail,
// so any thread may hold one. Kinds without text do not allocate; when the detail cannot be
// allocated the error keeps kind and code and loses only its text.
//
// The text tells where it happened, from the outermost operation inwards, and repeats nothing: what
// was done to which thing, then why it failed.
// "GET http://example.com/: connect 192.0.2.1:80: Connection refused".
class Error {
public:
    constexpr Error(ErrorKind kind) noexcept
        : kind_(kind) {}  // implicit: `return ErrorKind::Closed;`
    constexpr Error(ErrorKind kind, int native_code) noexcept
        : native_code_(native_code), kind_(kind) {}
    Error(ErrorKind kind, std::string_view message) noexcept : Error(kind, 0, message) {}
    Error(ErrorKind kind, int native_code, std::string_view message) noexcept;

    static Error from_errno(int native_code) noexcept;
    static Error from_errno(int native_code, std::string_view message) noexcept;
    // Kind Limit: "<breach> <limit> (<name>)", as in "the body has more bytes than 1048576
    // (ServerLimits::body_bytes_max)".
    static Error limit(std::string_view breach, std::uint64_t limit,
                       std::string_view name) noexcept;
    // Kind Exception, holding the exception; its what() is the message. Null gives Misuse.
    static Error from_exception(std::exception_ptr exception) noexcept;
    static Error from_current_exception() noexcept;

    Error(const Error& other) noexcept
        : detail_(other.detail_), native_code_(other.native_code_), kind_(other.kind_) {
        if (detail_ != nullptr) share(*detail_);
    }
    constexpr Error(Error&& other) noexcept
        : detail_(std::exchange(other.detail_, nullptr)),
          native_code_(other.native_code_),
          kind_(other.kind_) {}
    Error& operator=(Error other) noexcept {
        std::swap(detail_, other.detail_);
        native_code_ = other.native_code_;
        kind_ = other.kind_;
        return *this;
    }
    constexpr ~Error() {
        if (detail_ != nullptr) release(detail_);
    }

    constexpr ErrorKind kind() const noexcept { return kind_; }
    constexpr int native_code() const noexcept { return native_code_; }  // errno; 0 = none
    // The text it was made with, else the description of the native code, else the kind's phrase.
    std::string message() const;
    // The same error with "<action> <thing>: " before its message; `thing` may be empty. A
    // Cancelled is returned unchanged: it is no failure, and the canceller knows what it cancelled.
    // For results: in_context().
    Error with_context(std::string_view action, std::string_view thing = {}) const noexcept;
    std::exception_ptr exception() const noexcept;  // null when it holds none
    [[noreturn]] void rethrow() const;              // asserts that it holds an exception

    // Same kind and native code; texts are for people and do not count.
    friend constexpr bool operator==(const Error& a, const Error& b) noexcept {
        return a.kind_ == b.kind_ && a.native_code_ == b.native_code_;
    }

private:
    struct Detail;

    std::string_view text() const noexcept;
    static void share(Detail& detail) noexcept;
    static void release(Detail* detail) noexcept;

    Detail* detail_ = nullptr;
    int native_code_ = 0;
    ErrorKind kind_;
};

static_assert(sizeof(Error) == 16);

}  // namespace weft
