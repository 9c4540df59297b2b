#include "weft/api/crypto/argon2.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <new>

#include "weft/api/crypto/blake2b.h"
#include "weft/base/assert.h"

namespace weft::crypto {
namespace {

constexpr std::size_t kBlockBytes = 1024;
constexpr std::size_t kBlockWords = kBlockBytes / 8;
constexpr std::uint32_t kVersion = 0x13;
constexpr std::uint32_t kSlices = 4;

using Block = std::array<std::uint64_t, kBlockWords>;

std::array<std::byte, 4> little(std::uint32_t number) {
    std::array<std::byte, 4> bytes;
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(number);
        number >>= 8;
    }
    return bytes;
}

// §3.3: a hash of any length, H'.
Octets hash_of_length(std::initializer_list<Bytes> parts, std::uint32_t length) {
    constexpr std::size_t kWhole = 64;
    Blake2b first(std::min<std::size_t>(length, kWhole));
    first.add(little(length));
    for (Bytes part : parts) first.add(part);
    Octets value = first.finish();
    if (length <= kWhole) return value;
    Octets out;
    std::size_t left = length;
    for (;;) {
        out.insert(out.end(), value.begin(), value.begin() + kWhole / 2);
        left -= kWhole / 2;
        Blake2b next(std::min(left, kWhole));
        next.add(value);
        value = next.finish();
        if (left <= kWhole) break;
    }
    out.insert(out.end(), value.begin(), value.end());
    return out;
}

// ---- §3.5 and §3.6: the compression of two blocks

std::uint64_t multiplied_sum(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t kLow = 0xffffffff;
    return a + b + 2 * (a & kLow) * (b & kLow);
}

void mix(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c, std::uint64_t& d) {
    a = multiplied_sum(a, b);
    d = std::rotr(d ^ a, 32);
    c = multiplied_sum(c, d);
    b = std::rotr(b ^ c, 24);
    a = multiplied_sum(a, b);
    d = std::rotr(d ^ a, 16);
    c = multiplied_sum(c, d);
    b = std::rotr(b ^ c, 63);
}

// Permutes sixteen words: pairs of neighbouring words, `step` words apart.
void permute(std::uint64_t* words, std::size_t step) {
    auto at = [&](std::size_t i) -> std::uint64_t& { return words[i / 2 * step + i % 2]; };
    for (std::size_t i = 0; i < 4; ++i) mix(at(i), at(i + 4), at(i + 8), at(i + 12));
    for (std::size_t i = 0; i < 4; ++i)
        mix(at(i), at(4 + (i + 1) % 4), at(8 + (i + 2) % 4), at(12 + (i + 3) % 4));
}

Block compressed(const Block& x, const Block& y) {
    Block before;
    for (std::size_t i = 0; i < kBlockWords; ++i) before[i] = x[i] ^ y[i];
    Block after = before;
    for (std::size_t row = 0; row < 8; ++row) permute(after.data() + 16 * row, 2);
    for (std::size_t column = 0; column < 8; ++column) permute(after.data() + 2 * column, 16);
    for (std::size_t i = 0; i < kBlockWords; ++i) after[i] ^= before[i];
    return after;
}

Block block_of(Bytes bytes) {
    Block block = {};
    for (std::size_t i = 0; i < bytes.size(); ++i)
        block[i / 8] |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * (i % 8));
    return block;
}

Octets octets_of(const Block& block) {
    Octets bytes(kBlockBytes);
    for (std::size_t i = 0; i < kBlockBytes; ++i)
        bytes[i] = static_cast<std::byte>(block[i / 8] >> (8 * (i % 8)));
    return bytes;
}

// ---- §3.4: filling the memory

