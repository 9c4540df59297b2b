#include "weft/api/crypto/sponge.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <type_traits>
#include <utility>

#include "weft/base/assert.h"

namespace weft::crypto {
namespace {

constexpr std::size_t kLaneBytes = 8;

// FIPS 202 §3.2.5, Algorithm 5.
constexpr std::uint64_t kRoundConstants[Sponge::kAllRounds] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

// §3.2.2 and §3.2.3: the lanes in the order in which rho and pi combined visit them.
struct Step {
    std::size_t lane;
    int rotation;
};
constexpr Step kWalk[] = {
    {10, 1},  {7, 3},   {11, 6},  {17, 10}, {18, 15}, {3, 21},  {5, 28},  {16, 36},
    {8, 45},  {21, 55}, {24, 2},  {4, 14},  {15, 27}, {23, 41}, {19, 56}, {13, 8},
    {12, 25}, {2, 43},  {20, 62}, {14, 18}, {22, 39}, {9, 61},  {6, 20},  {1, 44},
};

// Calls the body with constants 0, 1 and so on: with indexes that the compiler does not know, the
// permutation is several times slower.
template <std::size_t count>
void unrolled(auto&& body) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        (body(std::integral_constant<std::size_t, i>()), ...);
    }(std::make_index_sequence<count>());
}

std::uint64_t lane_of(Bytes data) {
    std::uint64_t lane = 0;
    for (std::size_t at = kLaneBytes; at-- > 0;)
        lane = lane << 8 | std::to_integer<std::uint64_t>(data[at]);
    return lane;
}

}  // namespace

Sponge::Sponge(std::size_t rate_bytes, int rounds) : rate_bytes_(rate_bytes), rounds_(rounds) {
    WEFT_ASSERT(rate_bytes > 0 && rate_bytes < sizeof lanes_ && rate_bytes % kLaneBytes == 0,
                "the rate is whole lanes and leaves a capacity");
    WEFT_ASSERT(rounds > 0 && rounds <= kAllRounds, "Keccak-p[1600] has 24 rounds");
}

Sponge::~Sponge() { OPENSSL_cleanse(lanes_, sizeof lanes_); }

void Sponge::absorb(Bytes data) {
    while (!data.empty()) {
        if (at_ % kLaneBytes == 0 && data.size() >= kLaneBytes) {
            lanes_[at_ / kLaneBytes] ^= lane_of(data);
            data = data.subspan(kLaneBytes);
            advance(kLaneBytes);
        } else {
            add(std::to_integer<unsigned char>(data.front()));
            data = data.subspan(1);
            advance(1);
        }
    }
}

void Sponge::finish(unsigned char domain) {
    add(domain);
    lanes_[rate_bytes_ / kLaneBytes - 1] ^= std::uint64_t{0x80} << 56;
    permute();
    at_ = 0;
}

void Sponge::squeeze(ByteSpace out) {
    for (std::byte& byte : out) {
        if (at_ == rate_bytes_) {
            permute();
            at_ = 0;
        }
        byte = static_cast<std::byte>(lanes_[at_ / kLaneBytes] >> (8 * (at_ % kLaneBytes)));
        ++at_;
    }
}

Octets Sponge::squeeze(std::size_t length_bytes) {
    Octets out(length_bytes);
    squeeze(ByteSpace(out));
    return out;
}

void Sponge::add(unsigned char byte) {
    WEFT_DASSERT(at_ < rate_bytes_, "a full block was permuted");
    lanes_[at_ / kLaneBytes] ^= std::uint64_t{byte} << (8 * (at_ % kLaneBytes));
}

void Sponge::advance(std::size_t bytes) {
    at_ += bytes;
    WEFT_DASSERT(at_ <= rate_bytes_, "the rate is whole lanes, so absorbing never passes its end");
    if (at_ < rate_bytes_) return;
    permute();
    at_ = 0;
}

// RFC 9861 §2.1: a reduced number of rounds means the last ones.
void Sponge::permute() {
    for (int round = kAllRounds - rounds_; round < kAllRounds; ++round) {
        std::uint64_t columns[5];
        unrolled<5>([&](auto x) {
            columns[x] =
                lanes_[x] ^ lanes_[x + 5] ^ lanes_[x + 10] ^ lanes_[x + 15] ^ lanes_[x + 20];
        });
        unrolled<5>([&](auto x) {
            std::uint64_t mixed = columns[(x + 4) % 5] ^ std::rotl(columns[(x + 1) % 5], 1);
            unrolled<5>([&](auto y) { lanes_[5 * y + x] ^= mixed; });
        });
        std::uint64_t carried = lanes_[1];
        unrolled<std::size(kWalk)>([&](auto i) {
            constexpr Step kStep = kWalk[i];
            carried = std::exchange(lanes_[kStep.lane], std::rotl(carried, kStep.rotation));
        });
        unrolled<5>([&](auto y) {
            std::copy_n(lanes_ + 5 * y, 5, columns);
            unrolled<5>(
                [&](auto x) { lanes_[5 * y + x] ^= ~columns[(x + 1) % 5] & columns[(x + 2) % 5]; });
        });
        lanes_[0] ^= kRoundConstants[round];
    }
}

}  // namespace weft::crypto
