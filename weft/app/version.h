#pragma once

namespace weft::app {

// As in CMakeLists.txt.
inline constexpr const char* kVersion = WEFT_VERSION;

}  // namespace weft::app
