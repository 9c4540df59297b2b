// The program `weft`: see command_line.h.
#include <string>
#include <vector>

#include "weft/app/command_line.h"
#include "weft/app/commands.h"
#include "weft/app/engine_library.h"

int main(int count, char** words) {
    std::vector<std::string> arguments(words + 1, words + count);
    return weft::app::execute(weft::app::parse_command_line(arguments), weft::app::open_engine);
}
