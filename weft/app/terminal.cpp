#include "weft/app/terminal.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace weft::app {
namespace {

bool is_set(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

std::string_view code_of(Colour colour) {
    switch (colour) {
    case Colour::Red: return "31;1";
    case Colour::Yellow: return "33;1";
    case Colour::Green: return "32";
    case Colour::Blue: return "34";
    case Colour::Bold: return "1";
    case Colour::Dim: return "2";
    }
    return "0";
}

}  // namespace

bool has_colours(Stream stream) {
    if (is_set("NO_COLOR")) return false;
    if (is_set("FORCE_COLOR")) return true;
    return ::isatty(stream == Stream::Out ? STDOUT_FILENO : STDERR_FILENO) == 1;
}

std::string coloured(Stream stream, Colour colour, std::string_view text) {
    if (!has_colours(stream)) return std::string(text);
    std::string result = "\033[";
    result += code_of(colour);
    result += 'm';
    result += text;
    result += "\033[0m";
    return result;
}

void write_line(Stream stream, std::string_view text) {
    std::string line(text);
    if (!line.ends_with('\n')) line += '\n';
    std::FILE* file = stream == Stream::Out ? stdout : stderr;
    (void)std::fwrite(line.data(), 1, line.size(), file);
    (void)std::fflush(file);
}

void complain(std::string_view text) {
    std::string line = coloured(Stream::Error, Colour::Red, "weft:");
    line += ' ';
    line += text;
    write_line(Stream::Error, line);
}

}  // namespace weft::app
