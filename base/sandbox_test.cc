#include "base/sandbox.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/sandbox_calls.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Profile = SandboxOptions::Profile;

// How a child ends that enters the sandbox and then does this: its exit code, or minus its signal.
int EndOf(const SandboxOptions& options, const std::function<int()>& deed) {
  const pid_t pid = fork();
  if (pid == 0) {
    EnterSandbox(options);
    _exit(deed());
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int Opens(const char* path, int flags) {
  const int descriptor = open(path, flags, 0600);
  return descriptor >= 0 ? 0 : errno;
}

class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FindSandboxSupport().seccomp) GTEST_SKIP() << "this kernel has no filters";
  }
};

TEST_F(SandboxTest, NoProfileReachesTheNetworkOrOtherPrograms) {
  for (const Profile profile : {Profile::kRun, Profile::kCompile}) {
    const SandboxOptions options{.profile = profile};
    EXPECT_EQ(EndOf(options, [] { return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 0 : 1; }), -SIGSYS);
    EXPECT_EQ(EndOf(options, [] { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : 1; }), -SIGSYS);
    EXPECT_EQ(EndOf(options, [] { return execl("/bin/true", "true", nullptr); }), -SIGSYS);
    EXPECT_EQ(EndOf(options,
                    [] { return static_cast<int>(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }),
              -SIGSYS);
    EXPECT_EQ(EndOf(options, [] { return 7; }), 7);
    EXPECT_EQ(EndOf(options,
                    [] {
                      void* memory = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                      return memory != MAP_FAILED ? 0 : 1;
                    }),
              0);
  }
}

TEST_F(SandboxTest, RunningCodeOpensNothingAndStartsNothing) {
  if (!FindSandboxSupport().allow_list) GTEST_SKIP() << "a sanitizer does so itself";
  const SandboxOptions options{.profile = Profile::kRun};
  EXPECT_EQ(EndOf(options, [] { return Opens("/etc/hostname", O_RDONLY); }), -SIGSYS);
  EXPECT_EQ(EndOf(options, [] { return static_cast<int>(fork()); }), -SIGSYS);
  EXPECT_EQ(EndOf(options, [] { return kill(getppid(), 0); }), -SIGSYS);
  EXPECT_EQ(EndOf(options, [] { return ftruncate(4, 0) == 0 ? 0 : errno; }), -SIGSYS);
  EXPECT_EQ(EndOf(options,
                  []() -> int {
                    raise(SIGTERM);
                    return 0;
                  }),
            -SIGTERM);
}

// The way that code is loaded, and no other: each protection that memory can be mapped with, and
// each that it can be given then.
TEST_F(SandboxTest, RunningCodeMapsCodeFromFilesAlone) {
  if (!FindSandboxSupport().allow_list) GTEST_SKIP() << "a sanitizer maps code itself";
  const SandboxOptions options{.profile = Profile::kRun};
  const UniqueFd file(memfd_create("code", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.get(), 4096), 0);
  void* const place = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  constexpr int kPlaced = MAP_FIXED | MAP_POPULATE, kAny = MAP_PRIVATE | MAP_ANONYMOUS;
  constexpr int kCode = PROT_READ | PROT_EXEC;
  for (const int flags : {MAP_PRIVATE, MAP_SHARED, kAny, MAP_PRIVATE | kPlaced, kAny | kPlaced,
                          MAP_SHARED | kPlaced}) {
    for (int first = 0; first < 8; ++first) {
      for (int then = 0; then < 8; ++then) {
        const bool is_code = first == kCode && flags == (MAP_PRIVATE | kPlaced);
        const bool is_allowed = (is_code || (first & PROT_EXEC) == 0) && (then & PROT_EXEC) == 0;
        EXPECT_EQ(EndOf(options,
                        [&] {
                          void* const memory = mmap(place, 4096, first, flags, file.get(), 0);
                          if (memory == MAP_FAILED) return 1;
                          return mprotect(memory, 4096, then) == 0 ? 0 : 2;
                        }),
                  is_allowed ? 0 : -SIGSYS)
            << flags << " " << first << " then " << then;
      }
    }
  }
}

int SetsAffinity(pid_t thread) {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return 99;
  return sched_setaffinity(thread, sizeof(mask), &mask) == 0 ? 0 : errno;
}

TEST_F(SandboxTest, CpusOfOtherProcessesCannotBeChosen) {
  const pid_t parent = getpid();
  for (const Profile profile : {Profile::kRun, Profile::kCompile}) {
    const SandboxOptions options{.profile = profile};
    EXPECT_EQ(EndOf(options, [] { return SetsAffinity(0); }), 0);
    EXPECT_EQ(EndOf(options, [=] { return SetsAffinity(parent); }), EPERM);
  }
  if (!FindSandboxSupport().allow_list) return;  // With a sanitizer threads may be started later.
  EXPECT_EQ(EndOf({.profile = Profile::kRun}, [] { return SetsAffinity(gettid()); }), 0);
}

// A candidate runs on every thread of the pool.
TEST_F(SandboxTest, ThreadsFromBeforeAreInsideToo) {
  const pid_t pid = fork();
  if (pid == 0) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) _exit(1);
    std::thread earlier([&] {
      char go = 0;
      if (read(pipe_ends[0], &go, 1) == 1) _exit(socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 2 : 3);
    });
    EnterSandbox({.profile = Profile::kRun});
    if (write(pipe_ends[1], "g", 1) != 1) _exit(4);
    earlier.join();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

TEST_F(SandboxTest, CompilerWritesInItsFolderAndNowhereElse) {
  if (FindSandboxSupport().landlock_version == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const absl::StatusOr<TempDir> folder = TempDir::Create("sandbox-test");
  const absl::StatusOr<TempDir> other = TempDir::Create("sandbox-test");
  ASSERT_TRUE(folder.ok() && other.ok());
  const SandboxOptions options{.profile = Profile::kCompile, .writable_folder = folder->path()};
  const std::string inside = folder->path() + "/object", outside = other->path() + "/object";
  std::ofstream(outside) << "secret";
  EXPECT_EQ(EndOf(options, [&] { return Opens(inside.c_str(), O_WRONLY | O_CREAT); }), 0);
  EXPECT_EQ(EndOf(options, [&] { return Opens(inside.c_str(), O_RDONLY); }), 0);
  EXPECT_EQ(EndOf(options, [&] { return unlink(inside.c_str()) == 0 ? 0 : errno; }), 0);
  EXPECT_EQ(EndOf(options, [&] { return Opens(outside.c_str(), O_WRONLY); }), EACCES);
  EXPECT_EQ(EndOf(options, [&] { return Opens(outside.c_str(), O_RDONLY); }), EACCES);
  EXPECT_EQ(EndOf(options, [&] { return unlink(outside.c_str()) == 0 ? 0 : errno; }), EACCES);
  EXPECT_EQ(EndOf(options, [] { return Opens("/proc/self/maps", O_RDONLY); }), 0);
  const SandboxOptions reads{.profile = Profile::kCompile,
                             .readable_folders = {other->path(), "/no"}};
  EXPECT_EQ(EndOf(reads, [&] { return Opens(outside.c_str(), O_RDONLY); }), 0);
  EXPECT_EQ(EndOf(reads, [&] { return Opens(outside.c_str(), O_WRONLY); }), EACCES);
  EXPECT_EQ(EndOf(reads, [&] { return unlink(outside.c_str()) == 0 ? 0 : errno; }), EACCES);
}

TEST_F(SandboxTest, CompilerHasThreadsAndNoProcesses) {
  if (!FindSandboxSupport().allow_list) GTEST_SKIP() << "a sanitizer forks itself";
  const SandboxOptions options{.profile = Profile::kCompile};
  EXPECT_EQ(EndOf(options, [] { return static_cast<int>(fork()); }), -SIGSYS);
  EXPECT_EQ(EndOf(options,
                  [] {
                    int result = 1;
                    std::thread([&result] { result = 0; }).join();
                    return result;
                  }),
            0);
}

// Every number, up to beyond what today's kernels have, with arguments that no call can use. What
// is in no list of sandbox_calls.h must not get as far as to find them wrong.
constexpr long kNumbers = 512;

bool IsIn(std::span<const int> calls, long number) {
  return std::find(calls.begin(), calls.end(), static_cast<int>(number)) != calls.end();
}

// Of probes: the kernel asks no filter, and does nothing where it has set none (Linux 6.14, 6.18).
bool IsUnfiltered(long number) {
#if defined(__x86_64__)
  return number == 335 || number == 336;
#else
  return false;
#endif
}

int ErrorOf(long number) { return syscall(number, -1L, -1L, -1L, -1L, -1L, -1L) == -1 ? errno : 0; }

TEST_F(SandboxTest, CallsThatAreNotListedEndRunningCode) {
  if (!FindSandboxSupport().allow_list) GTEST_SKIP() << "a sanitizer does so itself";
  for (long number = 0; number < kNumbers; ++number) {
    if (IsIn(kAllowedCalls, number) || IsUnfiltered(number)) continue;
    const int end = EndOf({.profile = Profile::kRun}, [=] { return ErrorOf(number); });
    EXPECT_EQ(end, number == SYS_sched_setaffinity ? EPERM : -SIGSYS) << "call " << number;
  }
}

TEST_F(SandboxTest, CallsThatAreNotListedAreNotThereForCompilers) {
  if (!FindSandboxSupport().allow_list) GTEST_SKIP() << "a sanitizer does so itself";
  for (long number = 0; number < kNumbers; ++number) {
    if (IsIn(kAllowedCalls, number) || IsIn(kAllowedCallsOfCompilers, number)) continue;
    // Threads yes, processes no: CompilerHasThreadsAndNoProcesses.
    if (number == SYS_clone || IsUnfiltered(number)) continue;
    const bool is_denied = IsIn(kDeniedCalls, number)
#if defined(__x86_64__)
                           || number == SYS_fork || number == SYS_vfork
#endif
        ;
    const int want = is_denied                                   ? -SIGSYS
                     : IsIn(kCallsByArgumentOfCompilers, number) ? EPERM
                                                                 : ENOSYS;
    const int end = EndOf({.profile = Profile::kCompile}, [=] { return ErrorOf(number); });
    EXPECT_EQ(end, want) << "call " << number;
  }
}

// A way to reach another process of the same user, by which it is harmed or read.
struct Way {
  const char* name;
  std::function<bool(pid_t)> works;
  bool may_be_denied = false;  // By a system that lets nobody trace.
};

bool Signals(long call, pid_t victim, bool of_thread) {
  siginfo_t info = {};
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  return of_thread ? syscall(call, victim, victim, 0, &info) == 0
                   : syscall(call, victim, 0, &info) == 0;
}

std::vector<Way> WaysToOthers() {
  return {
      {"kill", [](pid_t victim) { return kill(victim, 0) == 0; }},
      {"kill of a group", [](pid_t) { return kill(0, 0) == 0; }},
      {"tkill", [](pid_t victim) { return syscall(SYS_tkill, victim, 0) == 0; }},
      {"tgkill", [](pid_t victim) { return syscall(SYS_tgkill, victim, victim, 0) == 0; }},
      {"rt_sigqueueinfo",
       [](pid_t victim) { return Signals(SYS_rt_sigqueueinfo, victim, /*of_thread=*/false); }},
      {"rt_tgsigqueueinfo",
       [](pid_t victim) { return Signals(SYS_rt_tgsigqueueinfo, victim, /*of_thread=*/true); }},
      {"pidfd_send_signal",
       [](pid_t victim) {
         const long descriptor = syscall(SYS_pidfd_open, victim, 0);
         return syscall(SYS_pidfd_send_signal, descriptor, 0, nullptr, 0) == 0;
       }},
      {"owner of a file", [](pid_t victim) { return fcntl(STDERR_FILENO, F_SETOWN, victim) == 0; }},
      {"owner of a file, the newer call",
       [](pid_t victim) {
         const f_owner_ex owner = {.type = F_OWNER_PID, .pid = victim};
         return fcntl(STDERR_FILENO, F_SETOWN_EX, &owner) == 0;
       }},
      {"its limits",
       [](pid_t victim) {
         const rlimit limit = {.rlim_cur = 10, .rlim_max = 10};
         return prlimit(victim, RLIMIT_NOFILE, &limit, nullptr) == 0;
       }},
      {"its niceness", [](pid_t victim) { return setpriority(PRIO_PROCESS, victim, 10) == 0; }},
      {"its turn at the disk",
       [](pid_t victim) { return syscall(SYS_ioprio_set, /*process*/ 1, victim, 3 << 13) == 0; }},
      {"its scheduler",
       [](pid_t victim) {
         const sched_param parameter = {};
         return sched_setscheduler(victim, SCHED_BATCH, &parameter) == 0;
       }},
      {"its CPUs", [](pid_t victim) { return SetsAffinity(victim) == 0; }},
      {"its memory",
       [](pid_t victim) {
         char there = 'v', here = 0;
         const iovec to = {.iov_base = &here, .iov_len = 1};
         const iovec from = {.iov_base = &there, .iov_len = 1};
         return process_vm_readv(victim, &to, 1, &from, 1, 0) == 1;
       },
       /*may_be_denied=*/true},
      {"its locks' list",
       [](pid_t victim) {
         void* head = nullptr;
         size_t size = 0;
         return syscall(SYS_get_robust_list, victim, &head, &size) == 0;
       },
       /*may_be_denied=*/true},
      {"tracing", [](pid_t victim) { return ptrace(PTRACE_ATTACH, victim, nullptr, nullptr) == 0; },
       /*may_be_denied=*/true},
  };
}

TEST_F(SandboxTest, NoWayLeadsToAnotherProcess) {
  if (!FindSandboxSupport().allow_list) GTEST_SKIP() << "a sanitizer does so itself";
  for (const Way& way : WaysToOthers()) {
    SCOPED_TRACE(way.name);
    const pid_t victim = fork();
    if (victim == 0) {
      while (true) pause();
    }
    for (const Profile profile : {Profile::kRun, Profile::kCompile}) {
      EXPECT_NE(EndOf({.profile = profile}, [&] { return way.works(victim) ? 0 : 1; }), 0);
    }
    // Outside it leads there.
    const pid_t outside = fork();
    if (outside == 0) _exit(way.works(victim) ? 0 : 1);
    int status = 0;
    EXPECT_EQ(waitpid(outside, &status, 0), outside);
    if (!way.may_be_denied) {
      EXPECT_EQ(status, 0);
    }
    kill(victim, SIGKILL);
    EXPECT_EQ(waitpid(victim, &status, 0), victim);
  }
}

// What a compiler needs of the calls that are judged by their arguments.
TEST_F(SandboxTest, ACompilerMayAskForItself) {
  const SandboxOptions options{.profile = Profile::kCompile};
  EXPECT_EQ(EndOf(options, [] { return kill(getpid(), 0); }), 0);
  EXPECT_EQ(EndOf(options,
                  []() -> int {
                    raise(SIGTERM);
                    return 0;
                  }),
            -SIGTERM);
  EXPECT_EQ(EndOf(options, [] { return fcntl(STDERR_FILENO, F_GETFD) >= 0 ? 0 : errno; }), 0);
  EXPECT_EQ(EndOf(options,
                  [] {
                    rlimit limit = {};
                    return prlimit(getpid(), RLIMIT_AS, nullptr, &limit);
                  }),
            0);
}

TEST_F(SandboxTest, LimitsHoldAndCannotBeRaised) {
  const SandboxOptions options{
      .profile = Profile::kCompile, .file_size_bytes = 1000, .open_files = 20};
  EXPECT_EQ(EndOf(options,
                  [] {
                    rlimit core = {}, size = {}, files = {};
                    getrlimit(RLIMIT_CORE, &core);
                    getrlimit(RLIMIT_FSIZE, &size);
                    getrlimit(RLIMIT_NOFILE, &files);
                    return core.rlim_max == 0 && size.rlim_max == 1000 && files.rlim_max == 20;
                  }),
            1);
}

}  // namespace
}  // namespace burnish
