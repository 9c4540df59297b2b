// FiberLocal<T>: a variable of which each fiber has its own, made at its first use there and
// destroyed when the fiber ends, newest first. A plain thread has its own as well.
//
//     FiberLocal<RequestId> request_id;          // a static or a member that outlives its uses
//     request_id.get() = next_id();
//
// Use it where thread_local would come to mind: a fiber may go on in another thread.
#pragma once

#include <memory>

namespace weft {

namespace fiber_locals {
void* find(const void* key);
void add(const void* key, void* value, void (*destroy)(void* value));
}  // namespace fiber_locals

template <class T>
class FiberLocal {
public:
    FiberLocal() = default;
    FiberLocal(const FiberLocal&) = delete;
    FiberLocal& operator=(const FiberLocal&) = delete;

    T& get() {
        if (void* value = fiber_locals::find(this)) return *static_cast<T*>(value);
        auto made = std::make_unique<T>();
        T& value = *made;
        fiber_locals::add(this, made.release(),
                          [](void* owned) { std::unique_ptr<T>(static_cast<T*>(owned)).reset(); });
        return value;
    }
};

}  // namespace weft
