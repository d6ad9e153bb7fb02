#include "base/own_user.h"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace burnish {

bool BecomeOwnUser() {
  if (getuid() != 0 && geteuid() != 0) return true;
  const pid_t parent = getppid();
  int death_signal = 0;
  prctl(PR_GET_PDEATHSIG, &death_signal);
  // In this order: who is not root any more may not change groups.
  if (setgroups(0, nullptr) != 0 || setresgid(kOwnUser, kOwnUser, kOwnUser) != 0 ||
      setresuid(kOwnUser, kOwnUser, kOwnUser) != 0) {
    return false;
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // The kernel takes it from a process that changes its user. A parent that died meanwhile sends
  // nothing any more.
  prctl(PR_SET_PDEATHSIG, death_signal);
  if (death_signal != 0 && getppid() != parent) raise(death_signal);
  return getuid() != 0 && geteuid() != 0;
}

bool MayBecomeOwnUser() {
  if (getuid() != 0 && geteuid() != 0) return true;
  const pid_t child = fork();
  if (child == 0) _exit(BecomeOwnUser() ? 0 : 1);
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
}

}  // namespace burnish
