
#include "weft/api/global/bindings.h"
#include "weft/fiber/runtime.h"

// The build defines the version; a file that is compiled alone has none.
#ifndef WEFT_VERSION
#define WEFT_VERSION "0"
#endif

namespace weft::api {
namespace {

void version(js::Call& call) { call.give(std::string_view(WEFT_VERSION)); }

void hardware_concurrency(js::Call& call) {
    call.give(static_cast<double>(RuntimeOptions::default_workers()));
}

// 10.2 becomes 102: scripts derive from it which features V8 has.
void engine_version(js::Call& call) {
    call.give(static_cast<double>(V8_MAJOR_VERSION * 10 + V8_MINOR_VERSION));
}

constexpr js::Binding kBindings[] = {
    js::bind<version>("version", "(): string"),
    js::bind<engine_version>("engineVersion", "(): number"),
    js::bind<hardware_concurrency>("hardwareConcurrency", "(): number"),
};

}  // namespace

std::span<const js::Binding> global_bindings() { return kBindings; }

}  // namespace weft::api
