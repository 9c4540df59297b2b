// What most sources of the library include, parsed once: of the standard library, and of base/ what
// everything stands on. A change to a header named here compiles the whole library anew.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/error.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
