// Output for people. Colours are used only on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::app {

enum class Stream : std::uint8_t { Out, Error };
enum class Colour : std::uint8_t { Red, Yellow, Green, Blue, Bold, Dim };

// Whether colours are used: on a terminal, unless NO_COLOR is set; always, if FORCE_COLOR is set.
bool has_colours(Stream stream);
std::string coloured(Stream stream, Colour colour, std::string_view text);

// Writes the text and a newline at once.
void write_line(Stream stream, std::string_view text);
// Writes "weft: " and the text to stderr.
void complain(std::string_view text);

}  // namespace weft::app
