// A live PostgreSQL for the tests of a program: started with the first test that asks for it, and
// ended with the program.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/data/database.h"
#include "weft/data/pool.h"
#include "weft/data/postgres/postgres.h"
#include "weft/fiber/os/process.h"
#include "weft/fiber/runtime.h"

namespace weft::data::testing {

// So long that only a broken test waits for it.
inline Deadline far() { return Deadline::after(std::chrono::seconds(120)); }

class PostgresServer {
public:
    static PostgresServer& get() {
        static PostgresServer server;
        return server;
    }

    const std::string& word(const std::string& name) { return words_[name]; }
    std::string url(std::string_view parameters = {}) {
        return "postgres://weft:" + words_["password"] + "@127.0.0.1:" + words_["port"] +
               "/postgres?" + std::string(parameters);
    }
    // By the Unix socket, with neither password nor TLS.
    std::string local(std::string_view parameters = {}) {
        return "host=" + words_["folder"] + " port=" + words_["port"] +
               " user=weft dbname=postgres " + std::string(parameters);
    }
    // Through pgbouncer, which gives each transaction another session. Empty: it is not there.
    std::string pooled(std::string_view database) {
        if (words_["bouncer"].empty()) return {};
        return "host=" + words_["folder"] + " port=" + words_["bouncer"] +
               " user=weft dbname=" + std::string(database);
    }
    // Tells the server to stop, start or restart, and waits for that. Any fiber, any thread.
    Result<void> tell(std::string_view command) {
        std::string line = std::string(command) + "\n";
        WEFT_TRY(process_->input().write_all(as_bytes(line), far()));
        std::string answer = WEFT_TRY(read_line());
        if (answer != "done") return Error(ErrorKind::Other, "the server did not " + line);
        return {};
    }

private:
    PostgresServer() {
        Result<void> started = start();
        EXPECT_TRUE(started) << (started ? "" : started.error().message());
        if (!started) std::exit(1);  // every other test would say the same
    }
    ~PostgresServer() {
        if (!process_) return;
        process_->input().close();
        static_cast<void>(process_->wait(far()));
    }

    Result<void> start() {
        process_.emplace(WEFT_TRY(Process::spawn({.arguments = {WEFT_POSTGRES_SERVER},
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
            std::size_t count = WEFT_TRY(process_->output().read(buffer, far()));
            if (count == 0) return Error(ErrorKind::Closed, "the server has ended: " + text_);
            text_ += as_text(Bytes(buffer).first(count));
        }
    }

    std::optional<Process> process_;
    std::map<std::string, std::string> words_;
    std::string text_;
};

// Runs the body on a fiber, with a server.
class PostgresTest : public ::testing::Test {
protected:
    void SetUp() override { server = &PostgresServer::get(); }

    template <class Body>
    void run(Body body, RuntimeOptions options = {}) {
        Result<void> outcome = weft::run([&]() -> Result<void> { return body(); }, options);
        EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message());
    }
    Result<std::unique_ptr<Connection>> connect(PostgresOptions options) {
        auto provider = WEFT_TRY(postgres_provider(std::move(options)));
        Result<std::unique_ptr<Connection>> connection = provider->connect();
        provider_ = std::move(provider);
        return connection;
    }
    Result<std::unique_ptr<Connection>> connect() {
        return connect(PostgresOptions{.connection_string = server->local()});
    }

    PostgresServer* server = nullptr;

private:
    std::unique_ptr<Provider> provider_;
};

inline constexpr RowLimit kAnyRows{.rows_max = kRowsUnlimited};

// The only value of the only row.
inline Result<Value> ask(Connection& connection, const Statement& statement) {
    Outcome outcome = WEFT_TRY(connection.run(statement, kAnyRows));
    if (outcome.rows.size() != 1 || outcome.rows.columns().size() != 1)
        return Error(ErrorKind::Other, "not one value");
    return outcome.rows[0][0];
}

}  // namespace weft::data::testing
