// A folder that stands for "/" in tests of what the kernel says in files.
#ifndef BASE_FAKE_ROOT_H_
#define BASE_FAKE_ROOT_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace burnish {

// Each test has a root of its own, empty at first.
class FakeRootTest : public ::testing::Test {
 protected:
  FakeRootTest() : root_(std::string(std::getenv("TEST_TMPDIR")) + "/" + Name()) {}

  // `path` begins with "/".
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }

  const std::string root_;

 private:
  static std::string Name() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
};

}  // namespace burnish

#endif  // BASE_FAKE_ROOT_H_
