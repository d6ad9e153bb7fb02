#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/self_path.h"
#include "base/spawn.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// What a pipe holds by default on Linux, so that one read empties it.
constexpr size_t kReadBytes = 1 << 16;
constexpr size_t kUnreadBytesMax = 1 << 20;  // Also the largest that an ordinary user's pipe holds.

absl::Time Now() { return Clock::Real().SteadyNow(); }

struct Pipe {
  UniqueFd ours, theirs;
};

absl::StatusOr<Pipe> MakePipe(bool we_write) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  Pipe result = {.ours = UniqueFd(fds[we_write ? 1 : 0]),
                 .theirs = UniqueFd(fds[we_write ? 0 : 1])};
  // Our end only: a child that meets EAGAIN on its stdout would be surprised.
  if (fcntl(result.ours.get(), F_SETFL, O_NONBLOCK) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a pipe non-blocking");
  }
  return result;
}

// Like write, but EPIPE comes without the signal, whatever the process does with SIGPIPE.
ssize_t WriteWithoutSignal(int fd, absl::string_view bytes) {
  sigset_t broken, before, pending;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &broken, &before);
  const ssize_t written = write(fd, bytes.data(), bytes.size());
  const int error = errno;
  // The signal is pending on this thread now. It is taken off, unless one was pending before, which
  // is somebody else's.
  if (written < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    const timespec now = {};
    sigtimedwait(&broken, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

std::vector<std::string> LauncherFlags(const ChildOptions& options) {
  std::vector<std::string> flags;
  const auto add = [&flags](absl::string_view name, int64_t value) {
    if (value != 0) flags.push_back(absl::StrCat(name, value));
  };
  const ChildLimits& limits = options.limits;
  add("--parent=", options.dies_with_parent ? getpid() : 0);
  add("--address-space=", limits.address_space_bytes);
  add("--cpu-time=", limits.cpu_time_seconds);
  add("--file-size=", limits.file_size_bytes);
  add("--open-files=", limits.open_files);
  if (!limits.cpus.empty()) flags.push_back("--cpus=" + absl::StrJoin(limits.cpus, ","));
  return flags;
}

absl::StatusOr<SpawnRequest> RequestFor(const ChildOptions& options) {
  SpawnRequest request = {.program = options.program,
                          .args = options.args,
                          .environment = options.empty_environment
                                             ? EnvironmentOfSandbox(options.extra_env)
                                             : EnvironmentWith(options.extra_env),
                          .working_folder = options.working_folder};
  std::vector<std::string> flags = LauncherFlags(options);
  if (flags.empty()) return request;
  // The launcher would find out as well, but only by exiting.
  const bool relative = options.program.empty() || options.program[0] != '/';
  if (!(relative && !options.working_folder.empty()) &&
      access(options.program.c_str(), X_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot start ", options.program));
  }
  ASSIGN_OR_RETURN(request.program, FindProgram("base/burnish-launcher"));
  flags.emplace_back("--");
  flags.push_back(options.program);
  request.args.insert(request.args.begin(), flags.begin(), flags.end());
  return request;
}

absl::Duration FromTimeval(const timeval& time) {
  return absl::Seconds(time.tv_sec) + absl::Microseconds(time.tv_usec);
}

}  // namespace

std::string Describe(const ExitInfo& exit) {
  std::string text;
  if (exit.timed_out) {
    text = absl::StrCat("timed out after ", absl::FormatDuration(exit.wall_time));
  } else if (exit.signal != 0) {
    const char* name = sigdescr_np(exit.signal);
    text = absl::StrCat("signal ", exit.signal, " (", name == nullptr ? "unknown" : name, ")");
  } else {
    text = absl::StrCat("exit code ", exit.exit_code);
  }
  absl::string_view tail = absl::StripSuffix(exit.stderr_bytes, "\n");
  // Of stderr the end says why; the message goes into records and logs.
  constexpr size_t kTailBytes = 500;
  if (tail.size() > kTailBytes) tail.remove_prefix(tail.size() - kTailBytes);
  return tail.empty() ? text : absl::StrCat(text, ": ", tail);
}

absl::StatusOr<std::unique_ptr<Child>> Child::Start(const ChildOptions& options) {
  ASSIGN_OR_RETURN(SpawnRequest request, RequestFor(options));
  ASSIGN_OR_RETURN(Pipe in, MakePipe(/*we_write=*/true));
  ASSIGN_OR_RETURN(Pipe out, MakePipe(/*we_write=*/false));
  ASSIGN_OR_RETURN(Pipe err, MakePipe(/*we_write=*/false));
  request.fds = {in.theirs.get(), out.theirs.get(), err.theirs.get()};
  request.fds.insert(request.fds.end(), options.inherited_fds.begin(), options.inherited_fds.end());
  std::unique_ptr<Child> child(new Child);
  child->start_ = Now();
  child->stderr_bytes_max_ = options.stderr_bytes_max;
  // From here on the object owns a process, and its destructor ends it on every way out. `theirs`
  // close with this function: the child's copies must be the last, or end of file would never come.
  ASSIGN_OR_RETURN(child->pid_, Spawn(request));
  child->stdin_fd_ = std::move(in.ours);
  child->stdout_fd_ = std::move(out.ours);
  child->stderr_fd_ = std::move(err.ours);
  // By number: the header of glibc 2.36 lacks extern "C".
  child->pidfd_.Reset(static_cast<int>(syscall(SYS_pidfd_open, child->pid_, 0)));
  // Without it we could not wait with a limit; the destructor ends the child.
  if (!child->pidfd_.valid()) return absl::ErrnoToStatus(errno, "cannot open a pidfd");
  return child;
}

Child::~Child() {
  if (pid_ < 0 || exited_) return;
  Kill();
  // Not Reap: there may be no pidfd, and nobody wants the output.
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Child::Kill(int signal) const {
  const std::lock_guard lock(reaping_);
  // The whole group, since a child's children keep its pipes open and would use CPUs that are being
  // measured on. Under the lock: after reaping, the number may be another group's.
  if (!exited_) kill(-pid_, signal);
}

absl::StatusOr<bool> Child::Step(absl::Time deadline) {
  const bool wants_write = stdin_fd_.valid() && !to_write_.empty();
  const bool wants_read =
      stdout_fd_.valid() && (drop_excess_ || stdout_.size() < stdout_bytes_max_);
  // poll skips negative descriptors.
  pollfd fds[] = {{.fd = wants_write ? stdin_fd_.get() : -1, .events = POLLOUT, .revents = 0},
                  {.fd = wants_read ? stdout_fd_.get() : -1, .events = POLLIN, .revents = 0},
                  {.fd = stderr_fd_.get(), .events = POLLIN, .revents = 0},
                  {.fd = exited_ ? -1 : pidfd_.get(), .events = POLLIN, .revents = 0}};
  const absl::Duration left = std::max(deadline - Now(), absl::ZeroDuration());
  const timespec timeout = absl::ToTimespec(left);
  const int ready =
      ppoll(fds, 4, left == absl::InfiniteDuration() ? nullptr : &timeout, /*sigmask=*/nullptr);
  if (ready < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "cannot poll a child");
  if (ready < 0) return true;
  if (ready == 0) return false;
  // Output before exit: what was written before the end is read before the end is noted.
  if (fds[1].revents != 0) ReadStdout();
  if (fds[2].revents != 0) ReadStderr();
  if (fds[3].revents != 0) RETURN_IF_ERROR(Reap());
  if (fds[0].revents != 0 && stdin_fd_.valid()) RETURN_IF_ERROR(WriteSome());
  return true;
}

absl::Status Child::WriteSome() {
  const ssize_t written = WriteWithoutSignal(stdin_fd_.get(), to_write_);
  if (written >= 0) {
    to_write_.remove_prefix(static_cast<size_t>(written));
    return absl::OkStatus();
  }
  if (errno == EAGAIN || errno == EINTR) return absl::OkStatus();
  to_write_ = {};
  const int error = errno;
  stdin_fd_.Reset();
  if (error == EPIPE) return absl::UnavailableError("the child does not read its input any more");
  return absl::ErrnoToStatus(error, "cannot write to a child");
}

void Child::ReadStdout() {
  char buffer[kReadBytes];
  const ssize_t got = read(stdout_fd_.get(), buffer, sizeof(buffer));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    stdout_fd_.Reset();
    return;
  }
  size_t kept = static_cast<size_t>(got);
  // Read and dropped, rather than left in the pipe: a child that writes too much must still come to
  // its end.
  if (drop_excess_)
    kept = std::min(kept, stdout_bytes_max_ - std::min(stdout_bytes_max_, stdout_.size()));
  cut_ |= kept < static_cast<size_t>(got);
  stdout_.append(buffer, kept);
}

void Child::ReadStderr() {
  char buffer[kReadBytes];
  const ssize_t got = read(stderr_fd_.get(), buffer, sizeof(buffer));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    stderr_fd_.Reset();
    return;
  }
  stderr_.append(buffer, static_cast<size_t>(got));
  if (stderr_.size() > stderr_bytes_max_) {
    cut_ = true;
    stderr_.erase(0, stderr_.size() - stderr_bytes_max_);
  }
}

// What the pipes hold now that the writers are gone. Bounded, because a grandchild that left the
// process group may still write.
void Child::Drain() {
  for (size_t i = 0; i < 2 * kUnreadBytesMax / kReadBytes; ++i) {
    pollfd fds[] = {{.fd = stdout_fd_.get(), .events = POLLIN, .revents = 0},
                    {.fd = stderr_fd_.get(), .events = POLLIN, .revents = 0}};
    if (poll(fds, 2, /*timeout=*/0) <= 0) break;
    if (fds[0].revents != 0) ReadStdout();
    if (fds[1].revents != 0) ReadStderr();
  }
  stdin_fd_.Reset();
  stdout_fd_.Reset();
  stderr_fd_.Reset();
}

absl::Status Child::Reap() {
  // While the child is a zombie its number, which is also the group's, cannot be given away.
  Kill();
  Drain();
  int status = 0;
  rusage usage = {};
  const std::lock_guard lock(reaping_);
  while (wait4(pid_, &status, 0, &usage) < 0) {
    if (errno != EINTR) return absl::ErrnoToStatus(errno, "cannot wait for a child");
  }
  exited_ = true;
  if (WIFSIGNALED(status)) {
    exit_.signal = WTERMSIG(status);
  } else {
    exit_.exit_code = WEXITSTATUS(status);
  }
  exit_.max_rss_bytes = int64_t{usage.ru_maxrss} << 10;
  exit_.cpu_time = FromTimeval(usage.ru_utime) + FromTimeval(usage.ru_stime);
  exit_.wall_time = Now() - start_;
  return absl::OkStatus();
}

absl::Status Child::Write(absl::string_view bytes, absl::Duration timeout) {
  const absl::Time deadline = Now() + timeout;
  to_write_ = bytes;
  while (!to_write_.empty()) {
    if (!stdin_fd_.valid()) {
      to_write_ = {};
      return absl::UnavailableError("the child does not read its input any more");
    }
    // So that a child that answers while we still write does not block us both.
    stdout_bytes_max_ = kUnreadBytesMax;
    absl::StatusOr<bool> progress = Step(deadline);
    if (progress.ok() && *progress) continue;
    to_write_ = {};
    if (!progress.ok()) return progress.status();
    return absl::DeadlineExceededError("the child does not take its input");
  }
  return absl::OkStatus();
}

absl::Status Child::WriteFrame(absl::string_view bytes, absl::Duration timeout) {
  const absl::Time deadline = Now() + timeout;
  const FrameHeader header = EncodeFrameHeader(bytes.size());
  RETURN_IF_ERROR(Write(absl::string_view(header.data(), header.size()), timeout));
  return Write(bytes, deadline - Now());
}

void Child::CloseStdin() { stdin_fd_.Reset(); }

absl::Status Child::Fill(size_t size, absl::Time deadline) {
  drop_excess_ = false;
  // No more than needed: what follows stays in the pipe, and a child that runs ahead is slowed down
  // by it.
  stdout_bytes_max_ = std::max(size, kReadBytes);
  while (stdout_.size() < size) {
    if (!stdout_fd_.valid()) {
      return absl::UnavailableError(exited_ ? absl::StrCat("the child ended: ", Describe(exit_))
                                            : "the child closed its output");
    }
    ASSIGN_OR_RETURN(const bool progress, Step(deadline));
    if (!progress) return absl::DeadlineExceededError("the child says nothing");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Child::ReadLine(absl::Duration timeout, size_t limit_bytes) {
  const absl::Time deadline = Now() + timeout;
  for (size_t searched = 0;;) {
    const size_t end = stdout_.find('\n', searched);
    searched = stdout_.size();
    if (std::min(end, searched) > limit_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("got a line of more than ", limit_bytes, " bytes from a child"));
    }
    if (end != std::string::npos) {
      std::string line = stdout_.substr(0, end);
      stdout_.erase(0, end + 1);
      return line;
    }
    RETURN_IF_ERROR(Fill(searched + 1, deadline));
  }
}

absl::StatusOr<std::string> Child::ReadFrame(absl::Duration timeout, size_t limit_bytes) {
  const absl::Time deadline = Now() + timeout;
  RETURN_IF_ERROR(Fill(kFrameHeaderBytes, deadline));
  const size_t size = DecodeFrameHeader(stdout_.data());
  // Before the body is read: four hostile bytes must not make this process allocate 4 GiB.
  if (size > limit_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("got a frame of ", size, " bytes, want at most ", limit_bytes));
  }
  RETURN_IF_ERROR(Fill(kFrameHeaderBytes + size, deadline));
  std::string frame = stdout_.substr(kFrameHeaderBytes, size);
  stdout_.erase(0, kFrameHeaderBytes + size);
  return frame;
}

absl::StatusOr<ExitInfo> Child::Wait(absl::Duration timeout) {
  const absl::Time deadline = Now() + timeout;
  drop_excess_ = true;
  stdout_bytes_max_ = std::max(stdout_.size(), kUnreadBytesMax);
  while (!exited_) {
    ASSIGN_OR_RETURN(const bool progress, Step(deadline));
    if (!progress) return absl::DeadlineExceededError("the child still runs");
  }
  ExitInfo exit = exit_;
  exit.stdout_bytes = stdout_;
  exit.stderr_bytes = stderr_;
  exit.output_cut = cut_;
  return exit;
}

absl::StatusOr<ExitInfo> Child::Finish(absl::string_view stdin_bytes, absl::Duration timeout,
                                       size_t stdout_bytes_max) {
  absl::Time deadline = Now() + timeout;
  to_write_ = stdin_bytes;
  drop_excess_ = true;
  stdout_bytes_max_ = stdout_bytes_max;
  while (!exited_) {
    if (to_write_.empty()) CloseStdin();
    const absl::StatusOr<bool> progress = Step(deadline);
    // UNAVAILABLE: a program need not read what it is given.
    if (!progress.ok() && !absl::IsUnavailable(progress.status())) return progress.status();
    if (progress.ok() && !*progress) {
      exit_.timed_out = true;
      // SIGKILL cannot be refused; the end is near, and its status and output are still wanted.
      deadline = absl::InfiniteFuture();
      Kill();
    }
  }
  to_write_ = {};
  exit_.timed_out = exit_.timed_out && exit_.signal == SIGKILL;  // It may just have made it.
  return Wait(absl::ZeroDuration());
}

}  // namespace burnish
