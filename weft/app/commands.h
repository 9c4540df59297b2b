// Executes the commands of the program.
//
// On a plain thread: each function starts a runtime and returns the exit status when it has ended.
#pragma once

#include <memory>

#include "weft/app/app_host.h"
#include "weft/app/command_line.h"
#include "weft/base/function.h"

namespace weft::app {

// Opens the engine; tests pass another function.
using OpenHost = std::function<Result<std::unique_ptr<AppHost>>(Runtime& runtime)>;

// "weft serves shop on http://127.0.0.1:8080/", a line for each listener.
void write_places(const ServeConfig& config, const std::vector<net::Address>& addresses);

int execute(const Command& command, const OpenHost& open_host);
int serve(const ServeCommand& command, const OpenHost& open_host);
int test(const TestCommand& command, const OpenHost& open_host);
int run_script(const ScriptCommand& command, const OpenHost& open_host);

}  // namespace weft::app
