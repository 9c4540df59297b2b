#include "weft/http/server/thread_server.h"

#include <chrono>
#include <utility>

#include "weft/fiber/fiber.h"
#include "weft/http/server/internal/thread_connection.h"

namespace weft::http {
namespace {

// How long an idle thread cannot be told to end; a busy one is told between two requests.
constexpr std::chrono::milliseconds kSlice{50};
// Without descriptors, memory or threads: before the next is accepted.
constexpr std::chrono::milliseconds kRest{10};

}  // namespace

ThreadServer::ThreadServer(Handler handler, ServerOptions options)
    : handler_(std::move(handler)), options_(std::move(options)) {}

Result<net::Address> ThreadServer::listen(const net::Address& address, net::ListenOptions options) {
    listener_ = WEFT_TRY(net::Listener::open(address, options));
    return listener_->address();
}

Result<void> ThreadServer::serve() {
    if (current()) return Error(ErrorKind::Misuse, "a fiber must not wait for threads");
    if (!listener_) return Error(ErrorKind::Misuse, "listen() comes first");
    Result<void> outcome = accept_all();
    listener_->close();
    source_.cancel();
    while (join_one()) {}
    return outcome;
}

// Until close().
Result<void> ThreadServer::accept_all() {
    CancelScope ambient(source_.token());
    for (;;) {
        Result<net::Socket> socket = listener_->accept();
        join_ended();
        if (socket) {
            begin(std::move(*socket));
            continue;
        }
        ErrorKind kind = socket.error().kind();
        if (kind == ErrorKind::Cancelled) return {};
        if (kind != ErrorKind::OutOfFds && kind != ErrorKind::OutOfMemory) return socket.error();
        if (!sleep_for(kRest)) return {};
    }
}

void ThreadServer::begin(net::Socket socket) {
    if (connections() >= options_.limits.connections) return;
    if (!socket.wait_in_kernel(kSlice)) return;
    Seats made;
    Seat& seat = made.emplace_back();
    seat.server = this;
    seat.peer = socket.peer_address();
    seat.socket = std::move(socket);
    seat.place = made.begin();
    {
        SpinGuard guard(lock_);
        seats_.splice(seats_.end(), made);
    }
    seat.thread = env::start_thread(thread_main, &seat, "http-connection");
    if (seat.thread.handle != 0) return;
    SpinGuard guard(lock_);
    made.splice(made.end(), seats_, seat.place);
}

void ThreadServer::thread_main(void* argument) {
    Seat& seat = *static_cast<Seat*>(argument);
    ThreadServer& server = *seat.server;
    {
        CancelScope ambient(server.source_.token());
        ThreadConnection(server.handler_, server.options_, seat.socket, seat.peer).serve();
    }
    seat.socket.close();
    SpinGuard guard(server.lock_);
    server.ended_.splice(server.ended_.end(), server.seats_, seat.place);
}

void ThreadServer::join_ended() {
    Seats ended;
    {
        SpinGuard guard(lock_);
        ended.swap(ended_);
    }
    for (Seat& seat : ended) env::join_thread(seat.thread);
}

// False: there is none left.
bool ThreadServer::join_one() {
    join_ended();
    Seat* seat = nullptr;
    {
        SpinGuard guard(lock_);
        // The seat stays until this thread takes it away, whichever list it is in.
        if (!seats_.empty()) seat = &seats_.front();
        // One may have ended since we looked.
        if (!seat) return !ended_.empty();
    }
    env::join_thread(seat->thread);
    Seats gone;
    SpinGuard guard(lock_);
    gone.splice(gone.end(), ended_, seat->place);
    return true;
}

std::size_t ThreadServer::connections() const {
    SpinGuard guard(lock_);
    return seats_.size();
}

}  // namespace weft::http
