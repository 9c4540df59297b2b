// OnEnd: what the owner of a function object does for others when it is destroyed.
//
// A fiber gets its stack when it first runs. Where there is no memory for it then, its function is
// destroyed without having run, and of a job only its group or task is told. So what others wait
// for is done by a part of the function, which ends with it: after the run, after an exception, or
// in place of the run.
//
//     group.go([&, on_end = OnEnd([&] { pieces.close(); })] { ... });
//
// In place of the run, the worker calls it in the midst of a switch: it must neither wait nor
// throw. One owner; one that was moved from owes nothing.
#pragma once

#include <utility>

namespace weft {

template <class Function>
class OnEnd {
public:
    explicit OnEnd(Function function) : function_(std::move(function)) {}
    OnEnd(OnEnd&& other) noexcept
        : function_(std::move(other.function_)), owes_(std::exchange(other.owes_, false)) {}
    OnEnd& operator=(OnEnd&&) = delete;
    ~OnEnd() {
        if (owes_) function_();
    }

private:
    Function function_;
    bool owes_ = true;
};

}  // namespace weft
