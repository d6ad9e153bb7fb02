#include "worker/runner/checker_sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>

#include "base/sandbox.h"
#include "gtest/gtest.h"
#include "worker/runner/runner_wire.h"

namespace burnish {
namespace {

// How a checker ends that was taken over and then does this: its exit code, or minus its signal.
int EndOf(const std::function<int()>& deed) {
  const pid_t pid = fork();
  if (pid == 0) {
    const int outputs = memfd_create("outputs", 0);
    if (write(outputs, "output", 6) != 6 || dup2(outputs, kOutputsDescriptor) < 0) _exit(99);
    EnterCheckerSandbox();
    _exit(deed());
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(CheckerSandboxTest, ItsOwnWorkGoesOn) {
  EXPECT_EQ(EndOf([] {
              char bytes[6];
              void* const memory = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              const bool works = memory != MAP_FAILED &&
                                 pread(kOutputsDescriptor, bytes, sizeof(bytes), 0) == 6 &&
                                 write(STDERR_FILENO, "", 0) == 0;
              return works ? 0 : 1;
            }),
            0);
}

TEST(CheckerSandboxTest, AHostileOneOpensNothingAndReachesNobody) {
  if (!FindSandboxSupport().seccomp) GTEST_SKIP() << "this kernel has no filters";
  EXPECT_EQ(EndOf([] { return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 0 : 1; }), -SIGSYS);
  EXPECT_EQ(EndOf([] { return execl("/bin/true", "true", nullptr) == 0 ? 0 : 1; }), -SIGSYS);
  if (!FindSandboxSupport().allow_list) return;  // With a sanitizer the rest is not denied.
  EXPECT_EQ(EndOf([] { return open("/etc/passwd", O_RDONLY) >= 0 ? 0 : 1; }), -SIGSYS);
  EXPECT_EQ(EndOf([] { return fork() >= 0 ? 0 : 1; }), -SIGSYS);
  EXPECT_EQ(EndOf([] { return kill(getppid(), 0) == 0 ? 0 : 1; }), -SIGSYS);
  EXPECT_EQ(EndOf([] { return ftruncate(kOutputsDescriptor, 0) == 0 ? 0 : 1; }), -SIGSYS);
}

// Also where the kernel has no filters.
TEST(CheckerSandboxTest, AHostileOneHasTheOutputsAloneAndDoesNotWriteThem) {
  EXPECT_EQ(
      EndOf([] { return read(kOutputsDescriptor + 1, nullptr, 0) < 0 && errno == EBADF ? 0 : 1; }),
      0);
  EXPECT_EQ(EndOf([] { return write(kOutputsDescriptor, "forged", 6) == 6 ? 0 : 1; }), -SIGXFSZ);
}

}  // namespace
}  // namespace burnish
