// std::function and std::move_only_function without the rest of <functional>, which brings hash
// tables and algorithms along and would lengthen the compilation of every program.
#pragma once

#include <initializer_list>  // the first of the parts below needs it and does not include it

// tidy: allow-file foreign: parts of the standard library, if it is split that way
#if __has_include(<bits/std_function.h>) && __has_include(<bits/move_only_function.h>)
#include <bits/move_only_function.h>
#include <bits/std_function.h>
#else
#include <functional>
#endif
