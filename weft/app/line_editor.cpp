#include "weft/app/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <system_error>
#include <utility>

namespace weft::app {
namespace {

constexpr int kHistoryMax = 1000;
constexpr char kTab = '\t';

// Wakes a thread that waits for standard input.
class WakePipe {
public:
    static Result<std::unique_ptr<WakePipe>> open() {
        auto made = std::make_unique<WakePipe>();
        if (::pipe2(made->ends_, O_CLOEXEC | O_NONBLOCK) != 0) return Error::from_errno(errno);
        return made;
    }
    WakePipe() = default;
    ~WakePipe() {
        for (int end : ends_)
            if (end >= 0) ::close(end);
    }
    WakePipe(const WakePipe&) = delete;
    WakePipe& operator=(const WakePipe&) = delete;

    void wake() {
        char byte = 0;
        // If the pipe is full, it wakes the reader already.
        static_cast<void>(!::write(ends_[1], &byte, 1));
    }
    void empty() {
        char bytes[64];
        while (::read(ends_[0], bytes, sizeof bytes) > 0) continue;
    }

    // False: woken by wake(). True: standard input is readable, or has ended.
    bool wait_for_input() {
        while (true) {
            pollfd both[] = {{STDIN_FILENO, POLLIN, 0}, {ends_[0], POLLIN, 0}};
            if (::poll(both, 2, -1) < 0 && errno != EINTR) return true;
            if (both[1].revents != 0) return false;
            if (both[0].revents != 0) return true;
        }
    }

private:
    int ends_[2] = {-1, -1};
};

// One byte; 0 at the end of the input.
int read_byte(char& byte) {
    while (true) {
        ssize_t count = ::read(STDIN_FILENO, &byte, 1);
        if (count >= 0) return static_cast<int>(count);
        if (errno != EINTR && errno != EAGAIN) return 0;
    }
}

// ---------------------------------------------------------------- a file or a pipe

class FileEditor final : public LineEditor {
public:
    explicit FileEditor(std::unique_ptr<WakePipe> pipe) : pipe_(std::move(pipe)) {}

    InputLine read(const std::string&) override {
        std::string line;
        char byte = 0;
        while (pipe_->wait_for_input()) {
            if (read_byte(byte) == 0) {
                if (line.empty()) return {InputLine::Kind::End};
                return {InputLine::Kind::Text, std::move(line)};
            }
            if (byte == '\n') return {InputLine::Kind::Text, std::move(line)};
            line += byte;
        }
        pipe_->empty();
        return {InputLine::Kind::Cancelled};
    }
    void cancel() override { pipe_->wake(); }
    void remember(const std::string&) override {}
    bool is_terminal() const override { return false; }

private:
    std::unique_ptr<WakePipe> pipe_;
};

// ---------------------------------------------------------------- a terminal

class TerminalEditor final : public LineEditor {
public:
    TerminalEditor(std::unique_ptr<WakePipe> pipe, std::string history_file, Complete complete)
        : pipe_(std::move(pipe)),
          history_file_(std::move(history_file)),
          complete_(std::move(complete)),
          history_(::history_init()),
          editor_(::el_init("weft", stdin, stdout, stderr)) {
        HistEvent event{};
        ::history(history_, &event, H_SETSIZE, kHistoryMax);
        ::history(history_, &event, H_SETUNIQUE, 1);
        if (!history_file_.empty()) ::history(history_, &event, H_LOAD, history_file_.c_str());
        ::el_set(editor_, EL_CLIENTDATA, this);
        ::el_set(editor_, EL_EDITOR, "emacs");
        ::el_set(editor_, EL_PROMPT, give_prompt);
        ::el_set(editor_, EL_HIST, ::history, history_);
        ::el_set(editor_, EL_GETCFN, get_character);
        // el_wset() keeps the pointers to these texts; el_set() would leak its copies.
        ::el_wset(editor_, EL_ADDFN, L"weft-complete", L"complete a name", complete_line);
        const char tab[] = {kTab, '\0'};
        ::el_set(editor_, EL_BIND, tab, "weft-complete", nullptr);
        ::el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    }
    ~TerminalEditor() override {
        ::el_end(editor_);
        ::history_end(history_);
    }

