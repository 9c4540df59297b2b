#pragma once

#include <concepts>
#include <expected>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/base/error.h"

#ifndef __cpp_lib_expected
#error "Weft needs C++23: -std=c++23, or target_compile_features(... cxx_std_23)"
#endif

namespace weft {

// A value or the Error that explains why there is none. Everything of std::expected works on it.
//
//     Result<Frame> read_frame(Stream& stream) {
//         auto header = WEFT_TRY(read_header(stream));           // passes an error up unchanged
//         if (header.bytes > kFrameBytesMax) return ErrorKind::Limit;
//         return Frame(header);
//     }
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
    static_assert(!std::same_as<T, Error> && !std::same_as<T, ErrorKind>,
                  "a Result of an error cannot tell its value from its error");
    using Base = std::expected<T, Error>;

public:
    using Base::Base;
    Result() = default;
    Result(Error error) noexcept : Base(std::unexpect, std::move(error)) {}
    Result(ErrorKind kind) noexcept : Base(std::unexpect, kind) {}

    // Templates that match exactly: otherwise these and those of std::expected would be ambiguous.
    template <std::same_as<Result> Other>
    friend constexpr bool operator==(const Result& a, const Other& b) {
        if (a.has_value() != b.has_value()) return false;
        if (!a.has_value()) return a.error() == b.error();
        if constexpr (std::is_void_v<T>) {
            return true;
        } else {
            return static_cast<bool>(*a == *b);
        }
    }
    template <class Value>
        requires(!std::derived_from<Value, Base> && std::constructible_from<Base, const Value&>)
    friend constexpr bool operator==(const Result& result, const Value& value) {
        return result.has_value() && static_cast<bool>(*result == value);
    }
};

static_assert(sizeof(Result<int>) == 24);

// Returns the result; its error, if it has one, gains context: see Error::with_context().
//
//     File file = WEFT_TRY(in_context(File::open(path), "the list of users"));
template <class T>
Result<T> in_context(Result<T> result, std::string_view action, std::string_view thing = {}) {
    if (!result) [[unlikely]]
        result.error() = result.error().with_context(action, thing);
    return result;
}

namespace result_internal {

// The value of a successful result: moved out of a temporary, copied out of a named result.
template <class R>
constexpr auto take_value(R&& result) -> typename std::remove_cvref_t<R>::value_type {
    if constexpr (!std::is_void_v<typename std::remove_cvref_t<R>::value_type>) {
        return *std::forward<R>(result);
    }
}

}  // namespace result_internal
}  // namespace weft

// Gives the value of a Result, or returns its error from the enclosing function. Stands alone as
// a statement or as an initializer, never inside a larger expression. For a named Result of a
// move-only type write WEFT_TRY(std::move(result)).
#define WEFT_TRY(...) WEFT_TRY_NAMED(WEFT_TRY_JOIN(weft_try_, __COUNTER__), __VA_ARGS__)
#define WEFT_TRY_JOIN(a, b) WEFT_TRY_JOIN_EXPANDED(a, b)
#define WEFT_TRY_JOIN_EXPANDED(a, b) a##b
#define WEFT_TRY_NAMED(name, ...)                                                \
    __extension__({                                                              \
        auto&& name = (__VA_ARGS__);                                             \
        if (!name.has_value()) [[unlikely]]                                      \
            return std::forward<decltype(name)>(name).error();                   \
        ::weft::result_internal::take_value(std::forward<decltype(name)>(name)); \
    })
