#include "weft/fiber/switch/float_state.h"

namespace weft::float_state {
namespace {

#if defined(__x86_64__)

// mxcsr in the low half, the x87 control word in the high half.
std::uint32_t read() {
    std::uint32_t mxcsr = 0;
    std::uint16_t x87 = 0;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
    return (mxcsr & 0xffffU) | (std::uint32_t{x87} << 16);
}

void write(std::uint32_t control) {
    std::uint32_t mxcsr = control & 0xffffU;
    auto x87 = static_cast<std::uint16_t>(control >> 16);
    asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87));
}

constexpr std::uint32_t kDefault = 0x1f80U | (0x037fU << 16);

#elif defined(__aarch64__)

std::uint32_t read() {
    std::uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return static_cast<std::uint32_t>(control);
}

void write(std::uint32_t control) {
    std::uint64_t wide = control;
    asm volatile("msr fpcr, %0" : : "r"(wide));
}

constexpr std::uint32_t kDefault = 0;

#elif defined(__riscv)

std::uint32_t read() {
    std::uint64_t mode = 0;
    asm volatile("frrm %0" : "=r"(mode));
    return static_cast<std::uint32_t>(mode);
}

void write(std::uint32_t control) {
    std::uint64_t mode = control;
    asm volatile("fsrm %0" : : "r"(mode));
}

constexpr std::uint32_t kDefault = 0;

#else

std::uint32_t read() { return 0; }
void write(std::uint32_t) {}
constexpr std::uint32_t kDefault = 0;

#endif

}  // namespace

std::uint32_t default_control() { return kDefault; }

void change(Fiber& left, Fiber& entered) {
    if (left.flags & Fiber::kKeepFloat) left.float_control = read();
    write(entered.flags & Fiber::kKeepFloat ? entered.float_control : kDefault);
}

}  // namespace weft::float_state
