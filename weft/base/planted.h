// Planted bugs: deliberate faults, which prove that the tests detect faults of that kind.
//
// `if (WEFT_PLANTED("area.name"))` is constant false in every build that ships; in WEFT_CHECKED
// builds one of them can be switched on by name for a run, and so it can in model tests.
#pragma once

#ifdef WEFT_CHECKED

#include <string_view>

namespace weft::planted {

// The name of the fault that is on; empty for none. Set before a run, by one thread.
void enable(std::string_view name);
bool is_enabled(std::string_view name);

}  // namespace weft::planted

#define WEFT_PLANTED(name) (::weft::planted::is_enabled(name))

#elif defined(WEFT_MODEL)

#include <string_view>

namespace weft::planted {

// Switches a fault on for its own lifetime. One at a time, around a run of the model checker.
class Enabled {
public:
    explicit Enabled(std::string_view name) { name_ = name; }
    ~Enabled() { name_ = {}; }
    Enabled(const Enabled&) = delete;
    Enabled& operator=(const Enabled&) = delete;

    static bool is(std::string_view name) { return name == name_; }

private:
    static inline std::string_view name_;
};

}  // namespace weft::planted

#define WEFT_PLANTED(name) (::weft::planted::Enabled::is(name))

#else

#define WEFT_PLANTED(name) false

#endif
