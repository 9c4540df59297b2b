// The cases of a select, and choose(), which does not depend on their types. A case belongs to the
// fiber or thread that calls select.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/channel.h"
#include "weft/sync/internal/channel_core.h"
#include "weft/sync/internal/channel_state.h"

namespace weft::sync_internal {

enum class CaseKind : std::uint8_t { Receive, Send, Timeout, Cancel, Otherwise };

// Not movable: its entry is linked into a queue.
class SelectCase {
public:
    SelectCase(const SelectCase&) = delete;
    SelectCase& operator=(const SelectCase&) = delete;

    CaseKind kind() const { return kind_; }
    virtual void run() = 0;

    // For cases with a channel; the others have a null core. The first three need its lock held.
    virtual bool is_ready() const { return false; }
    virtual Attempt attempt(WaitRef&) { return Attempt::MustWait; }
    virtual WaitQueue* queue() { return nullptr; }
    virtual Attempt grow() { return Attempt::Done; }
    ChannelCore* core() const { return core_; }
    std::uint64_t channel_id() const { return channel_id_; }
    ChannelEntry& entry() { return entry_; }

    // For Timeout and Cancel cases.
    virtual Deadline deadline() const { return Deadline::never(); }
    virtual CancelToken token() const { return {}; }

protected:
    explicit SelectCase(CaseKind kind) : kind_(kind) {}
    SelectCase(CaseKind kind, ChannelCore* core, std::uint64_t channel_id)
        : kind_(kind), core_(core), channel_id_(channel_id) {}
    ~SelectCase() = default;

    ChannelEntry entry_;

private:
    const CaseKind kind_;
    ChannelCore* const core_ = nullptr;
    const std::uint64_t channel_id_ = 0;
};

template <class T>
ChannelState<T>* state_of(Channel<T>* channel) {
    return channel ? &state_of(*channel) : nullptr;
}

// Waits until one case is done, and returns its index. It does not run the handler.
Result<std::size_t> choose(std::span<SelectCase* const> cases);

template <class T, class Handler>
class ReceiveCase final : public SelectCase {
public:
    static constexpr CaseKind kKind = CaseKind::Receive;

    ReceiveCase(ChannelState<T>* state, Handler handler)
        : SelectCase(kKind, state, state ? state->id_ : 0),
          state_(state),
          handler_(std::move(handler)) {
        entry_.item = &item_;
    }

    void run() override { std::invoke(handler_, std::move(item_)); }
    bool is_ready() const override { return state_->can_take(); }
    Attempt attempt(WaitRef& wake) override { return state_->take(item_, wake); }
    WaitQueue* queue() override { return &state_->receivers_; }

private:
    ChannelState<T>* state_;
    Result<T> item_{ErrorKind::Closed};  // until an item is received
    Handler handler_;
};

// Item is T (a copy) or T&& (the caller's object).
template <class T, class Item, class Handler>
class SendCase final : public SelectCase {
public:
    static constexpr CaseKind kKind = CaseKind::Send;

    template <class Given>
    SendCase(ChannelState<T>* state, Given&& item, Handler handler)
        : SelectCase(kKind, state, state ? state->id_ : 0),
          state_(state),
          item_(std::forward<Given>(item)),
          handler_(std::move(handler)) {
        entry_.item = &item_;
    }

    void run() override {
        bool passed = entry_.outcome == ChannelEntry::Outcome::Passed;
        std::invoke(handler_, passed ? Result<void>() : Result<void>(ErrorKind::Closed));
    }
    bool is_ready() const override { return state_->can_put(); }
    Attempt attempt(WaitRef& wake) override {
        Attempt attempt = state_->put(item_, wake);
        if (attempt == Attempt::Done) entry_.outcome = ChannelEntry::Outcome::Passed;
        return attempt;
    }
    WaitQueue* queue() override { return &state_->senders_; }
    Attempt grow() override { return state_->grow(); }

private:
    ChannelState<T>* state_;
    Item item_;
    Handler handler_;
};

template <class Handler>
class TimeoutCase final : public SelectCase {
public:
    static constexpr CaseKind kKind = CaseKind::Timeout;

    TimeoutCase(Deadline deadline, Handler handler)
        : SelectCase(kKind), deadline_(deadline), handler_(std::move(handler)) {}
    void run() override { std::invoke(handler_); }
    Deadline deadline() const override { return deadline_; }

private:
    Deadline deadline_;
    Handler handler_;
};

template <class Handler>
class CancelCase final : public SelectCase {
public:
    static constexpr CaseKind kKind = CaseKind::Cancel;

    CancelCase(CancelToken token, Handler handler)
        : SelectCase(kKind), token_(std::move(token)), handler_(std::move(handler)) {}
    void run() override { std::invoke(handler_); }
    CancelToken token() const override { return token_; }

private:
    CancelToken token_;
    Handler handler_;
};

template <class Handler>
class OtherwiseCase final : public SelectCase {
public:
    static constexpr CaseKind kKind = CaseKind::Otherwise;

    explicit OtherwiseCase(Handler handler) : SelectCase(kKind), handler_(std::move(handler)) {}
    void run() override { std::invoke(handler_); }

private:
    Handler handler_;
};

}  // namespace weft::sync_internal
