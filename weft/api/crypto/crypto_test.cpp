#include <gtest/gtest.h>
#include <openssl/err.h>

#include "weft/api/crypto/cipher.h"
#include "weft/api/crypto/digest.h"
#include "weft/api/crypto/keys.h"
#include "weft/api/crypto/lattice_keys.h"
#include "weft/api/crypto/ml_dsa.h"
#include "weft/api/crypto/ml_kem.h"
#include "weft/api/crypto/sign.h"

namespace weft::crypto {
namespace {

// Each thread has one queue of OpenSSL errors, which TLS connections also read.
class CryptoErrors : public ::testing::Test {
protected:
    void TearDown() override { EXPECT_EQ(ERR_peek_error(), 0U); }
};

Octets filled(std::size_t length, unsigned char value) { return Octets(length, std::byte{value}); }

// Every parser must stay within the bounds of its input and leave no error in the queue.
void try_all_reads(Bytes der) {
    for (KeyType key_type : {KeyType::Private, KeyType::Public}) {
        (void)details_of(key_type, der);
        (void)rsa_numbers(key_type, der);
        (void)ec_numbers(key_type, der);
        (void)edwards_numbers(key_type, der);
        for (const char* name : {"ML-KEM-512", "ML-DSA-87"})
            (void)unwrap_lattice_key(key_type, name, der);
    }
    (void)public_of(der);
    (void)agree(der, der);
    (void)sign({Scheme::Ecdsa, "SHA-256"}, der, {});
    (void)verify({Scheme::Edwards, ""}, der, filled(64, 1), {});
    (void)rsa_oaep_decrypt("SHA-256", der, {}, filled(256, 1));
    ASSERT_EQ(ERR_peek_error(), 0U);
}

std::vector<Octets> some_keys() {
    std::vector<Octets> keys;
    auto add = [&](Result<KeyPair>&& pair) {
        ASSERT_TRUE(pair);
        keys.push_back(std::move(pair->private_key));
        keys.push_back(std::move(pair->public_key));
    };
    Octets exponent = {std::byte{1}, std::byte{0}, std::byte{1}};
    add(generate_rsa(512, exponent));
    add(generate_ec("P-256"));
    for (const char* kind : {"Ed25519", "Ed448", "X25519", "X448"}) add(generate_edwards(kind));
    Octets seed = filled(kKemSeedBytes, 7);
    seed.insert(seed.begin(), {std::byte{0x80}, std::byte{64}});
    keys.push_back(*wrap_lattice_key(KeyType::Private, "ML-KEM-512", seed));
    keys.push_back(*wrap_lattice_key(KeyType::Public, "ML-KEM-512",
                                     ml_kem_public_of(KemSet::MlKem512, Bytes(seed).subspan(2))));
    return keys;
}

TEST_F(CryptoErrors, JS_9_keys_that_are_cut_or_changed_leave_no_error_behind) {
    for (const Octets& key : some_keys()) {
        try_all_reads(key);
        // A changed length field claims more bytes than there are.
        std::size_t step = key.size() > 256 ? 13 : 1;
        for (std::size_t at = 0; at < key.size(); at += step) {
            // A buffer of exactly this size, so that a sanitizer detects a read beyond its end.
            Octets cut(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(at));
            try_all_reads(cut);
            Octets changed = key;
            changed[at] ^= std::byte{0x7f};
            try_all_reads(changed);
        }
    }
}

TEST_F(CryptoErrors, JS_9_failed_operations_leave_no_error_behind) {
    Octets key = filled(16, 1);
    EXPECT_FALSE(aes_cbc(Direction::Decrypt, key, filled(16, 2), filled(15, 3)));
    EXPECT_FALSE(aes_cbc(Direction::Encrypt, key, filled(15, 2), filled(16, 3)));
    EXPECT_FALSE(aes_cbc(Direction::Encrypt, key, {}, filled(16, 3)));
    EXPECT_FALSE(aes_ctr(key, filled(15, 2), 128, filled(16, 3)));
    EXPECT_FALSE(aes_key_wrap(Direction::Decrypt, key, filled(24, 3)));
    for (Aead kind : {Aead::AesGcm, Aead::AesOcb}) {
        Sealing sealing{key, Bytes(key).first(12), {}, 16};
        EXPECT_FALSE(aead(kind, Direction::Decrypt, sealing, filled(40, 3)));
        sealing.iv = {};
        EXPECT_FALSE(aead(kind, Direction::Encrypt, sealing, filled(40, 3)));
    }
    Octets large = filled(32, 1);
    Sealing sealing{large, Bytes(large).first(12), {}, 16};
    EXPECT_FALSE(aead(Aead::ChaCha20Poly1305, Direction::Decrypt, sealing, filled(40, 3)));
    EXPECT_FALSE(digest("no such hash", key));
    EXPECT_FALSE(ec_of_point("P-256", filled(65, 4)));
    EXPECT_FALSE(edwards_of_number("X448", KeyType::Public, filled(55, 1)));
    EXPECT_FALSE(generate_rsa(512, {}));
}

TEST(CryptoLattice, JS_9_signatures_of_any_bytes_are_read_within_their_bounds) {
    Octets seed = filled(kDsaSeedBytes, 9);
    for (DsaSet set : {DsaSet::MlDsa44, DsaSet::MlDsa65, DsaSet::MlDsa87}) {
        Octets key = ml_dsa_public_of(set, seed);
        Octets good = ml_dsa_sign(set, seed, {}, filled(kDsaRandomBytes, 1), seed);
        EXPECT_TRUE(ml_dsa_verify(set, key, {}, good, seed));
        EXPECT_FALSE(ml_dsa_verify(set, key, {}, {}, seed));
        EXPECT_FALSE(ml_dsa_verify(set, Bytes(key).subspan(1), {}, good, seed));
        EXPECT_FALSE(ml_dsa_verify(set, filled(key.size(), 0xff), {}, good, seed));
        for (unsigned value = 0; value < 256; value += 15)
            EXPECT_FALSE(ml_dsa_verify(
                set, key, {}, filled(good.size(), static_cast<unsigned char>(value)), seed));
        // The hints are at the end; one of them is duplicated here.
        Octets changed = good;
        for (std::size_t back = 1; back < 90; ++back) {
            changed = good;
            changed[good.size() - back] ^= std::byte{1};
            EXPECT_FALSE(ml_dsa_verify(set, key, {}, changed, seed));
        }
    }
}

TEST(CryptoLattice, JS_9_ciphertexts_of_any_bytes_give_a_secret) {
    Octets seed = filled(kKemSeedBytes, 9);
    for (KemSet set : {KemSet::MlKem512, KemSet::MlKem768, KemSet::MlKem1024}) {
        Octets key = ml_kem_public_of(set, seed);
        EXPECT_TRUE(ml_kem_is_public(set, key));
        EXPECT_FALSE(ml_kem_is_public(set, Bytes(key).subspan(1)));
        EXPECT_FALSE(ml_kem_is_public(set, filled(key.size(), 0xff)));
        Encapsulated made = ml_kem_encapsulate(set, key, filled(kKemRandomBytes, 3));
        EXPECT_EQ(*ml_kem_decapsulate(set, seed, made.ciphertext), made.shared);
        EXPECT_NE(*ml_kem_decapsulate(set, seed, filled(made.ciphertext.size(), 0xff)),
                  made.shared);
        EXPECT_FALSE(ml_kem_decapsulate(set, seed, {}));
    }
}

}  // namespace
}  // namespace weft::crypto
