#include "compiler/runtime/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(GuardedBufferTest, StartsAsNanOfEachType) {
  auto buffer = GuardedBuffer::Allocate({.size_bytes = 64});
  ASSERT_TRUE(buffer.ok());
  float f32;
  double f64;
  std::memcpy(&f32, buffer->bytes().data(), sizeof(f32));
  std::memcpy(&f64, buffer->bytes().data(), sizeof(f64));
  EXPECT_TRUE(std::isnan(f32));
  EXPECT_TRUE(std::isnan(f64));
  EXPECT_TRUE(buffer->CanariesIntact());
}

TEST(GuardedBufferTest, TheBaseIsAlignedAndTheEndIsAtThePage) {
  for (uint64_t size_bytes :
       {1u, 4u, 63u, 64u, 100u, 4095u, 4096u, 4097u, 100'000u, 2u << 20, 5'000'001u}) {
    for (uint32_t alignment_bytes : {1u, 4u, 64u, 4096u}) {
      SCOPED_TRACE(testing::Message() << size_bytes << " aligned to " << alignment_bytes);
      auto buffer =
          GuardedBuffer::Allocate({.size_bytes = size_bytes, .alignment_bytes = alignment_bytes});
      ASSERT_TRUE(buffer.ok());
      const auto base = reinterpret_cast<uintptr_t>(buffer->bytes().data());
      EXPECT_EQ(base % alignment_bytes, 0u);
      EXPECT_LT(-(base + size_bytes) % 4096, alignment_bytes);
      EXPECT_EQ(buffer->bytes().size(), size_bytes);
    }
  }
}

TEST(GuardedBufferTest, AccessBehindTheEndAndFarBeforeTheBaseDies) {
  auto buffer = GuardedBuffer::Allocate({.size_bytes = 4096});
  ASSERT_TRUE(buffer.ok());
  volatile uint8_t* base = buffer->bytes().data();
  base[0] = 1;
  base[4095] = 1;
  EXPECT_DEATH(base[4096] = 1, "");
  EXPECT_DEATH(base[-1] = 1, "");
}

TEST(GuardedBufferTest, LargeOnesAreGuardedToo) {
  constexpr uint64_t kSize = 5'000'000;
  auto buffer = GuardedBuffer::Allocate({.size_bytes = kSize, .alignment_bytes = 64});
  ASSERT_TRUE(buffer.ok());
  EXPECT_TRUE(buffer->CanariesIntact());
  volatile uint8_t* base = buffer->bytes().data();
  base[0] = 1;
  base[kSize - 1] = 1;
  EXPECT_TRUE(buffer->CanariesIntact());
  EXPECT_DEATH(base[kSize + 64] = 1, "");
  EXPECT_DEATH(base[-4096] = 1, "");
}

TEST(GuardedBufferTest, WritesIntoTheSlackAreSeen) {
  auto buffer = GuardedBuffer::Allocate({.size_bytes = 100, .alignment_bytes = 64});
  ASSERT_TRUE(buffer.ok());
  buffer->bytes()[0] = 0;  // Its own bytes may change.
  EXPECT_TRUE(buffer->CanariesIntact());
  uint8_t* behind = buffer->bytes().data() + 100;
  *behind = 0;
  EXPECT_FALSE(buffer->CanariesIntact());
  *behind = 0xff;
  buffer->bytes().data()[-1] = 0;
  EXPECT_FALSE(buffer->CanariesIntact());
}

TEST(GuardedBufferTest, SharedMemoryIsSeenThroughTheFile) {
  const int descriptor = memfd_create("test", MFD_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(ftruncate(descriptor, 4096 + GuardedBuffer::FileBytes(5000)), 0);
  auto buffer = GuardedBuffer::Allocate({.size_bytes = 5000,
                                         .alignment_bytes = 8,
                                         .shared_descriptor = descriptor,
                                         .shared_offset_bytes = 4096});
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  buffer->bytes()[0] = 42;
  uint8_t byte = 0;
  ASSERT_EQ(pread(descriptor, &byte, 1, 4096 + GuardedBuffer::BaseInFile(5000, 8)), 1);
  EXPECT_EQ(byte, 42);
  close(descriptor);
}

TEST(GuardedBufferTest, WrongOptionsAreRefused) {
  EXPECT_FALSE(GuardedBuffer::Allocate({.size_bytes = 4, .alignment_bytes = 3}).ok());
  EXPECT_FALSE(GuardedBuffer::Allocate({.size_bytes = uint64_t{1} << 41}).ok());
  EXPECT_FALSE(GuardedBuffer::Allocate({.size_bytes = 4, .shared_descriptor = 999'999}).ok());
}

}  // namespace
}  // namespace burnish
