// The sponge of FIPS 202: absorb() any number of times, finish() once, then squeeze() any number of
// times. The state is wiped on destruction. A value for one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

class Sponge {
public:
    static constexpr std::size_t kRateShake128 = 168;
    static constexpr std::size_t kRateShake256 = 136;
    static constexpr std::size_t kRateSha3_512 = 72;
    static constexpr unsigned char kDomainSha3 = 0x06;
    static constexpr unsigned char kDomainShake = 0x1f;
    static constexpr int kAllRounds = 24;

    // The rate is a multiple of 8 and less than 200. Fewer than 24 rounds means the last ones.
    explicit Sponge(std::size_t rate_bytes, int rounds = kAllRounds);
    ~Sponge();
    Sponge(const Sponge&) = delete;
    Sponge& operator=(const Sponge&) = delete;

    void absorb(Bytes data);
    // Ends the input: `domain` holds the domain bits and the first bit of the padding.
    void finish(unsigned char domain);
    void squeeze(ByteSpace out);
    Octets squeeze(std::size_t length_bytes);

    [[nodiscard]] std::size_t rate_bytes() const { return rate_bytes_; }

private:
    static constexpr std::size_t kLanes = 25;

    void add(unsigned char byte);
    void advance(std::size_t bytes);
    void permute();

    std::uint64_t lanes_[kLanes] = {};
    std::size_t rate_bytes_;
    std::size_t at_ = 0;
    int rounds_;
};

}  // namespace weft::crypto