    InputLine read(const std::string& prompt) override {
        prompt_ = prompt;
        cancelled_ = false;
        pipe_->empty();
        // Otherwise el_gets() does this after it has written the prompt, and input that a program
        // sends in response to the prompt can be lost.
        ::el_set(editor_, EL_PREP_TERM, 1);
        int count = 0;
        const char* text = ::el_gets(editor_, &count);
        if (cancelled_) {
            std::fputs("^C\n", stdout);
            std::fflush(stdout);
            return {InputLine::Kind::Cancelled};
        }
        if (text == nullptr || count <= 0) return {InputLine::Kind::End};
        std::string line(text, static_cast<std::size_t>(count));
        if (line.ends_with('\n')) line.pop_back();
        return {InputLine::Kind::Text, std::move(line)};
    }

    void cancel() override { pipe_->wake(); }

    void remember(const std::string& text) override {
        HistEvent event{};
        ::history(history_, &event, H_ENTER, text.c_str());
        if (history_file_.empty()) return;
        std::error_code error;
        std::filesystem::create_directories(std::filesystem::path(history_file_).parent_path(),
                                            error);
        ::history(history_, &event, H_SAVE, history_file_.c_str());
        // Only the user may read the history.
        std::filesystem::permissions(
            history_file_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write,
            error);
    }

    bool is_terminal() const override { return true; }

private:
    static TerminalEditor& of(EditLine* editor) {
        void* self = nullptr;
        ::el_get(editor, EL_CLIENTDATA, &self);
        return *static_cast<TerminalEditor*>(self);
    }

    static char* give_prompt(EditLine* editor) { return of(editor).prompt_.data(); }

    // Reads one character in UTF-8. Returns 0 at the end of the input, or after cancel().
    static int get_character(EditLine* editor, wchar_t* character) {
        TerminalEditor& self = of(editor);
        std::mbstate_t state{};
        char byte = 0;
        for (std::size_t at = 0; at < MB_LEN_MAX; ++at) {
            if (!self.pipe_->wait_for_input()) {
                self.pipe_->empty();
                self.cancelled_ = true;
                return 0;
            }
            if (read_byte(byte) == 0) return 0;
            std::size_t used = std::mbrtowc(character, &byte, 1, &state);
            if (used != static_cast<std::size_t>(-2)) {
                if (used == static_cast<std::size_t>(-1)) *character = L'?';
                return 1;
            }
        }
        return 0;
    }

    static unsigned char complete_line(EditLine* editor, int) { return of(editor).complete_here(); }

    unsigned char complete_here() {
        const LineInfo* line = ::el_line(editor_);
        std::string before(line->buffer, static_cast<std::size_t>(line->cursor - line->buffer));
        Completion completion = complete_(before);
        if (completion.names.empty()) return CC_REFRESH_BEEP;
        std::string typed = before.substr(completion.from);
        std::string common = completion.names.front();
        for (const std::string& name : completion.names) {
            auto [end, other] = std::ranges::mismatch(common, name);
            common.erase(end, common.end());
        }
        if (common.size() > typed.size()) {
            ::el_insertstr(editor_, common.substr(typed.size()).c_str());
            return CC_REFRESH;
        }
        if (completion.names.size() == 1) return CC_REFRESH;
        std::string list = "\n";
        for (const std::string& name : completion.names) list += name + "  ";
        list += '\n';
        std::fputs(list.c_str(), stdout);
        std::fflush(stdout);
        return CC_REDISPLAY;
    }

    std::unique_ptr<WakePipe> pipe_;
    std::string prompt_;
    std::string history_file_;
    Complete complete_;
    bool cancelled_ = false;
    History* history_;
    EditLine* editor_;
};

}  // namespace

Result<std::unique_ptr<LineEditor>> LineEditor::open(const std::string& history,
                                                     Complete complete) {
    std::unique_ptr<WakePipe> pipe = WEFT_TRY(WakePipe::open());
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
        return std::unique_ptr<LineEditor>(std::make_unique<FileEditor>(std::move(pipe)));
    if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1)
        static_cast<void>(std::setlocale(LC_CTYPE, "C.UTF-8"));
    return std::unique_ptr<LineEditor>(
        std::make_unique<TerminalEditor>(std::move(pipe), history, std::move(complete)));
}

std::string history_path() {
    if (const char* own = std::getenv("WEFT_REPL_HISTORY")) return own;
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    if (state != nullptr && *state != '\0') return std::string(state) + "/weft/repl_history";
    if (home == nullptr || *home == '\0') return {};
    return std::string(home) + "/.local/state/weft/repl_history";
}

}  // namespace weft::app
