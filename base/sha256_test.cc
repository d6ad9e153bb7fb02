#include "base/sha256.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/sha256_blocks.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// The examples that NIST publishes with FIPS 180-4, and its one-million-letters vector.
TEST(Sha256Test, PublishedVectorsHold) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                      "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesGiveTheDigestOfTheWholeAtEveryLengthAroundABlock) {
  std::string whole;
  for (int size = 0; size < 200; ++size) {
    Sha256 hash;
    for (size_t at = 0; at < whole.size(); at += 7) {
      hash.Update(whole.data() + at, std::min<size_t>(7, whole.size() - at));
    }
    EXPECT_EQ(HexOf(hash.Digest()), Sha256Hex(whole)) << "size " << size;
    whole.push_back(static_cast<char>('a' + size % 26));
  }
}

TEST(Sha256Test, DigestLeavesTheStateSoThatMoreCanFollow) {
  Sha256 hash;
  hash.Update("ab", 2);
  EXPECT_EQ(HexOf(hash.Digest()), Sha256Hex("ab"));
  hash.Update("c", 1);
  EXPECT_EQ(HexOf(hash.Digest()), Sha256Hex("abc"));
}

// The other tests see one of the two only.
TEST(Sha256Test, TheAcceleratedLoopDoesWhatThePortableOneDoes) {
  const Sha256Blocks accelerated = Sha256BlocksAccelerated();
  if (accelerated == nullptr) GTEST_SKIP() << "this CPU lacks the SHA extensions";
  Rng rng(RngStream{.seed = 1, .purpose = "sha256", .task = ""});
  std::vector<uint8_t> blocks(64 * 20);
  for (uint8_t& byte : blocks) byte = static_cast<uint8_t>(rng.Next());
  for (size_t count = 0; count <= 20; ++count) {
    std::vector<uint32_t> got(8), want;
    for (uint32_t& word : got) word = static_cast<uint32_t>(rng.Next());
    want = got;
    accelerated(got.data(), blocks.data(), count);
    Sha256BlocksPortable(want.data(), blocks.data(), count);
    EXPECT_EQ(got, want) << count << " blocks";
  }
}

TEST(Sha256Test, TwoAtOnceGiveTheDigestsOfEach) {
  Rng rng(RngStream{.seed = 2, .purpose = "sha256", .task = ""});
  std::vector<uint8_t> first(300), second(300);
  for (uint8_t& byte : first) byte = static_cast<uint8_t>(rng.Next());
  for (uint8_t& byte : second) byte = static_cast<uint8_t>(rng.Next());
  for (size_t size = 0; size <= first.size(); ++size) {
    const auto [got_first, got_second] = Sha256OfTwo(first.data(), second.data(), size);
    EXPECT_EQ(got_first, Sha256Of(first.data(), size)) << size;
    EXPECT_EQ(got_second, Sha256Of(second.data(), size)) << size;
  }
}

TEST(Sha256Test, ContainersOfBytesAreTaken) {
  EXPECT_EQ(Sha256Hex(std::vector<uint8_t>{'a', 'b', 'c'}), Sha256Hex("abc"));
  EXPECT_EQ(Sha256Hex(std::string("abc")), Sha256Hex("abc"));
}

}  // namespace
}  // namespace burnish
