// Reads and writes of a TLS stream that need not wait leave turns to other fibers of the worker.
#include <gtest/gtest.h>

#include <string>

#include "weft/net/tls/tls_stream.h"
#include "weft/testing/tls_peers.h"
#include "weft/testing/turn_counter.h"

namespace weft::net::tls {
namespace {

using namespace weft::testing;

constexpr std::size_t kRecordBytes = 16 * 1024;

// Two ends, of which the client has received a whole record and read its first byte.
Result<Peers> peers_with_a_record(Contexts& contexts) {
    Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
    WEFT_TRY(peers.server->write_all(as_bytes(std::string(kRecordBytes, 'a'))));
    std::byte first[1];
    WEFT_TRY(peers.client->read(first, in_ten_seconds()));
    return peers;
}

TEST(TlsTurn, FIB_15i_a_record_that_is_read_byte_by_byte_leaves_turns_to_others) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(peers_with_a_record(contexts));
        std::byte byte[1];
        TurnCounter another;
        for (std::size_t i = 1; i < kRecordBytes; ++i)
            WEFT_TRY(peers.client->read(byte, in_ten_seconds()));
        EXPECT_GE(another.turns(), (kRecordBytes - 1) / kTurnOperationsMax);
        return {};
    });
}

TEST(TlsTurn, FIB_15i_a_sleeper_beside_a_reader_of_one_record_wakes) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(peers_with_a_record(contexts));
        std::byte byte[1];
        bool woken = false;
        auto sleeper = spawn([&]() -> Result<void> {
            // tidy: allow sleep: it is what must come in time
            WEFT_TRY(sleep_for(std::chrono::milliseconds(1)));
            woken = true;
            return {};
        });
        yield();  // it sleeps
        // So that its deadline has passed, by the kernel's coarse clock too, before the next read.
        Instant overdue = Clock::now() + std::chrono::milliseconds(20);
        while (Clock::now() < overdue) {}
        for (std::size_t i = 1; i < kRecordBytes; ++i)
            WEFT_TRY(peers.client->read(byte, in_ten_seconds()));
        EXPECT_TRUE(woken);
        return sleeper.join();
    });
}

TEST(TlsTurn, FIB_15i_writes_that_are_always_taken_leave_turns_to_others) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        TurnCounter another;
        // Not more than the buffer of a socket takes.
        for (std::size_t i = 0; i < kTurnOperationsMax; ++i)
            WEFT_TRY(peers.server->write_all(as_bytes("a"), in_ten_seconds()));
        EXPECT_GE(another.turns(), 1U);
        return {};
    });
}

}  // namespace
}  // namespace weft::net::tls
