#pragma once

namespace weft::app {

// The version in CMakeLists.txt.
inline constexpr const char* kVersion = WEFT_VERSION;

}  // namespace weft::app
