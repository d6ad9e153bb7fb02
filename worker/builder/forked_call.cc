#include "worker/builder/forked_call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/unique_fd.h"

namespace burnish {
namespace {

// Exit codes of the child; what the compiler itself exits with is small.
constexpr int kOutOfMemoryExit = 86;
constexpr int kReplyFailedExit = 87;
constexpr size_t kStderrBytesMax = 2000;  // The end of it.

struct Pipe {
  UniqueFd read, write;
};

Pipe MakePipe() {
  int fds[2];
  CHECK_EQ(pipe2(fds, O_CLOEXEC), 0);
  return {.read = UniqueFd(fds[0]), .write = UniqueFd(fds[1])};
}

int64_t AddressSpaceBytes() {
  int64_t pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
    long long read = 0;
    if (std::fscanf(file, "%lld", &read) == 1) pages = read;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

void SetLimits(const ForkLimits& limits) {
  const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (limits.memory_limit_bytes > 0) {
    const auto bytes = static_cast<rlim_t>(AddressSpaceBytes() + limits.memory_limit_bytes);
    const rlimit address_space = {.rlim_cur = bytes, .rlim_max = bytes};
    setrlimit(RLIMIT_AS, &address_space);
  }
  std::set_new_handler([] { _exit(kOutOfMemoryExit); });
}

[[noreturn]] void RunChild(const ForkLimits& limits, const std::function<std::string()>& work,
                           int reply, int talk, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kReplyFailedExit);
  dup2(talk, STDOUT_FILENO);
  dup2(talk, STDERR_FILENO);
  SetLimits(limits);
  const std::string bytes = work();
  // Not exit(): destructors and buffers belong to the parent.
  _exit(WriteFrame(reply, bytes).ok() ? 0 : kReplyFailedExit);
}

// Appends what there is. False: the other side is closed.
bool ReadSome(int fd, std::string& bytes) {
  char buffer[64 << 10];
  const ssize_t count = read(fd, buffer, sizeof(buffer));
  if (count > 0) bytes.append(buffer, static_cast<size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

// Reads until the child has closed its reply, or false: the time is up.
bool Collect(UniqueFd reply_fd, UniqueFd talk_fd, absl::Time deadline, std::string& reply,
             std::string& talk) {
  while (reply_fd.valid() || talk_fd.valid()) {
    const absl::Duration left = deadline - Clock::Real().SteadyNow();
    if (left <= absl::ZeroDuration()) return false;
    pollfd fds[2] = {{.fd = reply_fd.valid() ? reply_fd.get() : -1, .events = POLLIN},
                     {.fd = talk_fd.valid() ? talk_fd.get() : -1, .events = POLLIN}};
    const int64_t wait_ms = absl::ToInt64Milliseconds(left) + 1;
    if (poll(fds, 2, static_cast<int>(std::min<int64_t>(wait_ms, 1'000'000))) <= 0) continue;
    if (fds[0].revents != 0 && !ReadSome(reply_fd.get(), reply)) reply_fd.Reset();
    if (fds[1].revents != 0 && !ReadSome(talk_fd.get(), talk)) talk_fd.Reset();
    if (talk.size() > 2 * kStderrBytesMax) talk.erase(0, talk.size() - kStderrBytesMax);
  }
  return true;
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) CHECK_EQ(errno, EINTR);
  return status;
}

Failure Ended(int status, std::string talk) {
  if (talk.size() > kStderrBytesMax) talk.erase(0, talk.size() - kStderrBytesMax);
  const bool out_of_memory =
      (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryExit) ||
      (WIFSIGNALED(status) && absl::StrContains(absl::AsciiStrToLower(talk), "out of memory"));
  if (out_of_memory)
    return {.kind = FailureKind::kOutOfMemory, .message = "the compiler ran out of memory"};
  std::string how = WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status), " (",
                                                       strsignal(WTERMSIG(status)), ")")
                                        : absl::StrCat("exit code ", WEXITSTATUS(status));
  if (!talk.empty()) absl::StrAppend(&how, ": ", talk);
  return {.kind = FailureKind::kCrashed, .message = absl::StrCat("the compiler ended by ", how)};
}

}  // namespace

std::variant<std::string, Failure> CallInFork(const ForkLimits& limits,
                                              const std::function<std::string()>& work) {
  const absl::Time deadline = Clock::Real().SteadyNow() + limits.time_limit;
  Pipe reply_pipe = MakePipe();
  Pipe talk_pipe = MakePipe();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return Failure{.kind = FailureKind::kOutOfMemory,
                   .message = absl::StrCat("cannot fork: ", strerror(errno))};
  }
  if (pid == 0) {
    RunChild(limits, work, reply_pipe.write.get(), talk_pipe.write.get(), parent);
  }
  reply_pipe.write.Reset();
  talk_pipe.write.Reset();
  std::string reply, talk;
  if (!Collect(std::move(reply_pipe.read), std::move(talk_pipe.read), deadline, reply, talk)) {
    kill(pid, SIGKILL);
    WaitFor(pid);
    return Failure{
        .kind = FailureKind::kBuildTimeout,
        .message = absl::StrCat("not done after ", absl::FormatDuration(limits.time_limit))};
  }
  const int status = WaitFor(pid);
  const bool whole = WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
                     reply.size() >= kFrameHeaderBytes &&
                     reply.size() == kFrameHeaderBytes + DecodeFrameHeader(reply.data());
  if (!whole) return Ended(status, std::move(talk));
  reply.erase(0, kFrameHeaderBytes);
  return reply;
}

}  // namespace burnish
