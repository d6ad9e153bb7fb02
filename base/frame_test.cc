#include "base/frame.h"

#include <unistd.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/status_matchers.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

class FrameTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    in_.Reset(fds[0]);
    out_.Reset(fds[1]);
  }
  UniqueFd in_, out_;
};

TEST_F(FrameTest, FramesComeBackWholeAndInOrder) {
  const std::string binary("a\0\n", 3);
  EXPECT_THAT(WriteFrame(out_.get(), binary), IsOk());
  EXPECT_THAT(WriteFrame(out_.get(), ""), IsOk());
  out_.Reset();
  EXPECT_THAT(ReadFrame(in_.get(), 100), IsOkAndHolds(Optional(binary)));
  EXPECT_THAT(ReadFrame(in_.get(), 100), IsOkAndHolds(Optional(std::string())));
  EXPECT_THAT(ReadFrame(in_.get(), 100), IsOkAndHolds(std::nullopt));
}

TEST_F(FrameTest, LengthIsFourBytesLittleEndian) {
  EXPECT_THAT(EncodeFrameHeader(0x01020304), ElementsAre(4, 3, 2, 1));
  EXPECT_EQ(DecodeFrameHeader("\xff\xfe\x00\x80"), 0x8000feffu);
}

TEST_F(FrameTest, StreamThatEndsInsideAFrameIsALoss) {
  ASSERT_EQ(write(out_.get(), "\5\0\0\0abc", 7), 7);
  out_.Reset();
  EXPECT_THAT(ReadFrame(in_.get(), 100), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(FrameTest, StreamThatEndsInsideALengthIsALoss) {
  ASSERT_EQ(write(out_.get(), "\5\0", 2), 2);
  out_.Reset();
  EXPECT_THAT(ReadFrame(in_.get(), 100), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(FrameTest, FrameOverTheLimitIsRefusedBeforeMemoryIsTaken) {
  ASSERT_EQ(write(out_.get(), "\xff\xff\xff\xff", 4), 4);
  EXPECT_THAT(ReadFrame(in_.get(), 100), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
