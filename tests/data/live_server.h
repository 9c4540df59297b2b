// A server for the tests of a program, which a script makes, starts and ends: it says where the
// server is, a word and its value a line, then "ready", and ends with its input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/fiber/os/process.h"

namespace weft::data::testing {

class LiveServer {
public:
    // Ends the program if it does not start: every test would say the same.
    explicit LiveServer(std::string program) {
        Result<void> started = start(std::move(program));
        if (started) return;
        std::fprintf(stderr, "%s\n", std::string(started.error().message()).c_str());
        std::exit(1);
    }
    ~LiveServer() {
        process_->input().close();
        static_cast<void>(process_->wait(patience()));
    }
    LiveServer(const LiveServer&) = delete;
    LiveServer& operator=(const LiveServer&) = delete;

    const std::string& word(const std::string& name) { return words_[name]; }
    // Tells it to stop, start or restart, and waits for that. Any fiber, any thread.
    Result<void> tell(std::string_view command) {
        std::string line = std::string(command) + "\n";
        WEFT_TRY(process_->input().write_all(as_bytes(line), patience()));
        std::string answer = WEFT_TRY(read_line());
        if (answer != "done") return Error(ErrorKind::Other, "the server did not " + line);
        return {};
    }

private:
    // So long that only a broken test waits for it.
    static Deadline patience() { return Deadline::after(std::chrono::seconds(120)); }

    Result<void> start(std::string program) {
        process_.emplace(WEFT_TRY(Process::spawn({.arguments = {std::move(program)},
                                                  .input = ChildStream::Pipe,
                                                  .output = ChildStream::Pipe})));
        for (;;) {
            std::string line = WEFT_TRY(read_line());
            if (line == "ready") return {};
            std::size_t blank = line.find(' ');
            if (blank == line.npos || line.starts_with("failed"))
                return Error(ErrorKind::Other, line);
            words_[line.substr(0, blank)] = line.substr(blank + 1);
        }
    }

    Result<std::string> read_line() {
        for (;;) {
            if (std::size_t end = text_.find('\n'); end != text_.npos) {
                std::string line = text_.substr(0, end);
                text_.erase(0, end + 1);
                return line;
            }
            std::byte buffer[512];
            std::size_t count = WEFT_TRY(process_->output().read(buffer, patience()));
            if (count == 0) return Error(ErrorKind::Closed, "the server has ended: " + text_);
            text_ += as_text(Bytes(buffer).first(count));
        }
    }

    std::optional<Process> process_;
    std::map<std::string, std::string> words_;
    std::string text_;
};

}  // namespace weft::data::testing
