#include "base/build_id.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(BuildIdTest, OfThisProgramAndOfACopy) {
  const std::string id = BuildIdOf("/proc/self/exe");
  EXPECT_GE(id.size(), 16u) << "the build's linker writes one";
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("build_id_test"));
  ASSERT_OK_AND_ASSIGN(const std::string program, ReadFile("/proc/self/exe", 1 << 30));
  const std::string copy = folder.path() + "/copy";
  std::ofstream(copy, std::ios::binary) << program;
  EXPECT_EQ(BuildIdOf(copy), id);
  EXPECT_NE(BuildIdOf("/bin/sh"), id);
}

TEST(BuildIdTest, NoneOfWhatIsNoProgramOrWasCut) {
  EXPECT_EQ(BuildIdOf("/nonexistent"), "");
  EXPECT_EQ(BuildIdOf("/tmp"), "");
  EXPECT_EQ(BuildIdOf("/dev/zero"), "");
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("build_id_test"));
  ASSERT_OK_AND_ASSIGN(const std::string program, ReadFile("/proc/self/exe", 1 << 30));
  const std::string path = folder.path() + "/cut";
  // Each way to hold less than the headers and the notes, whose place is within the first bytes.
  for (size_t size = 0; size < 4096; size += 7) {
    std::ofstream(path, std::ios::binary) << program.substr(0, size);
    const std::string id = BuildIdOf(path);
    EXPECT_TRUE(id.empty() || id == BuildIdOf("/proc/self/exe")) << size;
    // And any byte of them changed: no more than a wrong answer.
    std::string changed = program.substr(0, 8192);
    changed[size] ^= 0xFF;
    std::ofstream(path, std::ios::binary) << changed;
    BuildIdOf(path);
  }
}

}  // namespace
}  // namespace burnish
