// The suggestion of "Did you mean".
#pragma once

#include <span>
#include <string_view>

namespace weft::app {

// The word with the smallest edit distance (Levenshtein, ignoring case); empty if none is near.
std::string_view nearest(std::string_view written, std::span<const std::string_view> words);

}  // namespace weft::app
