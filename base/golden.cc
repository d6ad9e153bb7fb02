#include "base/golden.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_split.h"

namespace burnish {
namespace {

// From /proc, because gtest_main keeps main's arguments to itself.
bool UpdateWasAsked() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string arguments = text.str();
  const std::vector<std::string> parts = absl::StrSplit(arguments, '\0');
  return std::find(parts.begin(), parts.end(), "--update") != parts.end();
}

}  // namespace

::testing::AssertionResult CompareOrUpdate(const std::string& path, absl::string_view got,
                                           bool update) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return ::testing::AssertionFailure()
           << path << " is missing: make it, even if empty, and name it in the test's data";
  }
  if (update) {
    // In place, never by renaming: under `bazel run` this is a link to the source file.
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(got.data(), static_cast<std::streamsize>(got.size()));
    out.flush();
    if (!out) return ::testing::AssertionFailure() << "cannot write " << path;
    return ::testing::AssertionSuccess();
  }
  std::ostringstream text;
  text << in.rdbuf();
  const std::string want = text.str();
  if (got == want) return ::testing::AssertionSuccess();
  const std::vector<std::string> want_lines = absl::StrSplit(want, '\n');
  const std::vector<std::string> got_lines = absl::StrSplit(got, '\n');
  size_t line = 0;
  while (line < want_lines.size() && line < got_lines.size() &&
         want_lines[line] == got_lines[line]) {
    ++line;
  }
  const auto show = [line](const std::vector<std::string>& lines) {
    return line < lines.size() ? lines[line] : std::string("(no more lines)");
  };
  return ::testing::AssertionFailure()
         << path << ":" << line + 1 << ": want \"" << show(want_lines) << "\"\n got \""
         << show(got_lines) << "\"\nIf that is right: ./dev golden. All of it:\n"
         << got;
}

::testing::AssertionResult MatchesGolden(const std::string& path, absl::string_view got) {
  return CompareOrUpdate(path, got, UpdateWasAsked());
}

}  // namespace burnish
