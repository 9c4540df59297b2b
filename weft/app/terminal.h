// What the program writes to people: colours only where a person looks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::app {

enum class Stream : std::uint8_t { Out, Error };
enum class Colour : std::uint8_t { Red, Yellow, Green, Blue, Bold, Dim };

// A terminal, unless NO_COLOR is set; anything, if FORCE_COLOR is.
bool has_colours(Stream stream);
std::string coloured(Stream stream, Colour colour, std::string_view text);

// A whole text with one write, with a newline at its end.
void write_line(Stream stream, std::string_view text);
// "weft: " and the text, to stderr.
void complain(std::string_view text);

}  // namespace weft::app
