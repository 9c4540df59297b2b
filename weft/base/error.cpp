#include "weft/base/error.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <new>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"

namespace weft {

// One block: this header and, directly behind it, the text.
struct Error::Detail {
    Atomic<std::uint32_t> references{1};
    std::uint32_t text_bytes = 0;
    std::exception_ptr exception;

    char* text() noexcept { return reinterpret_cast<char*>(this + 1); }

    // Null when there is no memory: reporting an error must not fail.
    static Detail* create(std::initializer_list<std::string_view> parts,
                          std::exception_ptr exception) noexcept {
        constexpr std::size_t kTextBytesMax = 64 * 1024;
        std::size_t bytes = 0;
        for (std::string_view part : parts) bytes += part.size();
        bytes = std::min(bytes, kTextBytesMax);
        // Allocated without a constructor because the text lies in the same block. release() frees
        // it.
        void* block = ::operator new(sizeof(Detail) + bytes, std::nothrow);
        if (block == nullptr) return nullptr;
        auto* detail = ::new (block) Detail;
        detail->exception = std::move(exception);
        for (std::string_view part : parts) {
            part = part.substr(0, bytes - detail->text_bytes);
            if (!part.empty())
                std::memcpy(detail->text() + detail->text_bytes, part.data(), part.size());
            detail->text_bytes += static_cast<std::uint32_t>(part.size());
        }
        return detail;
    }
};

std::string_view to_string(ErrorKind kind) noexcept {
    switch (kind) {
    case ErrorKind::Cancelled: return "cancelled";
    case ErrorKind::TimedOut: return "timed out";
    case ErrorKind::Closed: return "closed";
    case ErrorKind::Refused: return "connection refused";
    case ErrorKind::Reset: return "connection reset";
    case ErrorKind::Unreachable: return "unreachable";
    case ErrorKind::AddressInUse: return "address in use";
    case ErrorKind::NotFound: return "not found";
    case ErrorKind::AlreadyExists: return "already exists";
    case ErrorKind::PermissionDenied: return "permission denied";
    case ErrorKind::Dns: return "name resolution failed";
    case ErrorKind::Tls: return "tls failed";
    case ErrorKind::Limit: return "limit reached";
    case ErrorKind::OutOfFds: return "out of file descriptors";
    case ErrorKind::OutOfMemory: return "out of memory";
    case ErrorKind::NoRuntime: return "no runtime";
    case ErrorKind::Misuse: return "misuse";
    case ErrorKind::Unavailable: return "unavailable";
    case ErrorKind::Exception: return "exception";
    case ErrorKind::Other: return "other error";
    }
    return "unknown error kind";
}

namespace {

ErrorKind kind_of_errno(int native_code) noexcept {
    switch (native_code) {
    case ECONNREFUSED: return ErrorKind::Refused;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE: return ErrorKind::Reset;
    case EADDRINUSE: return ErrorKind::AddressInUse;
    case ENOENT:
    case ESRCH: return ErrorKind::NotFound;
    case EEXIST: return ErrorKind::AlreadyExists;
    case EACCES:
    case EPERM: return ErrorKind::PermissionDenied;
    case EMFILE:
    case ENFILE: return ErrorKind::OutOfFds;
    case ENOMEM:
    case ENOBUFS: return ErrorKind::OutOfMemory;
    case ETIMEDOUT: return ErrorKind::TimedOut;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN: return ErrorKind::Unreachable;
    case EMSGSIZE: return ErrorKind::Limit;
    case ECANCELED: return ErrorKind::Cancelled;
    default: return ErrorKind::Other;
    }
}

// A number as decimal text, without an allocation.
class Digits {
public:
    explicit Digits(std::uint64_t number) noexcept
        : end_(std::to_chars(digits_, digits_ + sizeof digits_, number).ptr) {}
    std::string_view text() const noexcept { return {digits_, end_}; }

private:
    char digits_[20];
    const char* end_;
};

}  // namespace

Error::Error(ErrorKind kind, int native_code, std::string_view message) noexcept
    : detail_(message.empty() ? nullptr : Detail::create({message}, nullptr)),
      native_code_(native_code),
      kind_(kind) {}

Error Error::from_errno(int native_code) noexcept {
    return Error(kind_of_errno(native_code), native_code);
}

Error Error::from_errno(int native_code, std::string_view message) noexcept {
    return Error(kind_of_errno(native_code), native_code, message);
}

Error Error::from_exception(std::exception_ptr exception) noexcept {
    if (exception == nullptr) return Error(ErrorKind::Misuse, "there is no exception to hold");
    Error error(ErrorKind::Exception);
    try {
        std::rethrow_exception(exception);
    } catch (const std::exception& thrown) {
        error.detail_ = Detail::create({thrown.what()}, std::move(exception));
    } catch (...) {
        error.detail_ = Detail::create({"exception of unknown type"}, std::move(exception));
    }
    return error;
}

Error Error::from_current_exception() noexcept { return from_exception(std::current_exception()); }

std::string_view Error::text() const noexcept {
    if (detail_ != nullptr) return {detail_->text(), detail_->text_bytes};
    const char* description = native_code_ != 0 ? ::strerrordesc_np(native_code_) : nullptr;
    return description != nullptr ? description : to_string(kind_);
}

std::string Error::message() const {
    std::string message(text());
    bool is_unknown =
        detail_ == nullptr && native_code_ != 0 && ::strerrordesc_np(native_code_) == nullptr;
    return is_unknown ? message + " " + std::to_string(native_code_) : message;
}

Error Error::with_context(std::string_view action, std::string_view thing) const noexcept {
    if (kind_ == ErrorKind::Cancelled) return *this;
    Error error(kind_, native_code_);
    error.detail_ =
        Detail::create({action, thing.empty() ? "" : " ", thing, ": ", text()}, exception());
    return error.detail_ != nullptr ? error : *this;
}

Error Error::limit(std::string_view breach, std::uint64_t limit, std::string_view name) noexcept {
    Error error(ErrorKind::Limit);
    error.detail_ = Detail::create({breach, " ", Digits(limit).text(), " (", name, ")"}, nullptr);
    return error;
}

std::exception_ptr Error::exception() const noexcept {
    return detail_ != nullptr ? detail_->exception : nullptr;
}

void Error::rethrow() const {
    std::exception_ptr held = exception();
    WEFT_ASSERT(held != nullptr, "rethrow() of an error that holds no exception");
    std::rethrow_exception(std::move(held));
}

void Error::share(Detail& detail) noexcept {
    // Relaxed: the copied error holds a reference, so the block cannot be freed meanwhile.
    detail.references.fetch_add(1, std::memory_order_relaxed);
}

void Error::release(Detail* detail) noexcept {
    // Acquire-release: every holder's last reads happen before the block is freed by the last one.
    if (detail->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    detail->~Detail();
    ::operator delete(detail);
}

}  // namespace weft
