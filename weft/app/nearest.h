// "Did you mean": the word that was probably meant.
#pragma once

#include <span>
#include <string_view>

namespace weft::app {

// The nearest of the words by letters that were left out, added or changed; empty if none is near.
// Upper and lower case are the same.
std::string_view nearest(std::string_view written, std::span<const std::string_view> words);

}  // namespace weft::app
