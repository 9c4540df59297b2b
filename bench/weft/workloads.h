// Our workloads, each the measure of one metric. They run on a fiber; `count` is the size that
// bench/driver/catalog.py gives to ours and the peers alike. Each prints its own result.
#pragma once

#include <cstddef>

#include "bench/common/measure.h"

namespace bench {

unsigned workers();
const Reporter& reporter();

// spawning.cpp
void yield(std::size_t count);
void spawn(std::size_t count);
void spawn_join(std::size_t count);
void fibonacci(std::size_t count);
void skynet(std::size_t leaves);

// meeting.cpp
void stream_unbuffered(std::size_t count);
void stream_buffered(std::size_t count);
void ping_unbuffered(std::size_t count);
void ping_buffered(std::size_t count);
void many_to_many(std::size_t count);
void mutex(std::size_t count);

// waiting.cpp
void sleep(std::size_t count);
void timer(std::size_t count);
void park(std::size_t count);
void park20k(std::size_t count);
void idle(std::size_t count);

// reactors.cpp
void file(std::size_t count);
void pipe(std::size_t count);

// belonging.cpp
void group(std::size_t count);
void task(std::size_t count);
void pool(std::size_t count);
void timeout(std::size_t count);
void context(std::size_t count);
void contexts(std::size_t count);

// echo.cpp
void echo(std::size_t port);

}  // namespace bench
