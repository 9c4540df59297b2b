// Planted bugs: deliberate faults that prove that the tests can see such faults.
//
// `if (WEFT_PLANTED("area.name"))` is constant false in every build that ships; in WEFT_CHECKED
// builds one of them can be switched on by name for a run.
#pragma once

#ifdef WEFT_CHECKED

#include <string_view>

namespace weft::planted {

// The name of the fault that is on; empty for none. Set before a run, by one thread.
void enable(std::string_view name);
bool is_enabled(std::string_view name);

}  // namespace weft::planted

#define WEFT_PLANTED(name) (::weft::planted::is_enabled(name))

#else

#define WEFT_PLANTED(name) false

#endif
