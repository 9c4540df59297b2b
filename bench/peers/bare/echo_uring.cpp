// What the kernel leaves for a TCP echo on io_uring: one thread, multishot accept and receive into
// a ring of provided buffers, SINGLE_ISSUER and DEFER_TASKRUN. `echo_uring echo <port>`.
#include <liburing.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/common/listen.h"

namespace {

constexpr unsigned kSubmissions = 4096;
constexpr unsigned kCompletions = 32 * 1024;
constexpr unsigned kBuffers = 4096;
constexpr std::size_t kBufferBytes = 4096;
constexpr int kBufferGroup = 0;

// Newer than the headers of liburing 2.3; the kernel has them since 6.0 and 6.1.
constexpr unsigned kSingleIssuer = 1U << 12;
constexpr unsigned kDeferTaskrun = 1U << 13;

enum class Operation : std::uint8_t { Accept = 1, Receive, Send };

// What a completion belongs to, packed into its user data.
struct Tag {
    Operation operation;
    std::uint16_t buffer;
    int fd;

    std::uint64_t pack() const {
        return static_cast<std::uint64_t>(operation) << 56 |
               static_cast<std::uint64_t>(buffer) << 32 | static_cast<std::uint32_t>(fd);
    }
    static Tag unpack(std::uint64_t word) {
        return {static_cast<Operation>(word >> 56), static_cast<std::uint16_t>(word >> 32),
                static_cast<int>(static_cast<std::uint32_t>(word))};
    }
};

void require(int result, const char* what) {
    if (result >= 0) return;
    std::fprintf(stderr, "%s: %s\n", what, std::strerror(-result));
    std::exit(1);
}

void* map_memory(std::size_t bytes) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
}

class Server {
public:
    explicit Server(int listener) : listener_(listener) {
        io_uring_params parameters{};
        parameters.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | kSingleIssuer | kDeferTaskrun;
        parameters.cq_entries = kCompletions;
        require(io_uring_queue_init_params(kSubmissions, &ring_, &parameters), "io_uring");
        provide_buffers();
        accept_connections();
    }

    void serve() {
        for (;;) {
            io_uring_submit_and_wait(&ring_, 1);
            unsigned head = 0;
            unsigned seen = 0;
            io_uring_cqe* completion = nullptr;
            io_uring_for_each_cqe(&ring_, head, completion) {
                handle(*completion);
                ++seen;
            }
            io_uring_cq_advance(&ring_, seen);
        }
    }

private:
    void provide_buffers() {
        buffers_ = static_cast<char*>(map_memory(kBuffers * kBufferBytes));
        free_ = static_cast<io_uring_buf_ring*>(map_memory(kBuffers * sizeof(io_uring_buf)));
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uint64_t>(free_);
        registration.ring_entries = kBuffers;
        registration.bgid = kBufferGroup;
        require(io_uring_register_buf_ring(&ring_, &registration, 0), "buffer ring");
        io_uring_buf_ring_init(free_);
        for (unsigned i = 0; i < kBuffers; ++i) give_back(static_cast<std::uint16_t>(i));
    }

    char* buffer(std::uint16_t index) { return buffers_ + index * kBufferBytes; }

    void give_back(std::uint16_t index) {
        const int mask = io_uring_buf_ring_mask(kBuffers);
        io_uring_buf_ring_add(free_, buffer(index), kBufferBytes, index, mask, 0);
        io_uring_buf_ring_advance(free_, 1);
    }

    io_uring_sqe* next_submission(Tag tag) {
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        while (entry == nullptr) {
            io_uring_submit(&ring_);
            entry = io_uring_get_sqe(&ring_);
        }
        next_user_data_ = tag.pack();
        return entry;
    }

    // The prep functions clear the entry, so the tag goes in last.
    void finish(io_uring_sqe* entry) { entry->user_data = next_user_data_; }

    void accept_connections() {
        io_uring_sqe* entry = next_submission({Operation::Accept, 0, listener_});
        io_uring_prep_multishot_accept(entry, listener_, nullptr, nullptr, 0);
        finish(entry);
    }

    void receive_from(int fd) {
        io_uring_sqe* entry = next_submission({Operation::Receive, 0, fd});
        io_uring_prep_recv_multishot(entry, fd, nullptr, 0, 0);
        entry->flags |= IOSQE_BUFFER_SELECT;
        entry->buf_group = kBufferGroup;
        finish(entry);
    }

    void send_back(int fd, std::uint16_t index, std::size_t bytes) {
        io_uring_sqe* entry = next_submission({Operation::Send, index, fd});
        io_uring_prep_send(entry, fd, buffer(index), bytes, MSG_NOSIGNAL);
        finish(entry);
    }

    void handle(const io_uring_cqe& completion) {
        const Tag tag = Tag::unpack(completion.user_data);
        switch (tag.operation) {
        case Operation::Accept: return on_accept(completion);
        case Operation::Receive: return on_receive(completion, tag.fd);
        case Operation::Send: return give_back(tag.buffer);
        }
    }

    void on_accept(const io_uring_cqe& completion) {
        if (completion.res >= 0) {
            bench::disable_nagle(completion.res);
            receive_from(completion.res);
        }
        if ((completion.flags & IORING_CQE_F_MORE) == 0) accept_connections();
    }

    void on_receive(const io_uring_cqe& completion, int fd) {
        if (completion.res == -ENOBUFS) return receive_from(fd);
        if (completion.res <= 0) {
            close(fd);
            return;
        }
        const auto index = static_cast<std::uint16_t>(completion.flags >> IORING_CQE_BUFFER_SHIFT);
        send_back(fd, index, static_cast<std::size_t>(completion.res));
        if ((completion.flags & IORING_CQE_F_MORE) == 0) receive_from(fd);
    }

    int listener_;
    io_uring ring_{};
    io_uring_buf_ring* free_ = nullptr;
    char* buffers_ = nullptr;
    std::uint64_t next_user_data_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    Server(bench::listen_on(std::strtoul(argv[2], nullptr, 10), 0)).serve();
}
