// Exchange: what a connection needs while it is awake, and gives back before it sleeps.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/env.h"
#include "weft/http/internal/incoming_body.h"
#include "weft/http/internal/read_buffer.h"
#include "weft/http/limits.h"
#include "weft/http/wire/date.h"
#include "weft/http/wire/head.h"

namespace weft::http {

struct Exchange {
    explicit Exchange(const ServerLimits& limits) : parser(limits.head) {}

    // For the next connection.
    void clear() {
        parser.reset();
        buffer.clear();
        output.clear();
        if (output.capacity() > 2 * kWriteGatherBytes) output.shrink_to_fit();
    }

    // The Date field's value; formatted once a second.
    std::string_view date() {
        std::int64_t now_s = env::wall_ns() / 1'000'000'000;
        if (now_s != date_s) {
            date_s = now_s;
            date_text = wire::format_date(now_s);
        }
        return date_text.view();
    }

    wire::RequestParser parser;
    ReadBuffer buffer;
    IncomingBody body;
    std::string output;  // gathered, not sent yet
    std::int64_t date_s = -1;
    wire::DateText date_text{};
    std::unique_ptr<Exchange> next;  // in the pool
};

}  // namespace weft::http
