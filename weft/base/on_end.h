// OnEnd: calls a function when the function object that captured it is destroyed.
//
// A fiber gets its stack when it first runs. If there is no memory for the stack then, the fiber's
// function is destroyed without having run, and only the group or task of the job learns of it. An
// action that others wait for is therefore captured as an OnEnd: it is called after the run, after
// an exception, or in place of the run.
//
//     group.go([&, on_end = OnEnd([&] { pieces.close(); })] { ... });
//
// In place of the run it is called by the worker, in the middle of a context switch: it must not
// wait or throw. It has one owner; an OnEnd that was moved from calls nothing.
#pragma once

#include <utility>

namespace weft {

template <class Function>
class OnEnd {
public:
    explicit OnEnd(Function function) : function_(std::move(function)) {}
    OnEnd(OnEnd&& other) noexcept
        : function_(std::move(other.function_)), armed_(std::exchange(other.armed_, false)) {}
    OnEnd& operator=(OnEnd&&) = delete;
    ~OnEnd() {
        if (armed_) function_();
    }

private:
    Function function_;
    bool armed_ = true;
};

}  // namespace weft
