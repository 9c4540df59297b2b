// What the sources of js/ and api/ include, parsed once: V8 above all.
#pragma once

#include <v8.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <functional>
#include <map>
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
#include "weft/base/bytes.h"
#include "weft/base/error.h"
#include "weft/base/format.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
