#include "weft/api/crypto/cipher.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "weft/base/assert.h"

namespace weft::crypto {
namespace {

constexpr std::size_t kBlockBytes = 16;

using Choose = const EVP_CIPHER* (*)();

// Chooses the cipher by the length of the key.
const EVP_CIPHER* choose(Bytes key, Choose small, Choose middle, Choose large) {
    WEFT_ASSERT(key.size() == 16 || key.size() == 24 || key.size() == 32,
                "a key of AES has a whole number of words");
    if (key.size() == 16) return small();
    if (key.size() == 24) return middle();
    return large();
}

Result<void> update(EVP_CIPHER_CTX* context, Bytes data, Octets& out) {
    // OpenSSL takes lengths as int.
    while (!data.empty()) {
        Bytes part = data.first(std::min<std::size_t>(data.size(), 1U << 30));
        data = data.subspan(part.size());
        std::size_t old = out.size();
        out.resize(old + part.size() + kBlockBytes);
        int written = 0;
        if (EVP_CipherUpdate(context, mutable_data_of(out) + old, &written, data_of(part),
                             static_cast<int>(part.size())) != 1)
            return failed("cipher");
        WEFT_ASSERT(written >= 0 && old + static_cast<std::size_t>(written) <= out.size(),
                    "OpenSSL writes at most a block more than it reads");
        out.resize(old + static_cast<std::size_t>(written));
    }
    return {};
}

Result<void> finish(EVP_CIPHER_CTX* context, Octets& out) {
    std::size_t old = out.size();
    out.resize(old + kBlockBytes * 2);
    int written = 0;
    if (EVP_CipherFinal_ex(context, mutable_data_of(out) + old, &written) != 1)
        return failed("cipher");
    out.resize(old + static_cast<std::size_t>(written));
    return {};
}

Result<Octets> run(const EVP_CIPHER* cipher, Direction direction, Bytes key, Bytes iv, Bytes data) {
    CipherContext context(EVP_CIPHER_CTX_new());
    if (EVP_CipherInit_ex(context.get(), cipher, nullptr, data_of(key), data_of(iv),
                          direction == Direction::Encrypt ? 1 : 0) != 1)
        return failed("cipher");
    Octets out;
    WEFT_TRY(update(context.get(), data, out));
    WEFT_TRY(finish(context.get(), out));
    return out;
}

const EVP_CIPHER* cipher_of(Aead kind, Bytes key) {
    switch (kind) {
    case Aead::AesGcm: return choose(key, EVP_aes_128_gcm, EVP_aes_192_gcm, EVP_aes_256_gcm);
    case Aead::AesOcb: return choose(key, EVP_aes_128_ocb, EVP_aes_192_ocb, EVP_aes_256_ocb);
    case Aead::ChaCha20Poly1305: break;
    }
    WEFT_ASSERT(key.size() == 32, "a key of ChaCha20 has 32 bytes");
    return EVP_chacha20_poly1305();
}

}  // namespace

Result<Octets> aes_cbc(Direction direction, Bytes key, Bytes iv, Bytes data) {
    if (iv.size() != kBlockBytes) return Error(ErrorKind::Other, "aes-cbc: an iv has 16 bytes");
    return run(choose(key, EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc), direction, key, iv,
               data);
}

Result<Octets> aes_ctr(Bytes key, Bytes counter, unsigned counter_bits, Bytes data) {
    if (counter.size() != kBlockBytes)
        return Error(ErrorKind::Other, "aes-ctr: a counter has 16 bytes");
    WEFT_ASSERT(counter_bits >= 1 && counter_bits <= 8 * kBlockBytes,
                "the counter is a part of the block");
    const EVP_CIPHER* cipher = choose(key, EVP_aes_128_ctr, EVP_aes_192_ctr, EVP_aes_256_ctr);
    // OpenSSL treats all 128 bits as the counter. So the text is split where the counter wraps
    // around; in the second part the counter bits start at zero.
    unsigned char block[kBlockBytes];
    std::memcpy(block, counter.data(), kBlockBytes);
    unsigned bits = counter_bits;
    // The text must not have more blocks than the counter can tell apart.
    std::size_t blocks = (data.size() + kBlockBytes - 1) / kBlockBytes;
    if (bits < 64 && blocks > (std::uint64_t{1} << bits))
        return Error(ErrorKind::Limit, "aes-ctr: the counter would repeat");
    std::uint64_t low = 0;
    for (std::size_t at = 8; at < kBlockBytes; ++at) low = low << 8 | block[at];
    bool all_ones_above = true;
    for (unsigned bit = 64; bit < bits; ++bit)
        all_ones_above &= (block[15 - bit / 8] >> (bit % 8) & 1) != 0;
    std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    std::uint64_t until_wrap = mask - (low & mask);  // blocks after the first one
    bool wraps = all_ones_above && blocks > 0 && until_wrap < blocks - 1;
    if (!wraps) return run(cipher, Direction::Encrypt, key, counter, data);
    std::size_t cut = static_cast<std::size_t>(until_wrap + 1) * kBlockBytes;
    WEFT_ASSERT(cut < data.size(), "something of the text follows the wrap");
    Octets out = WEFT_TRY(run(cipher, Direction::Encrypt, key, counter, data.first(cut)));
    for (unsigned bit = 0; bit < bits; ++bit)
        block[15 - bit / 8] &= static_cast<unsigned char>(~(1U << (bit % 8)));
    Octets rest = WEFT_TRY(
        run(cipher, Direction::Encrypt, key, std::as_bytes(std::span(block)), data.subspan(cut)));
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
}

Result<Octets> aead(Aead kind, Direction direction, const Sealing& sealing, Bytes data) {
    const EVP_CIPHER* cipher = cipher_of(kind, sealing.key);
    bool encrypts = direction == Direction::Encrypt;
    auto tag_bytes = static_cast<int>(sealing.tag_bytes);
    if (!encrypts && data.size() < sealing.tag_bytes)
        return Error(ErrorKind::Other, "aead: shorter than its tag");
    CipherContext context(EVP_CIPHER_CTX_new());
    EVP_CIPHER_CTX* raw = context.get();
    if (EVP_CipherInit_ex(raw, cipher, nullptr, nullptr, nullptr, encrypts) != 1 ||
        EVP_CIPHER_CTX_ctrl(raw, EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(sealing.iv.size()),
                            nullptr) != 1)
        return failed("aead");
    // RFC 7253 §4.2: the length of the tag is part of the nonce, so it must be set first.
    if (kind == Aead::AesOcb &&
        EVP_CIPHER_CTX_ctrl(raw, EVP_CTRL_AEAD_SET_TAG, tag_bytes, nullptr) != 1)
        return failed("aead");
    if (EVP_CipherInit_ex(raw, nullptr, nullptr, data_of(sealing.key), data_of(sealing.iv),
                          encrypts) != 1)
        return failed("aead");
    int ignored = 0;
    if (!sealing.additional.empty() &&
        EVP_CipherUpdate(raw, nullptr, &ignored, data_of(sealing.additional),
                         static_cast<int>(sealing.additional.size())) != 1)
        return failed("aead");
    Bytes text = encrypts ? data : data.first(data.size() - sealing.tag_bytes);
    Octets out;
    WEFT_TRY(update(raw, text, out));
    if (!encrypts) {
        Octets tag(data.end() - tag_bytes, data.end());
        if (EVP_CIPHER_CTX_ctrl(raw, EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag.data()) != 1)
            return failed("aead");
    }
    WEFT_TRY(finish(raw, out));
    if (encrypts) {
        std::size_t length = out.size();
        out.resize(length + sealing.tag_bytes);
        if (EVP_CIPHER_CTX_ctrl(raw, EVP_CTRL_AEAD_GET_TAG, tag_bytes, out.data() + length) != 1)
            return failed("aead");
    }
    return out;
}

Result<Octets> aes_key_wrap(Direction direction, Bytes key, Bytes data) {
    // RFC 3394: the input consists of blocks of 8 bytes, at least two of them.
    std::size_t least = direction == Direction::Encrypt ? 16 : 24;
    if (data.size() % 8 != 0 || data.size() < least)
        return Error(ErrorKind::Other, "aes-kw: not a number of whole blocks");
    const EVP_CIPHER* cipher = choose(key, EVP_aes_128_wrap, EVP_aes_192_wrap, EVP_aes_256_wrap);
    CipherContext context(EVP_CIPHER_CTX_new());
    EVP_CIPHER_CTX_set_flags(context.get(), EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    bool encrypts = direction == Direction::Encrypt;
    if (EVP_CipherInit_ex(context.get(), cipher, nullptr, data_of(key), nullptr, encrypts) != 1)
        return failed("aes-kw");
    Octets out(data.size() + 16);
    int written = 0;
    if (EVP_CipherUpdate(context.get(), mutable_data_of(out), &written, data_of(data),
                         static_cast<int>(data.size())) != 1 ||
        written <= 0)
        return failed("aes-kw");
    out.resize(static_cast<std::size_t>(written));
    return out;
}

}  // namespace weft::crypto
