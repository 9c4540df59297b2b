#include "weft/data/postgres/internal/cancel.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "weft/base/assert.h"
#include "weft/base/bytes.h"
#include "weft/data/failure.h"
#include "weft/fiber/blocking.h"
#include "weft/net/socket.h"
#include "weft/net/tls/tls_stream.h"

#ifdef LIBPQ_HAS_ASYNC_CANCEL
#include <fcntl.h>

#include <cerrno>

#include "weft/fiber/io.h"
#else
#include <sys/socket.h>
#endif

namespace weft::data::postgres {

Result<net::tls::ClientContext*> CancelContext::get() {
    std::lock_guard guard(mutex_);
    if (!context_) {
        context_.emplace(
            WEFT_TRY(blocking([&] { return net::tls::ClientContext::create(config_); })));
    }
    return &*context_;
}

#ifdef LIBPQ_HAS_ASYNC_CANCEL

namespace {

struct CancelDeleter {
    void operator()(PGcancelConn* cancel) const { PQcancelFinish(cancel); }
};

// libpq may close its descriptor at any time, so a duplicate is used.
[[gnu::noinline]] int duplicate(int fd) {
    int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 ? copy : -errno;
}

}  // namespace

Result<std::optional<CancelKey>> CancelKey::of(PGconn*) {
    return std::optional<CancelKey>(CancelKey());
}

// libpq takes address, key and encryption from the session.
Result<void> CancelKey::send(PGconn* pg, const CancelTls&) const {
    std::unique_ptr<PGcancelConn, CancelDeleter> cancel(PQcancelCreate(pg));
    if (!cancel) return ErrorKind::OutOfMemory;
    if (PQcancelStart(cancel.get()) == 0)
        return to_error("postgres", "08001", "a cancel could not be sent");
    PostgresPollingStatusType polling = PGRES_POLLING_WRITING;
    while (polling != PGRES_POLLING_OK) {
        if (polling == PGRES_POLLING_FAILED)
            return to_error("postgres", "08001", "a cancel could not be sent");
        int copy = duplicate(PQcancelSocket(cancel.get()));
        if (copy < 0) return Error::from_errno(-copy);
        Descriptor socket = Descriptor::adopt_nonblocking(copy, Flow::Unknown);
        if (polling == PGRES_POLLING_READING) {
            WEFT_TRY(socket.wait_readable());
        } else {
            WEFT_TRY(socket.wait_writable());
        }
        polling = PQcancelPoll(cancel.get());
    }
    return {};
}

#else

namespace {

// The memory behind PQgetCancel() in all versions of libpq without PQcancelCreate(): the address of
// the server, the session's process and its key. There is no other access to the key.
struct LibpqAddress {
    sockaddr_storage native;
    socklen_t bytes;
};
struct LibpqCancel {
    LibpqAddress address;
    int process;
    int key;
};
constexpr int kForeignVersion = 18'00'00;  // from here on the layout is unknown

struct CancelDeleter {
    void operator()(PGcancel* cancel) const { PQfreeCancel(cancel); }
};

constexpr std::uint32_t kCancelCode = 1234u << 16 | 5678u;
constexpr std::uint32_t kTlsCode = 1234u << 16 | 5679u;

template <std::size_t Count>
std::array<std::byte, Count * 4> packet(const std::array<std::uint32_t, Count>& numbers) {
    std::array<std::byte, Count * 4> bytes;
    for (std::size_t at = 0; at < bytes.size(); ++at)
        bytes[at] = static_cast<std::byte>(numbers[at / 4] >> (24 - at % 4 * 8));
    return bytes;
}

// Asks the server for TLS, then performs the handshake.
Result<std::unique_ptr<net::Stream>> encrypt(std::unique_ptr<net::Stream> stream,
                                             const CancelTls& tls) {
    WEFT_ASSERT(tls.context, "only a session with TLS encrypts its cancels");
    WEFT_TRY(stream->write_all(packet(std::array{8u, kTlsCode})));
    std::byte answer[1];
    std::size_t count = WEFT_TRY(stream->read(answer));
    if (count != 1 || answer[0] != std::byte{'S'})
        return to_error("postgres", "08001", "the server takes no encrypted cancel");
    net::tls::ClientContext* context = WEFT_TRY(tls.context->get());
    std::unique_ptr<net::Stream> encrypted =
        WEFT_TRY(net::TlsStream::connect(std::move(stream), *context, tls.host, Deadline::never()));
    return encrypted;
}

}  // namespace

Result<std::optional<CancelKey>> CancelKey::of(PGconn* pg) {
    std::unique_ptr<PGcancel, CancelDeleter> cancel(PQgetCancel(pg));
    if (!cancel) return ErrorKind::OutOfMemory;
    LibpqCancel known{};
    std::memcpy(&known, cancel.get(), sizeof(known));
    bool is_so = PQlibVersion() < kForeignVersion && known.process == PQbackendPID(pg);
    if (!is_so) return std::nullopt;
    CancelKey key;
    const auto* native = reinterpret_cast<const sockaddr*>(&known.address.native);
    key.address_ = WEFT_TRY(net::Address::from_native(native, known.address.bytes));
    key.process_ = known.process;
    key.key_ = known.key;
    return std::optional<CancelKey>(std::move(key));
}

Result<void> CancelKey::send(PGconn* pg, const CancelTls& tls) const {
    return send_request(PQsslInUse(pg) != 0 && tls.context != nullptr, tls);
}

Result<void> CancelKey::send_request(bool encrypted, const CancelTls& tls) const {
    net::Socket socket = WEFT_TRY(net::Socket::connect(address_));
    std::unique_ptr<net::Stream> stream = std::make_unique<net::Socket>(std::move(socket));
    if (encrypted) stream = WEFT_TRY(encrypt(std::move(stream), tls));
    std::array numbers{16u, kCancelCode, static_cast<std::uint32_t>(process_),
                       static_cast<std::uint32_t>(key_)};
    WEFT_TRY(stream->write_all(packet(numbers)));
    std::byte answer[64];
    // The server sends no answer; the end of the stream, in whatever way, says that the request was
    // passed on.
    for (;;) {
        Result<std::size_t> count = stream->read(answer);
        if (count && *count == 0) return {};
        if (count) continue;
        ErrorKind kind = count.error().kind();
        if (kind == ErrorKind::Cancelled || kind == ErrorKind::TimedOut) return count.error();
        return {};
    }
}

#endif

}  // namespace weft::data::postgres
