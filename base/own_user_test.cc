#include "base/own_user.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "gtest/gtest.h"

namespace burnish {
namespace {

int ExitCodeOf(const std::function<int()>& deed) {
  const pid_t pid = fork();
  if (pid == 0) _exit(deed());
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(OwnUserTest, RootIsGivenUpForGood) {
  if (geteuid() != 0 || !MayBecomeOwnUser()) GTEST_SKIP() << "not root, or root alone";
  EXPECT_EQ(ExitCodeOf([] {
              prctl(PR_SET_PDEATHSIG, SIGKILL);
              if (!BecomeOwnUser()) return 1;
              uid_t users[3] = {};
              gid_t groups[3] = {};
              getresuid(&users[0], &users[1], &users[2]);
              getresgid(&groups[0], &groups[1], &groups[2]);
              for (int i = 0; i < 3; ++i) {
                if (users[i] != kOwnUser || groups[i] != kOwnUser) return 2;
              }
              if (getgroups(0, nullptr) != 0) return 3;
              if (setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0) return 4;
              int death_signal = 0;
              prctl(PR_GET_PDEATHSIG, &death_signal);
              if (death_signal != SIGKILL) return 5;
              if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return 6;
              return open("/proc/1/environ", O_RDONLY) < 0 && errno == EACCES ? 0 : 7;
            }),
            0);
}

TEST(OwnUserTest, WhatIsOpenStaysOpen) {
  EXPECT_EQ(ExitCodeOf([] {
              const int file = open("/proc/self/status", O_RDONLY);
              BecomeOwnUser();
              char byte = 0;
              return read(file, &byte, 1) == 1 ? 0 : 1;
            }),
            0);
}

TEST(OwnUserTest, WhoIsNotRootStaysWhoItIs) {
  if (geteuid() == 0 && !MayBecomeOwnUser()) GTEST_SKIP() << "root alone";
  EXPECT_EQ(ExitCodeOf([] {
              BecomeOwnUser();
              const uid_t user = getuid();
              return BecomeOwnUser() && MayBecomeOwnUser() && getuid() == user ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace burnish
