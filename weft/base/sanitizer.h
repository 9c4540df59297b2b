// WEFT_ASAN and WEFT_TSAN: which sanitizer this is compiled for, by either compiler.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#endif
