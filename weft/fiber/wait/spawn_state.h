// SpawnState: the node of the cancel tree that belongs to a fiber spawned inside a scope.
//
// The scope waits for it until the fiber, and everything that was started below it, has ended.
// detach() takes it out of the scope before that, with everything below it: from then on only the
// end of the runtime cancels it, and only the runtime waits for it. Any thread.
#pragma once

#include <cstddef>

#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"

namespace weft {

class SpawnState final : public CancelState {
public:
    // Null if there is no scope above the token, so that only the runtime waits for the fiber;
    // also, with `enough_memory` false, when memory is short.
    static SpawnState* create(CancelState& token, bool& enough_memory);

    // The fiber has ended.
    void leave();
    // Moves it out of the scope, below the root of its runtime. A second call does nothing.
    void detach(CancelState& root);

private:
    friend class CancelState;
    static bool enter_below(CancelState& state);
    static void leave_below(CancelState& state) { static_cast<SpawnState&>(state).leave(); }
    static constexpr NodeType kNodeType{destroy_as<SpawnState>, nullptr, enter_below, leave_below};

    SpawnState(CancelState& token, CancelState& keeper)
        : CancelState(&token, Deadline::never(), &kNodeType), keeper_(&keeper) {}
    ~SpawnState();

    SpinLock lock_;
    bool detached_ = false;
    std::size_t alive_ = 1;        // the fiber, and what entered below it
    CancelState* keeper_;          // entered; above in the tree, so it lives; under lock_
    CancelState* root_ = nullptr;  // once detached; holds a reference
};

}  // namespace weft
