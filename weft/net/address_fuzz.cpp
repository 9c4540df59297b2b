// An address that was parsed is written so that it is parsed as the same address.
#include <cstdint>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/net/address.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weft::net;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    if (auto ip = IpAddress::parse(text)) {
        WEFT_ASSERT(IpAddress::parse(ip->to_string()) == *ip);
        WEFT_ASSERT(ip->unmapped().unmapped() == ip->unmapped());
    }
    auto address = Address::parse(text);
    if (!address) return 0;
    WEFT_ASSERT(Address::parse(address->to_string()) == *address);
    alignas(16) char native[Address::kNativeBytes];
    std::size_t used = address->to_native(native);
    WEFT_ASSERT(used <= sizeof(native));
    auto again = Address::from_native(reinterpret_cast<const sockaddr*>(native), used);
    WEFT_ASSERT(again == *address);
    return 0;
}
