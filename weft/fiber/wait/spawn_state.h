// SpawnState: the node of the cancel tree that a fiber has which was spawned inside a scope.
//
// It holds one place in that scope until the fiber, and everything that was started below it, has
// ended. It can leave the scope before, with all that is below it: then only the runtime's end
// cancels it, and only the runtime waits for it. Any thread.
#pragma once

#include <cstddef>

#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"

namespace weft {

class SpawnState final : public CancelState {
public:
    // Null if nobody keeps count above the token, but the runtime; also, with `enough_memory`
    // false, when there is no memory.
    static SpawnState* create(CancelState& token, bool& enough_memory);

    // The fiber has ended.
    void leave();
    // Out of the scope, below the root of its runtime. Again: nothing.
    void detach(CancelState& root);

private:
    friend class CancelState;
    static bool enter_below(CancelState& state);
    static void leave_below(CancelState& state) { static_cast<SpawnState&>(state).leave(); }
    static constexpr Nature kNature{destroy_as<SpawnState>, nullptr, enter_below, leave_below};

    SpawnState(CancelState& token, CancelState& keeper)
        : CancelState(&token, Deadline::never(), &kNature), keeper_(&keeper) {}
    ~SpawnState();

    SpinLock lock_;
    bool detached_ = false;
    std::size_t alive_ = 1;        // the fiber, and what entered below it
    CancelState* keeper_;          // entered; above in the tree, so it lives
    CancelState* root_ = nullptr;  // once detached; counted
};

}  // namespace weft
