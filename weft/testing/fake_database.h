// A provider of databases for tests of the pool: its connections do nothing, and fail on request.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/data/provider.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/event.h"

namespace weft::testing::fake {

using data::Connection;
using data::ConnectionState;
using data::Outcome;
using data::Placeholders;
using data::Provider;
using data::RowLimit;
using data::RowSource;
using data::Statement;
using data::TransactionOptions;
using data::TransactionStep;

// A number that several threads read and change.
class Number {
public:
    int get() const {
        SpinGuard guard(lock_);
        return value_;
    }
    void set(int value) {
        SpinGuard guard(lock_);
        value_ = value;
    }
    int add(int difference) {
        SpinGuard guard(lock_);
        return value_ += difference;
    }
    void raise_to(int value) {
        SpinGuard guard(lock_);
        value_ = std::max(value_, value);
    }

private:
    mutable SpinLock lock_;
    int value_ = 0;
};

// What the test and the connections share.
struct Server {
    Number alive;       // open connections
    Number most_alive;  // the most that were open at once
    Number opened;
    Number validated;
    Number rollbacks;
    Number refuses;      // not 0: no connection can be opened
    Number is_lost;      // not 0: validate() fails
    Number has_hung_up;  // not 0: is_lost() of a connection is true
};

class FakeConnection final : public Connection {
public:
    explicit FakeConnection(std::shared_ptr<Server> server) : server_(std::move(server)) {
        server_->most_alive.raise_to(server_->alive.add(1));
        server_->opened.add(1);
    }
    ~FakeConnection() override { server_->alive.add(-1); }

    // "wait" waits until it is cancelled; "begin" and "break" set the state of the connection.
    Result<Outcome> run(const Statement& statement, RowLimit) override {
        const std::string& text = statement.plain_text();
        if (text == "wait") WEFT_TRY(Event().wait());
        if (text == "begin") state_ = ConnectionState::Transaction;
        if (text == "break") state_ = ConnectionState::Broken;
        if (text == "yield") yield();
        return Outcome();
    }
    Result<void> run_script(const std::string&) override { return {}; }
    Result<std::unique_ptr<RowSource>> open_rows(const Statement&) override {
        return ErrorKind::Unavailable;
    }
    Result<void> step(TransactionStep step, unsigned, const TransactionOptions&) override {
        if (step == TransactionStep::Begin) state_ = ConnectionState::Transaction;
        if (step == TransactionStep::Rollback) server_->rollbacks.add(1);
        if (step == TransactionStep::Commit || step == TransactionStep::Rollback)
            state_ = ConnectionState::Idle;
        return {};
    }
    ConnectionState state() const override { return state_; }
    bool is_lost() override { return server_->has_hung_up.get() != 0; }
    Result<void> validate() override {
        server_->validated.add(1);
        if (server_->is_lost.get()) return ErrorKind::Reset;
        return {};
    }

private:
    std::shared_ptr<Server> server_;  // shared with the test
    ConnectionState state_ = ConnectionState::Idle;
};

class FakeProvider final : public Provider {
public:
    explicit FakeProvider(std::shared_ptr<Server> server) : server_(std::move(server)) {}

    std::string_view name() const override { return "fake"; }
    std::string_view mode() const override { return "none"; }
    Placeholders placeholders() const override { return Placeholders::Question; }
    Result<std::unique_ptr<Connection>> connect() override {
        if (server_->refuses.get()) return Error(ErrorKind::Refused, "refused by the test");
        return std::make_unique<FakeConnection>(server_);
    }

private:
    std::shared_ptr<Server> server_;
};

}  // namespace weft::testing::fake
