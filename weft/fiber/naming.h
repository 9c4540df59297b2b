// What a fiber is called in dumps, in reports of stalls and in the message of an overflow.
//
// A name that was given (SpawnOptions::name, group.go("load prices", ...)) is a copy that the fiber
// owns. A fiber without a name has a label: what kind of job it is, or which route it answers. A
// label is never changed or freed. So the dump, the monitor and a debugger may read it at any time,
// and setting one is a store: no lock, no allocation.
//
// Labels are for the implementation of servers and of owners of jobs; programs give names.
// FiberLabel::keep(): any thread. All else: the running fiber.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

struct Fiber;

class FiberLabel {
public:
    // A variable that lives as long as the program: static constexpr FiberLabel kLabel("task");
    template <std::size_t kBytes>
    consteval explicit FiberLabel(const char (&text)[kBytes]) : text_(text), bytes_(kBytes - 1) {}
    FiberLabel(const FiberLabel&) = delete;
    FiberLabel& operator=(const FiberLabel&) = delete;

    // A label for a text that is only known at run time, such as the pattern of a route. It is kept
    // for the life of the process, once for each text: so only for texts of which a program has a
    // few, never for what a client sent. Long texts are cut, and control characters replaced. Null:
    // there are kKeptMax already.
    static const FiberLabel* keep(std::string_view text);
    static constexpr std::size_t kKeptMax = 4096;
    static constexpr std::size_t kKeptBytesMax = 200;

    std::string_view text() const { return {text_, bytes_}; }

private:
    struct Kept;
    explicit FiberLabel(std::string_view text) : text_(text.data()), bytes_(text.size()) {}

    // Read by debuggers as well: an address and a count.
    const char* text_;
    std::size_t bytes_;
};

// Sets the label of the running fiber. A given name takes precedence over it. Does nothing on a
// plain thread.
void set_label(const FiberLabel& label);

// The name that the running fiber was given, even if it has a label; empty if none.
std::string_view given_name();

// Gives the running fiber a name for the time of one of several jobs. Does nothing for an empty
// name.
class NameScope {
public:
    // `name` is lent to the fiber: it must stay untouched until the end.
    explicit NameScope(std::string& name) : name_(name) {
        if (!name.empty()) [[unlikely]]
            enter();
    }
    ~NameScope() {
        if (fiber_) [[unlikely]]
            exchange();
    }
    NameScope(const NameScope&) = delete;
    NameScope& operator=(const NameScope&) = delete;

private:
    void enter();
    void exchange();

    std::string& name_;
    Fiber* fiber_ = nullptr;  // the fiber whose name was exchanged with name_
};

}  // namespace weft
