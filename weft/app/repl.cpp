#include "weft/app/repl.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/app/config.h"
#include "weft/app/terminal.h"
#include "weft/app/version.h"
#include "weft/base/format.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/os/signal.h"

namespace weft::app {
namespace {

using nlohmann::json;

constexpr const char* kHelp =
    ".help         this\n"
    ".load FILE    evaluate a file as if it had been typed\n"
    ".clear        forget the lines of an input that is not complete\n"
    ".exit         end; so does Ctrl-D\n\n"
    "Ctrl-C ends an evaluation, or drops what has been typed. Tab completes a name.\n"
    "`await` and `import` work as in a module, and `_` is the last value.";

bool is_blank(const std::string& text) {
    return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

// A remote object as an argument of a call: its id, or the value itself.
json argument_of(const json& remote) {
    if (remote.contains("objectId")) return {{"objectId", remote["objectId"]}};
    if (remote.contains("unserializableValue"))
        return {{"unserializableValue", remote["unserializableValue"]}};
    if (remote.contains("value")) return {{"value", remote["value"]}};
    return json::object();
}

// Whether the text could not be compiled. A SyntaxError that was thrown has stack frames.
bool is_syntax_error(const json& details) {
    const json& exception = details.value("exception", json::object());
    return !details.contains("stackTrace") && exception.value("className", "") == "SyntaxError";
}

// The text from the place of an error on. The place is in lines and UTF-16 units.
std::string_view rest_at(std::string_view text, std::size_t line, std::size_t column) {
    constexpr unsigned kContinuation = 0x80;
    constexpr unsigned kContinuationMask = 0xC0;
    constexpr unsigned kFirstOfFour = 0xF0;
    while (line > 0 && text.contains('\n')) {
        text.remove_prefix(text.find('\n') + 1);
        --line;
    }
    while (column > 0 && !text.empty()) {
        auto first = static_cast<unsigned char>(text.front());
        column -= std::min<std::size_t>(column, first >= kFirstOfFour ? 2 : 1);
        text.remove_prefix(1);
        while (!text.empty() &&
               (static_cast<unsigned char>(text.front()) & kContinuationMask) == kContinuation)
            text.remove_prefix(1);
    }
    return text;
}

// Whether the next line may complete the input.
bool is_incomplete(const json& details, const std::string& text) {
    if (!is_syntax_error(details)) return false;
    std::string message = details.value("exception", json::object()).value("description", "");
    if (message.contains("Unexpected end of input") ||
        message.contains("Unterminated template literal"))
        return true;
    // V8 also reports this for a comment that does not end.
    if (message.contains("Invalid or unexpected token"))
        return rest_at(text, details.value("lineNumber", 0U), details.value("columnNumber", 0U))
            .starts_with("/*");
    // V8 reports this at the place where the bracket is missing: at the end, it is incomplete.
    std::size_t last = text.find_last_not_of(" \t\r\n;");
    std::size_t line_begin = text.rfind('\n', last);
    std::size_t column = last - (line_begin == std::string::npos ? 0 : line_begin + 1);
    return message.contains("missing ) after argument list") &&
           details.value("columnNumber", 0U) >= column;
}

// What is being typed: a name that begins at `from`, and the expression before its dot, if any.
struct Unfinished {
    std::string owner;
    std::size_t from = 0;
};

bool is_name_part(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '$';
}

Unfinished unfinished_of(const std::string& before) {
    std::size_t from = before.size();
    while (from > 0 && is_name_part(before[from - 1])) --from;
    if (from == 0 || before[from - 1] != '.') return {{}, from};
    std::size_t end = from - 1;
    if (end > 0 && before[end - 1] == '?') --end;
    std::size_t begin = end;
    // Names and indices only: a completion must not call functions.
    while (begin > 0 &&
           (is_name_part(before[begin - 1]) || before[begin - 1] == '.' ||
            before[begin - 1] == '[' || before[begin - 1] == ']' || before[begin - 1] == '"' ||
            before[begin - 1] == '\'' || before[begin - 1] == '?'))
        --begin;
    return {before.substr(begin, end - begin), from};
}

}  // namespace

Result<json> Repl::ask(std::string_view function, json arguments, Deadline deadline) {
    json answer =
        WEFT_TRY(client_.call("Runtime.callFunctionOn",
                              {{"objectId", helper_},
                               {"functionDeclaration",
                                format("function(...all) {{ return this.{}(...all); }}", function)},
                               {"arguments", std::move(arguments)},
                               {"returnByValue", true},
                               {"silent", true}},
                              deadline));
    return answer.value("result", json::object()).value("value", json());
}

Result<void> Repl::find_helper() {
    json answer = WEFT_TRY(client_.call(
        "Runtime.evaluate", {{"expression", "$weft"}, {"includeCommandLineAPI", true}}));
    helper_ = answer.value("result", json::object()).value("objectId", "");
    if (helper_.empty()) return Error(ErrorKind::Unavailable, "the engine has no part for a repl");
    return {};
}

// Called on the signal thread, for SIGINT.
void Repl::interrupt(DebugTarget& target, LineEditor& editor) {
    // Relaxed: if the change is missed, the user presses Ctrl-C again.
    if (!evaluates_.load(std::memory_order_relaxed)) return editor.cancel();
    target.interrupt();
    client_.give_up();
}

Result<int> Repl::run(DebugTarget& target) {
    client_.attach(target);
    WEFT_TRY(find_helper());
    std::unique_ptr<LineEditor> editor = WEFT_TRY(LineEditor::open(
        history_path(), [this](const std::string& before) { return complete(before); }));
    is_person_ = editor->is_terminal();
    SignalHook hook = WEFT_TRY(SignalHook::open(SIGINT, [&](int) { interrupt(target, *editor); }));
    if (is_person_)
        write_line(Stream::Out, format("weft {}; .help tells more, Ctrl-D ends", kVersion));
    return read_all(*editor);
}

Result<int> Repl::read_all(LineEditor& editor) {
    std::string text;
    bool all_well = true;
    while (true) {
        std::string prompt = text.empty() ? "> " : "... ";
        InputLine line =
            WEFT_TRY(blocking([&]() -> Result<InputLine> { return editor.read(prompt); }));
        if (line.kind == InputLine::Kind::Cancelled) {
            text.clear();
            continue;
        }
        if (line.kind == InputLine::Kind::End) break;
        bool is_command = line.text.starts_with('.') && line.text.size() > 1 &&
                          line.text[1] >= 'a' && line.text[1] <= 'z';
        if (is_command && (text.empty() || line.text == ".clear")) {
            text.clear();
            if (WEFT_TRY(command(line.text, editor)) == Outcome::End) return 0;
            continue;
        }
        text += (text.empty() ? "" : "\n") + line.text;
        if (is_blank(text)) {
            text.clear();
            continue;
        }
        Result<Outcome> outcome = take(text, editor);
        if (!outcome && outcome.error().kind() == ErrorKind::OutOfMemory) {
            complain(outcome.error().message());
            return 1;
        }
        if (!outcome && outcome.error().kind() != ErrorKind::Exception) return outcome.error();
        all_well = all_well && outcome.has_value();
        if (outcome && *outcome == Outcome::Incomplete) continue;
        text.clear();
    }
    if (!text.empty()) {
        complain("the input ends in the middle of a statement");
        all_well = false;
    }
    if (is_person_) write_line(Stream::Out, "");
    // A person has seen the errors; a script that uses a pipe needs the exit status.
    return is_person_ || all_well ? 0 : 1;
}

Result<Repl::Outcome> Repl::take(const std::string& text, LineEditor& editor) {
    Result<Outcome> outcome = evaluate(text);
    if (!outcome || *outcome != Outcome::Incomplete) editor.remember(text);
    return outcome;
}

Result<Repl::Outcome> Repl::command(const std::string& line, LineEditor& editor) {
    std::size_t space = line.find(' ');
    std::string word = line.substr(0, space);
    std::string rest = space == std::string::npos ? std::string() : line.substr(space + 1);
    if (word == ".exit") return Outcome::End;
    if (word == ".help") {
        write_line(Stream::Out, kHelp);
    } else if (word == ".load") {
        Result<std::string> text = read_text(rest);
        if (!text) {
            complain(text.error().message());
            return Outcome::Done;
        }
        Result<Outcome> outcome = take(*text, editor);
        if (!outcome && outcome.error().kind() != ErrorKind::Exception) return outcome.error();
        if (outcome && *outcome == Outcome::Incomplete)
            complain(format("{} ends in the middle of a statement", rest));
    } else if (word != ".clear") {
        complain(format("there is no command {}; .help tells which there are", word));
    }
    return Outcome::Done;
}

// ---------------------------------------------------------------- evaluating

Result<json> Repl::evaluate_one(const std::string& text) {
    evaluates_.store(true, std::memory_order_relaxed);
    Result<json> answer = client_.call("Runtime.evaluate", {{"expression", text},
                                                            {"replMode", true},
                                                            {"awaitPromise", true},
                                                            {"objectGroup", "repl"},
                                                            {"silent", true}});
    evaluates_.store(false, std::memory_order_relaxed);
    return answer;
}

// An error of kind Exception: the text threw an exception, which has been written.
Result<Repl::Outcome> Repl::evaluate(const std::string& text) {
    json candidates = WEFT_TRY(ask("prepare", {{{"value", text}}}));
    for (std::size_t at = 0; at < candidates.size(); ++at) {
        auto candidate = candidates[at].get<std::string>();
        Result<json> answer = evaluate_one(candidate);
        if (!answer && answer.error().kind() == ErrorKind::OutOfMemory) return answer.error();
        if (!answer) {
            write_line(Stream::Error, coloured(Stream::Error, Colour::Red, "interrupted"));
            return Error(ErrorKind::Exception, "interrupted");
        }
        if (!answer->contains("exceptionDetails")) {
            WEFT_TRY(write_value((*answer)["result"]));
            return Outcome::Done;
        }
        const json& details = (*answer)["exceptionDetails"];
        if (at + 1 < candidates.size() && is_syntax_error(details)) continue;
        if (is_incomplete(details, candidate)) return Outcome::Incomplete;
        json thrown = details.value("exception", json::object());
        json shown = WEFT_TRY(ask("fail", {argument_of(thrown)}));
        write_line(Stream::Error, shown.is_string() ? shown.get<std::string>() : shown.dump());
        return Error(ErrorKind::Exception, "thrown");
    }
    return Outcome::Done;
}

Result<void> Repl::write_value(const json& result) {
    bool colours = is_person_ && has_colours(Stream::Out);
    json shown = WEFT_TRY(ask("show", {argument_of(result), {{"value", colours}}}));
    bool is_nothing = result.value("type", "") == "undefined";
    if (is_person_ || !is_nothing)
        write_line(Stream::Out, shown.is_string() ? shown.get<std::string>() : shown.dump());
    return {};
}

// ---------------------------------------------------------------- completing

// Called by the thread that reads lines. It has a time limit, because somebody is typing.
Completion Repl::complete(const std::string& before) {
    Deadline deadline = Deadline::after(std::chrono::seconds(5));
    auto [owner, from] = unfinished_of(before);
    Completion completion{from, {}};
    json prefix = {{"value", before.substr(from)}};
    Result<json> names = json::array();
    if (owner.empty()) {
        Result<json> lexical =
            client_.call("Runtime.globalLexicalScopeNames", json::object(), deadline);
        if (!lexical) return completion;
        names = ask("completeGlobal", {{{"value", (*lexical)["names"]}}, prefix}, deadline);
    } else {
        Result<json> value = client_.call("Runtime.evaluate",
                                          {{"expression", owner},
                                           {"throwOnSideEffect", true},
                                           {"objectGroup", "completion"},
                                           {"silent", true}},
                                          deadline);
        if (!value || value->contains("exceptionDetails")) return completion;
        names = ask("complete", {argument_of((*value)["result"]), prefix}, deadline);
    }
    if (names && names->is_array()) completion.names = names->get<std::vector<std::string>>();
    return completion;
}

}  // namespace weft::app
