// Assertions that end the process. A broken invariant is never returned as an error and never
// ignored, also not in release builds. Any thread or fiber may assert.
//
//     WEFT_ASSERT(count <= limit);
//     WEFT_ASSERT(count <= limit, "the caller reserves before it adds");
//
// The report is one line on stderr:
//     weft: assertion failed: <condition>: <text> (<file>:<line>)
//
// In the programs of the model checker a broken assertion fails the explored execution instead,
// so that its schedule can be shown.
#pragma once

#ifdef WEFT_MODEL
#include "weft/testing/model_atomic.h"
#define WEFT_ASSERTION_FAILED ::weft::model::assertion_failed
#else
namespace weft {

// Writes the report with one write(2) and aborts. `text` may be empty. Does not allocate.
[[noreturn]] void assertion_failed(const char* condition, const char* text, const char* file,
                                   int line) noexcept;

}  // namespace weft
#define WEFT_ASSERTION_FAILED ::weft::assertion_failed
#endif

// The optional second argument is a string literal. On in every build.
#define WEFT_ASSERT(condition, ...)                       \
    (__builtin_expect(static_cast<bool>(condition), true) \
         ? static_cast<void>(0)                           \
         : WEFT_ASSERTION_FAILED(#condition, "" __VA_ARGS__, __FILE__, __LINE__))

// Only without NDEBUG; for checks that cost something on a hot path.
#ifdef NDEBUG
#define WEFT_DASSERT(condition, ...) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define WEFT_DASSERT(condition, ...) WEFT_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#endif

// Marks a place that control cannot reach. Checked in every build.
#define WEFT_UNREACHABLE()                                                                    \
    WEFT_ASSERTION_FAILED("unreachable", "control came to a place it cannot reach", __FILE__, \
                          __LINE__)
