// What a fiber is called in dumps, in reports of stalls and in the message of an overflow.
//
// A name that was given (SpawnOptions::name, group.go("load prices", ...)) is a copy that the fiber
// owns. Where none was given it has a label: what kind of job it is, or which route it answers. A
// label is never changed or freed. So whoever looks at a fiber from outside (the dump, the monitor,
// a debugger) may read it at any time, and to set one is a store: no lock, no allocation.
//
// For those who build owners of jobs and servers; a program gives names.
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

    // A label for a text that is only known at run time, as the pattern of a route: kept for good,
    // once for each text. So it is for texts of which a program has a few, never for what a client
    // sent. Long ones are cut, and control characters replaced. Null: there are kKeptMax already.
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

// Of the fiber that runs, from now on. A name that it was given goes before it. On a plain thread
// nothing.
void set_label(const FiberLabel& label);

// The name that the running fiber was given, without regard to its label.
std::string_view given_name();

// Gives the running fiber a name while it does one job of several. An empty name gives none.
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
    Fiber* fiber_ = nullptr;  // whose name has been exchanged with this one
};

}  // namespace weft
