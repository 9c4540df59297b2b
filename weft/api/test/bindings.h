// Native functions of the test runner: reports to the host, and the scopes of tests.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> test_bindings();

}  // namespace weft::api
