#include "weft/base/planted.h"

#ifdef WEFT_CHECKED

#include <string>

namespace weft::planted {
namespace {
// At most one fault is on. Only test builds compile this.
std::string& enabled_name() {
    static std::string name;
    return name;
}
}  // namespace

void enable(std::string_view name) { enabled_name() = name; }
bool is_enabled(std::string_view name) { return !enabled_name().empty() && enabled_name() == name; }

}  // namespace weft::planted

#endif
