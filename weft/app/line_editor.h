// LineEditor: reads lines from a terminal, by libedit with history and completion; or from a file.
//
// read() is called on a plain thread that may block, cancel() on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft::app {

// The completions of a text: each name can replace what begins at `from`.
struct Completion {
    std::size_t from = 0;
    std::vector<std::string> names;
};

struct InputLine {
    enum class Kind : std::uint8_t { Text, End, Cancelled };
    Kind kind = Kind::End;
    std::string text = {};
};

class LineEditor {
public:
    virtual ~LineEditor() = default;
    // Waits for a line and returns it without its line end.
    virtual InputLine read(const std::string& prompt) = 0;
    // Drops the line that is being typed, or the next one.
    virtual void cancel() = 0;
    virtual void remember(const std::string& text) = 0;
    virtual bool is_terminal() const = 0;

    using Complete = std::function<Completion(const std::string& before)>;
    // Reads standard input. `history` is the file for the history; empty: none is kept.
    static Result<std::unique_ptr<LineEditor>> open(const std::string& history, Complete complete);
};

// The file for the history: $WEFT_REPL_HISTORY, else one in the user's folder for program state.
std::string history_path();

}  // namespace weft::app
