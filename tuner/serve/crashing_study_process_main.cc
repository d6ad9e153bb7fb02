// A study's process that crashes where a test says so: each line of the file that the variable
// BURNISH_TEST_CRASHES names is "prepare TASK" or "run TASK", or "once run TASK", with which the
// file goes away; or "hold prepare TASK", with which it goes away as well, and which waits until
// the test closes the pipe beside it. The program of `tuner` reads no such thing.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/file.h"
#include "tuner/serve/study_process_main.h"

namespace {

void CrashIfAsked(const char* where, const burnish::StudySpec& spec) {
  const char* path = std::getenv("BURNISH_TEST_CRASHES");
  if (path == nullptr) return;
  const absl::StatusOr<std::string> crashes = burnish::ReadFile(path, 1 << 20);
  if (!crashes.ok()) return;
  for (const absl::string_view line : absl::StrSplit(*crashes, '\n')) {
    const std::string here = absl::StrCat(where, " ", spec.task);
    if (line == absl::StrCat("once ", here)) std::filesystem::remove(path);
    if (line == absl::StrCat("hold ", here)) {
      std::filesystem::remove(path);  // Its run, which prepares as well, is not held.
      // Opened when the test has it open, and read until the test closes it.
      static_cast<void>(burnish::ReadFile(absl::StrCat(path, ".pipe"), 64));
    }
    CHECK(line != here && line != absl::StrCat("once ", here)) << "a test asked for it";
  }
}

}  // namespace

int main() {
  return burnish::StudyProcessMain(
      {.before_preparing = [](const burnish::StudySpec& spec) { CrashIfAsked("prepare", spec); },
       .before_running = [](const burnish::StudySpec& spec) { CrashIfAsked("run", spec); }});
}
