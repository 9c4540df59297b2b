#include "weft/fiber/wait/spawn_state.h"

#include <new>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/planted.h"

namespace weft {

SpawnState* SpawnState::create(CancelState& token, bool& enough_memory) {
    enough_memory = true;
    if (WEFT_PLANTED("spawn.belongs_to_nobody")) return nullptr;
    CancelState* keeper = token.enter_keeper();
    if (!keeper) return nullptr;
    // tidy: allow new: counted by itself, and must not throw
    auto* state = new (std::nothrow) SpawnState(token, *keeper);
    if (state) {
        state->enter_tree();
    } else {
        enough_memory = false;
        keeper->leave_keeper();
    }
    return state;
}

SpawnState::~SpawnState() {
    // A job that entered holds a reference to a node below, and leaves before it releases that.
    WEFT_DASSERT(alive_ == 0 && !keeper_, "a fiber's node ends after all that was started below");
    if (!root_) return;
    leave_tree(*root_);
    root_->release();
}

bool SpawnState::enter_below(CancelState& state) {
    auto& self = static_cast<SpawnState&>(state);
    SpinGuard guard(self.lock_);
    if (self.alive_ == 0) return false;
    ++self.alive_;
    return true;
}

void SpawnState::leave() {
    CancelState* keeper = nullptr;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(alive_ > 0, "more has ended below a fiber than began there");
        if (--alive_ == 0) keeper = std::exchange(keeper_, nullptr);
    }
    if (keeper) keeper->leave_keeper();
}

void SpawnState::detach(CancelState& root) {
    CancelState* keeper = nullptr;
    {
        SpinGuard guard(lock_);
        if (std::exchange(detached_, true)) return;
        keeper = std::exchange(keeper_, nullptr);
    }
    root.add_ref();
    root_ = &root;
    move_below(root);
    if (keeper) keeper->leave_keeper();
}

}  // namespace weft
