#include "weft/async/scope.h"

namespace weft::async {
namespace {

// The ranks of the kinds are far apart, because each nested scope ranks one above its parent.
constexpr unsigned kKindShift = 32;

}  // namespace

Scope::Scope(ScopeKind kind, const Context& parent)
    : core_(async_internal::ScopeCore::create(async_internal::parent_of_core(parent),
                                              static_cast<std::uint64_t>(kind) << kKindShift)),
      kind_(kind) {}

}  // namespace weft::async
