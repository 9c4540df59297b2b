// The operations of virtual threads, and their description in a trace. Used by model_execution.h
// alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string>
#include <string_view>

#include "weft/testing/model_memory.h"

namespace weft::model {

// The next operation of a thread that others can notice. It is known before it happens, so that the
// scheduler can tell which operations of different threads may be swapped without a difference.
struct Operation {
    enum class Kind : std::uint8_t {
        Load,
        Store,
        Update,           // exchange and fetch_*
        CompareExchange,  // reads only, when it fails
        Spin,             // enabled when something that its loop has read has changed
        Join,             // enabled when all other threads have finished
        FutexWait,
        FutexWoken,  // enabled when a wake has come
        FutexWake,
        Finish,  // the thread has ended
    };

    Kind kind = Kind::Finish;
    LocationIndex location = 0;
    std::memory_order order = std::memory_order_relaxed;
    std::source_location where;

    bool has_location() const noexcept {
        return kind != Kind::Spin && kind != Kind::Join && kind != Kind::FutexWoken &&
               kind != Kind::Finish;
    }
    bool is_futex() const noexcept { return kind == Kind::FutexWait || kind == Kind::FutexWake; }
    bool may_write() const noexcept {
        return kind == Kind::Store || kind == Kind::Update || kind == Kind::CompareExchange;
    }
};

// An operation as it happened.
struct Event {
    Operation operation;
    ThreadIndex thread = 0;
    bool wrote = false;
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    std::uint32_t missed = 0;  // how many newer stores the load did not see
};

inline std::string_view to_string(std::memory_order order) noexcept {
    switch (order) {
    case std::memory_order_relaxed: return "relaxed";
    case std::memory_order_consume: return "consume";
    case std::memory_order_acquire: return "acquire";
    case std::memory_order_release: return "release";
    case std::memory_order_acq_rel: return "acq_rel";
    case std::memory_order_seq_cst: return "seq_cst";
    }
    return "?";
}

inline std::string_view to_string(Operation::Kind kind) noexcept {
    using Kind = Operation::Kind;
    switch (kind) {
    case Kind::Load: return "load";
    case Kind::Store: return "store";
    case Kind::Update: return "update";
    case Kind::CompareExchange: return "compare_exchange";
    case Kind::Spin: return "spin";
    case Kind::Join: return "join_all";
    case Kind::FutexWait: return "futex_wait";
    case Kind::FutexWoken: return "futex_wait";
    case Kind::FutexWake: return "futex_wake";
    case Kind::Finish: return "finished";
    }
    return "?";
}

inline std::string place(const std::source_location& where) {
    const char* file = where.file_name();
    const char* slash = std::strrchr(file, '/');
    return std::string(slash != nullptr ? slash + 1 : file) + ":" + std::to_string(where.line());
}

inline std::string number(std::uint64_t value) {
    constexpr std::uint64_t readable_max = 1'000'000;
    if (value < readable_max) return std::to_string(value);
    if (-value < readable_max) return "-" + std::to_string(-value);
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (; value != 0; value >>= 4) text.insert(text.begin(), digits[value & 15]);
    return "0x" + text;
}

// "a3", or the name that the test has given to the atomic.
inline std::string name_of(LocationIndex index, const Memory& memory) {
    const char* name = memory[index].name();
    return name != nullptr ? name : "a" + std::to_string(index);
}

inline std::string describe(const Operation& operation, const Memory& memory) {
    std::string text(to_string(operation.kind));
    if (operation.has_location()) text = name_of(operation.location, memory) + "." + text;
    return text;
}

// One line: who, what, where in the source.
inline std::string describe(const Event& event, const Memory& memory) {
    using Kind = Operation::Kind;
    const Operation& operation = event.operation;
    std::string text = "T" + std::to_string(event.thread) + "  " + describe(operation, memory);
    switch (operation.kind) {
    case Kind::Load: text += " -> " + number(event.read); break;
    case Kind::Store: text += "(" + number(event.written) + ")"; break;
    case Kind::Update: text += " " + number(event.read) + " -> " + number(event.written); break;
    case Kind::CompareExchange:
        text += event.wrote ? " " + number(event.read) + " -> " + number(event.written)
                            : " failed on " + number(event.read);
        break;
    case Kind::FutexWait: text += event.wrote ? " sleeps" : " returns at once"; break;
    case Kind::FutexWoken: text += " is woken"; break;
    default: break;
    }
    if (operation.has_location() && !operation.is_futex()) {
        text += ", " + std::string(to_string(operation.order));
    }
    if (event.missed != 0) {
        text += ", missing " + std::to_string(event.missed) + " newer";
    }
    constexpr std::size_t place_column = 64;
    if (text.size() < place_column) text.append(place_column - text.size(), ' ');
    return text + "  " + place(operation.where);
}

}  // namespace weft::model