class Memory {
public:
    explicit Memory(const Argon2& task)
        : task_(task),
          lane_(task.kibibytes / (kSlices * task.lanes) * kSlices),
          segment_(lane_ / kSlices),
          blocks_(std::size_t{lane_} * task.lanes) {}
    ~Memory() { OPENSSL_cleanse(blocks_.data(), blocks_.size() * sizeof(Block)); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    void begin(Bytes seed) {
        for (std::uint32_t lane = 0; lane < task_.lanes; ++lane)
            for (std::uint32_t column = 0; column < 2; ++column)
                at(lane, column) =
                    block_of(hash_of_length({seed, little(column), little(lane)}, kBlockBytes));
    }

    void fill() {
        for (std::uint32_t pass = 0; pass < task_.passes; ++pass)
            for (std::uint32_t slice = 0; slice < kSlices; ++slice)
                for (std::uint32_t lane = 0; lane < task_.lanes; ++lane)
                    fill_segment(pass, slice, lane);
    }

    Block end() {
        Block sum = at(0, lane_ - 1);
        for (std::uint32_t lane = 1; lane < task_.lanes; ++lane)
            for (std::size_t i = 0; i < kBlockWords; ++i) sum[i] ^= at(lane, lane_ - 1)[i];
        return sum;
    }

private:
    Block& at(std::uint32_t lane, std::uint32_t column) {
        return blocks_[std::size_t{lane} * lane_ + column];
    }

    void fill_segment(std::uint32_t pass, std::uint32_t slice, std::uint32_t lane) {
        bool is_independent = task_.type == Argon2Type::I ||
                              (task_.type == Argon2Type::Id && pass == 0 && slice < kSlices / 2);
        Block input = {pass,         lane,
                       slice,        std::uint64_t{lane_} * task_.lanes,
                       task_.passes, static_cast<std::uint64_t>(task_.type)};
        Block addresses = {};
        for (std::uint32_t index = 0; index < segment_; ++index) {
            if (is_independent && index % kBlockWords == 0) {
                ++input[6];
                addresses = compressed({}, compressed({}, input));
            }
            // The first two columns were filled before.
            if (pass == 0 && slice == 0 && index < 2) continue;
            std::uint32_t column = slice * segment_ + index;
            const Block& previous = at(lane, column == 0 ? lane_ - 1 : column - 1);
            std::uint64_t random = is_independent ? addresses[index % kBlockWords] : previous[0];
            std::uint32_t other = pass == 0 && slice == 0
                                      ? lane
                                      : static_cast<std::uint32_t>((random >> 32) % task_.lanes);
            std::uint32_t chosen =
                choose(pass, slice, index, other == lane, static_cast<std::uint32_t>(random));
            Block made = compressed(previous, at(other, chosen));
            Block& target = at(lane, column);
            for (std::size_t i = 0; i < kBlockWords; ++i)
                target[i] = pass == 0 ? made[i] : target[i] ^ made[i];
        }
    }

    // §3.4.2: chooses the reference column; newer columns are likelier.
    std::uint32_t choose(std::uint32_t pass, std::uint32_t slice, std::uint32_t index,
                         bool is_same_lane, std::uint32_t random) const {
        std::uint64_t area = pass == 0 ? slice * segment_ : lane_ - segment_;
        if (is_same_lane) area += index;
        if (is_same_lane || index == 0) --area;
        std::uint64_t squared = std::uint64_t{random} * random >> 32;
        std::uint64_t relative = area - 1 - (area * squared >> 32);
        std::uint64_t start = pass == 0 || slice == kSlices - 1 ? 0 : (slice + 1) * segment_;
        return static_cast<std::uint32_t>((start + relative) % lane_);
    }

    const Argon2& task_;
    std::uint32_t lane_;  // columns
    std::uint32_t segment_;
    std::vector<Block> blocks_;
};

Octets first_hash(const Argon2& task, std::uint32_t length) {
    Blake2b hash(64);
    for (std::uint32_t number : {task.lanes, length, task.kibibytes, task.passes, kVersion,
                                 static_cast<std::uint32_t>(task.type)})
        hash.add(little(number));
    for (Bytes part : {task.password, task.nonce, task.secret, task.associated}) {
        hash.add(little(static_cast<std::uint32_t>(part.size())));
        hash.add(part);
    }
    return hash.finish();
}

}  // namespace

Result<Octets> argon2(const Argon2& task, std::uint32_t length_bytes) {
    if (task.kibibytes > kArgon2KibibytesMax)
        return Error(ErrorKind::Limit, "argon2: more memory than is allowed");
    WEFT_ASSERT(task.lanes >= 1 && task.lanes < 1U << 24 && task.kibibytes >= 8 * task.lanes &&
                    task.passes >= 1 && length_bytes >= 4,
                "the scripts check the parameters, RFC 9106 §3.1");
    try {
        Memory memory(task);
        memory.begin(first_hash(task, length_bytes));
        memory.fill();
        return hash_of_length({octets_of(memory.end())}, length_bytes);
    } catch (const std::bad_alloc&) {
        return Error(ErrorKind::Limit, "argon2: out of memory");
    }
}

}  // namespace weft::crypto
