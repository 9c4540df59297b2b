// LineEditor: lines from a person, by libedit, with a history and completion; or from a file.
//
// read() is called on a plain thread that may block; cancel() on any other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft::app {

// What can follow a text: each of the names in the place of what begins at `from`.
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
    // Waits for a line, without its end.
    virtual InputLine read(const std::string& prompt) = 0;
    // The line that is being typed, or the next one, is dropped.
    virtual void cancel() = 0;
    virtual void remember(const std::string& text) = 0;
    virtual bool is_terminal() const = 0;

    using Complete = std::function<Completion(const std::string& before)>;
    // Standard input; a file for the history, or an empty text.
    static Result<std::unique_ptr<LineEditor>> open(const std::string& history, Complete complete);
};

// Where the history is kept by default: $WEFT_REPL_HISTORY, else the folder for such things.
std::string history_path();

}  // namespace weft::app
