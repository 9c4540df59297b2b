// Plain memory of the model checker, with race detection.
#pragma once

#include <string>
#include <utility>

#include "weft/testing/model_execution.h"

namespace weft::model {

// Detects that two threads touch the same plain memory, one of them writing, without one happening
// before the other: in every execution, also when it has no visible effect.
class RaceDetector {
public:
    void read() const {
        if (!is_current()) return;
        VectorClock& clock = current_execution->clock();
        if (!clock.covers(writes_)) report("read while another thread may write it");
        ThreadIndex self = current_execution->running();
        reads_[self] = clock[self];
    }
    void write() const {
        if (!is_current()) return;
        VectorClock& clock = current_execution->clock();
        if (!clock.covers(writes_)) report("written by two threads at once");
        if (!clock.covers(reads_)) report("written while another thread may read it");
        ThreadIndex self = current_execution->running();
        writes_[self] = clock[self];
    }

private:
    bool is_current() const noexcept {
        if (current_execution == nullptr) return false;
        if (serial_ == Execution::serial()) return true;
        serial_ = Execution::serial();
        reads_ = writes_ = VectorClock();
        return true;
    }
    [[noreturn]] static void report(const char* what) {
        current_execution->fail(std::string("data race: plain memory is ") + what);
    }

    mutable VectorClock reads_;
    mutable VectorClock writes_;
    mutable std::uint32_t serial_ = 0;
};

// A plain variable. It is copied and moved like a T; each copy and move is a read or a write.
template <class T>
class Plain {
public:
    Plain() : Plain(T{}) {}
    Plain(T value) : value_(std::move(value)) { races_.write(); }
    Plain(const Plain& other) : Plain(other.get()) {}
    Plain(Plain&& other) noexcept : Plain(other.take()) {}
    Plain& operator=(const Plain& other) {
        if (this != &other) set(other.get());
        return *this;
    }
    Plain& operator=(Plain&& other) noexcept {
        if (this != &other) set(other.take());
        return *this;
    }
    ~Plain() { races_.write(); }

    const T& get() const {
        races_.read();
        return value_;
    }
    void set(T value) {
        races_.write();
        value_ = std::move(value);
    }
    T take() {
        races_.write();
        return std::move(value_);
    }

private:
    T value_;
    RaceDetector races_;
};

}  // namespace weft::model
