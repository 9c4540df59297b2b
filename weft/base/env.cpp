#include "weft/base/env.h"

namespace weft::env {

constinit thread_local Env* current_env = nullptr;  // tidy: allow thread_local: the current Env

}  // namespace weft::env
