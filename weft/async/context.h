// Context: the deadline, the cancellation and the values that apply to a piece of work.
//
// A context is a handle of a node in the tree of cancel tokens (fiber/cancel.h); there is no other
// tree. A derived context ends with its parent: by cancellation, by a deadline, and when the
// runtime shuts down. Every job of this folder gets a Context&, and that context is the ambient one
// of its fiber: every wait in the fiber, and in the fibers that it spawns, ends with that context.
//
//     auto [context, cancel] = Context::current().with_timeout(2s);
//     select(on_receive(jobs, [&](Result<Job> job) { ... }),
//            on_cancel(context.done(), [&] { ... }));
//     return context.check();    // "context canceled", "context deadline exceeded"
//
// Deriving costs one allocation, and no timer until a wait honours the deadline. A value: copies
// share the node, which lives as long as one of them. Any thread.
#pragma once

#include <type_traits>
#include <utility>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"

namespace weft {
class Runtime;
}

namespace weft::async {

struct OwnedContext;

// As Context::reason(), without taking a reference.
CancelReason reason_of(CancelState* token);

// Names a value in contexts, by its address:  inline constexpr ContextKey<RequestId> kRequestId;
template <class T>
struct ContextKey {
    constexpr ContextKey() = default;
    ContextKey(const ContextKey&) = delete;
    ContextKey& operator=(const ContextKey&) = delete;

private:
    char unique_ = 0;  // so that two keys never share an address
};

class Context {
public:
    // The root context of the runtime whose fiber calls: only shutdown ends it. On a plain thread
    // nothing ends it, and no job can be started below it: see the next function.
    static Context background();
    // The root context of a runtime, for plain threads: jobs started below it run on that runtime.
    static Context background(const Runtime& runtime);
    // The ambient context of the calling fiber or thread.
    static Context current() { return Context(CancelToken::current()); }

    Context() = default;  // as background() of a plain thread
    explicit Context(CancelToken token) : token_(std::move(token)) {}

    OwnedContext with_cancel() const;
    // The earlier of this deadline and the parent's counts.
    OwnedContext with_deadline(Deadline deadline) const;
    template <class Rep, class Period>
    OwnedContext with_timeout(std::chrono::duration<Rep, Period> timeout) const;
    template <class T>
    Context with_value(const ContextKey<T>& key, std::type_identity_t<T> value) const;

    // Cancelled when the context ends: for select's on_cancel, and for waits that take a token.
    const CancelToken& done() const { return token_; }
    const CancelToken& token() const { return token_; }

    // Success until the context ends; then the reason as an error. It also sees the end of a parent
    // that has not yet been propagated to this node.
    Result<void> check() const;
    CancelReason reason() const { return reason_of(token_.state()); }
    bool is_done() const { return reason() != CancelReason::None; }
    Deadline deadline() const { return token_.deadline(); }
    // The value with this key of the nearest context, from this one upwards; null if there is none.
    // It lives as long as the context.
    template <class T>
    const T* value(const ContextKey<T>& key) const {
        return token_.state() ? static_cast<const T*>(token_.state()->find(&key)) : nullptr;
    }

    friend bool operator==(const Context& a, const Context& b) {
        return a.token_.state() == b.token_.state();
    }

private:
    CancelToken token_;
};

// A context and the source that ends it. It need not be ended: without holders it is freed.
struct OwnedContext {
    Context context;
    CancelSource source;
};

// The error of a context that ended for this reason.
Error context_error(CancelReason reason);

// ---------------------------------------------------------------- inline parts

template <class Rep, class Period>
OwnedContext Context::with_timeout(std::chrono::duration<Rep, Period> timeout) const {
    return with_deadline(Deadline::after(timeout));
}

}  // namespace weft::async

namespace weft::async_internal {

// A node that keeps a value.
template <class T>
class ValueState final : public CancelState {
public:
    static CancelToken create(CancelState* parent, const void* key, T value) {
        return CancelToken::adopt(make<ValueState>(parent, key, std::move(value)));
    }

private:
    friend class CancelState;
    static const void* find_own(const CancelState& state, const void* key) {
        const auto& self = static_cast<const ValueState&>(state);
        return key == self.key_ ? &self.value_ : nullptr;
    }
    static constexpr NodeType kNodeType{destroy_as<ValueState>, find_own};

    ValueState(CancelState* parent, const void* key, T value)
        : CancelState(parent, Deadline::never(), &kNodeType), key_(key), value_(std::move(value)) {}
    ~ValueState() = default;

    const void* const key_;
    const T value_;
};

}  // namespace weft::async_internal

namespace weft::async {

template <class T>
Context Context::with_value(const ContextKey<T>& key, std::type_identity_t<T> value) const {
    using Node = async_internal::ValueState<T>;
    return Context(Node::create(token_.state(), &key, std::move(value)));
}

}  // namespace weft::async
