// What nearly every test includes, parsed once.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
