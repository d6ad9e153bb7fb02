// A file system that is really full, under `tuner serve`. What the daemon says and what the store
// holds afterwards is checked, with real processes. No worker measures anything: the study waits
// for one, so that the test needs no quiet machine.
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sysexits.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "base/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/kill/process_tree.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Minutes(3);  // Never reached when all is well.
constexpr char kTask[] = "dense:k=64,m=10";

// Empty, or why this process may mount nothing. Children see the mount, others do not.
std::string MountSmallDisk(const std::string& folder) {
  if (unshare(CLONE_NEWNS) != 0) return absl::StrCat("unshare: ", std::strerror(errno));
  mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  // An empty database and its log take 0.7 MiB.
  if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4m") != 0) {
    return absl::StrCat("mount of a tmpfs: ", std::strerror(errno));
  }
  return "";
}

class DiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("disk_test"));
    folder_.emplace(std::move(folder));
    disk_ = absl::StrCat(folder_->path(), "/disk");
    std::filesystem::create_directory(disk_);
    server_ = absl::StrCat("unix:", folder_->path(), "/daemon");
    // Not on the disk that fills: the client's secret is not the daemon's matter.
    setenv("HOME", folder_->path().c_str(), /*overwrite=*/1);
    const std::string refused = MountSmallDisk(disk_);
    // Never a silent pass: the line names what was not tested, and the count of tests lists it.
    if (!refused.empty()) GTEST_SKIP() << "no file system to fill here: " << refused;
    mounted_ = true;
    const std::string tracker = absl::StrCat("unix:", folder_->path(), "/tracker");
    tracker_ = Start("tracker/tracker", {"--listen", tracker});
    daemon_ = Start("tuner/tuner", {"serve", "--listen", server_, "--db", disk_ + "/studies.db",
                                    "--calibration", "table", "--tracker", tracker});
  }
  void TearDown() override {
    daemon_.reset();
    tracker_.reset();
    if (mounted_) umount2(disk_.c_str(), MNT_DETACH);
  }

  // Until it says that it listens.
  static std::unique_ptr<Child> Start(const std::string& program, std::vector<std::string> args) {
    absl::StatusOr<std::unique_ptr<Child>> child =
        Child::Start({.program = *FindProgram(program), .args = std::move(args)});
    EXPECT_THAT(child, IsOk());
    EXPECT_THAT((*child)->ReadLine(kLong), IsOk());
    return *std::move(child);
  }

  ExitInfo Tuner(std::vector<std::string> args) {
    args.insert(args.end(), {"--server", server_});
    const absl::StatusOr<ExitInfo> exit =
        RunSubprocess({.program = *FindProgram("tuner/tuner"), .args = args, .timeout = kLong});
    EXPECT_THAT(exit, IsOk());
    return *exit;
  }

  std::string StateOf(const std::string& study) {
    const ExitInfo exit = Tuner({"status", study, "--json"});
    EXPECT_EQ(exit.exit_code, 0) << exit.stderr_bytes;
    return nlohmann::json::parse(exit.stdout_bytes).value("state", "");
  }

  // Also drains the daemon's stderr.
  testing::AssertionResult Eventually(const std::function<bool()>& holds) {
    const absl::Time end = Clock::Real().SteadyNow() + kLong;
    while (Clock::Real().SteadyNow() < end) {
      if (holds()) return testing::AssertionSuccess();
      daemon_->ReadLine(absl::Milliseconds(100)).status().IgnoreError();
    }
    return testing::AssertionFailure() << "not in time; the daemon: " << daemon_->stderr_bytes();
  }
  bool HasSaid(const std::string& text) { return absl::StrContains(daemon_->stderr_bytes(), text); }

  // Takes what is left of the disk.
  void Fill() {
    std::ofstream file(disk_ + "/ballast", std::ios::binary);
    const std::string page(4096, 'x');
    while (file.write(page.data(), page.size()).flush()) {
    }
    ASSERT_EQ(std::filesystem::space(disk_).free, 0);
  }
  void Free() { std::filesystem::remove(disk_ + "/ballast"); }

  std::optional<TempDir> folder_;
  std::string disk_, server_;
  bool mounted_ = false;
  std::unique_ptr<Child> tracker_, daemon_;
};

TEST_F(DiskTest, WhatCannotBeWrittenIsRefusedOrSaidAndWrittenWhenThereIsSpace) {
  const ExitInfo submitted = Tuner({"submit", "--task", kTask, "--detach", "--json"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.stderr_bytes;
  const std::string study = nlohmann::json::parse(submitted.stdout_bytes).value("study", "");
  ASSERT_TRUE(Eventually([&] { return StateOf(study) == "running"; }));
  Fill();

  // What a person asks for is refused, and nothing of it is done.
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"submit", "--task", kTask, "--detach"}, {"cancel", study}}) {
    const ExitInfo refused = Tuner(call);
    EXPECT_EQ(refused.exit_code, EX_IOERR) << call[0];
    EXPECT_THAT(refused.stderr_bytes, HasSubstr("no space left")) << call[0];
  }
  EXPECT_EQ(StateOf(study), "running");

  // What happens by itself is said, with the study's name, and kept until it can be written.
  const std::vector<Process> runs = ChildrenOf(ListProcesses(), daemon_->pid());
  ASSERT_EQ(runs.size(), 1u);
  kill(runs[0].pid, SIGKILL);
  EXPECT_TRUE(Eventually([&] { return HasSaid("cannot be written"); }));
  EXPECT_TRUE(HasSaid(study));
  EXPECT_TRUE(HasSaid("no space left"));
  EXPECT_EQ(StateOf(study), "running");
  Free();
  EXPECT_TRUE(Eventually([&] { return StateOf(study) == "parked"; }));
  EXPECT_TRUE(Eventually([&] { return HasSaid("is written after"); }));

  const ExitInfo resumed = Tuner({"resume", study, "--detach"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.stderr_bytes;
  EXPECT_TRUE(Eventually([&] { return StateOf(study) == "running"; }));
  EXPECT_EQ(Tuner({"cancel", study}).exit_code, 0);
}

}  // namespace
}  // namespace burnish
