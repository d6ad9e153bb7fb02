#include "tuner/cli/fd_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(FdStreamTest, WritesAllAndInOrder) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  const std::string text(40'000, 'x');  // More than its buffer, less than a pipe's.
  {
    FdStream stream(writer.get());
    stream << text << 7 << std::flush;
    EXPECT_TRUE(stream.good());
    EXPECT_EQ(stream.error(), 0);
  }
  std::string got(text.size() + 1, '\0');
  ASSERT_EQ(read(reader.get(), got.data(), got.size()), static_cast<ssize_t>(got.size()));
  EXPECT_EQ(got, text + "7");
}

TEST(FdStreamTest, KeepsTheReasonOfTheFirstFailure) {
  const UniqueFd full(open("/dev/full", O_WRONLY));
  ASSERT_TRUE(full.valid());
  FdStream stream(full.get());
  stream << "x";
  EXPECT_EQ(stream.error(), 0) << "nothing was written yet";
  stream << std::flush;
  EXPECT_FALSE(stream.good());
  EXPECT_EQ(stream.error(), ENOSPC);
  stream << std::string(100'000, 'x') << std::flush;
  EXPECT_EQ(stream.error(), ENOSPC);
}

}  // namespace
}  // namespace burnish
