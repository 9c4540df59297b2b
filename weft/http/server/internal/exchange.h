// Exchange: what a connection needs while it is active, and gives back before it becomes idle:
// parser, buffers and the scope of its requests. Pooled by the shard.
//
// Owned by the fiber or the loop that serves the connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/async/recurring_scope.h"
#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/http/internal/incoming_body.h"
#include "weft/http/internal/read_buffer.h"
#include "weft/http/limits.h"
#include "weft/http/server/internal/loop_request.h"
#include "weft/http/wire/date.h"
#include "weft/http/wire/head.h"

namespace weft::http {

struct Exchange {
    // At which phase a fiber begins that is given the exchange; see connection.cpp.
    enum class Start : std::uint8_t {
        ReadHead,
        Admit,   // the head is parsed
        Write,   // the request was served in the loop, and has its outcome
        Linger,  // the last response is written
        // What is left of the output is sent. Then the connection becomes idle, ends, or goes on in
        // the loop.
        Idle,
        End,
        Loop,
    };

    explicit Exchange(const ServerLimits& limits) : parser(limits.head) {}

    // It holds nothing of its connection, for which another exchange would do as well.
    bool is_bare() const { return start == Start::ReadHead && buffer.empty() && output.empty(); }

    // For the next connection.
    void clear() {
        WEFT_DASSERT(loop.state == LoopRequest::State::None && !loop.request,
                     "no request is left in it");
        parser.reset();
        buffer.clear();
        output.clear();
        start = Start::ReadHead;
        if (output.capacity() > 2 * kWriteGatherBytes) output.shrink_to_fit();
    }

    // The token of the scope for the next requests. It is made anew only if the last one was
    // cancelled or somebody still holds it.
    CancelState* fresh_token(CancelState* parent) {
        bool reusable =
            scope && scope->is_unshared() && scope->state()->peek() == CancelReason::None;
        if (!reusable) scope.emplace(parent);
        if (!scope->state()->is_unasked()) scope->expect_observer();
        return scope->state();
    }

    // The whole Date field; formatted once a second.
    std::string_view date_line() {
        if (now >= date_until) {
            std::int64_t wall_ns = env::wall_ns();
            wire::DateText date = wire::format_date(wall_ns / kSecondNs);
            date_text.assign("Date: ").append(date.view()).append("\r\n");
            date_until = now + Nanoseconds(kSecondNs - wall_ns % kSecondNs);
        }
        return date_text;
    }

    wire::RequestParser parser;
    ReadBuffer buffer;
    IncomingBody body;
    std::string output;  // gathered, not sent yet
    Instant now{};       // when the worker came to the request
    Start start = Start::ReadHead;
    LoopRequest loop;
    std::unique_ptr<Exchange> next;              // in the pool
    std::optional<async::RecurringScope> scope;  // a round for each request

private:
    static constexpr std::int64_t kSecondNs = 1'000'000'000;

    Instant date_until{};
    std::string date_text;
};

}  // namespace weft::http
