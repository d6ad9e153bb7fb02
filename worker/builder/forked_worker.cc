#include "worker/builder/forked_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/oom_kills.h"
#include "base/sandbox.h"
#include "base/unique_fd.h"
#include "base/usable_cpus.h"

namespace burnish {
namespace {

// Exit codes of the child; what the compiler itself exits with is small.
constexpr int kOutOfMemoryExit = 86;
constexpr int kReplyFailedExit = 87;
// The parent is trusted; the bound is for a length that got damaged.
constexpr size_t kRequestBytesMax = size_t{1} << 30;
constexpr int kChildSocket = 3;           // Behind stderr.
constexpr size_t kStderrBytesMax = 2000;  // The end of it.

int64_t AddressSpaceBytes() {
  int64_t pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
    long long read = 0;
    if (std::fscanf(file, "%lld", &read) == 1) pages = read;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

// Above what is held now, and until the next call: the limit may rise again.
void LimitMemory(int64_t bytes) {
  rlimit address_space = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  getrlimit(RLIMIT_AS, &address_space);
  address_space.rlim_cur =
      bytes > 0 ? std::min(address_space.rlim_max, static_cast<rlim_t>(AddressSpaceBytes() + bytes))
                : address_space.rlim_max;
  setrlimit(RLIMIT_AS, &address_space);
}

[[noreturn]] void RunChild(const ForkedWorker::Work& work, int socket, int talk, pid_t parent) {
  // First of all, and then a look whether the parent has died before the call took effect: else an
  // orphan would compile on.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kReplyFailedExit);
  // The parent's pipes are none of the child's business.
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  dup2(talk, STDOUT_FILENO);
  dup2(talk, STDERR_FILENO);
  // Nor are other descriptors and the environment. The socket goes to the first free number.
  dup2(socket, kChildSocket);
  socket = kChildSocket;
  CloseDescriptorsFrom(kChildSocket + 1);
  clearenv();
  const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
  // A compiler with LLVM in it leaves cores of gigabytes, and crashes are expected here.
  setrlimit(RLIMIT_CORE, &no_core);
  // LLVM is built without exceptions, so std::bad_alloc would end in abort and look like a crash.
  std::set_new_handler([] { _exit(kOutOfMemoryExit); });
  while (true) {
    // A request is its memory limit, then its text.
    const absl::StatusOr<std::optional<std::string>> frame = ReadFrame(socket, kRequestBytesMax);
    // Not exit(): destructors and buffers belong to the parent.
    if (!frame.ok()) _exit(kReplyFailedExit);
    if (!frame->has_value()) _exit(0);
    int64_t memory_limit_bytes = 0;
    std::memcpy(&memory_limit_bytes, (*frame)->data(), sizeof(memory_limit_bytes));
    const std::string request = (*frame)->substr(sizeof(memory_limit_bytes));
    LimitMemory(memory_limit_bytes);
    const std::string reply = work(request);
    // Before the reply: it is written with what memory there is, and the next request may have
    // more.
    LimitMemory(0);
    if (!WriteFrame(socket, reply).ok()) _exit(kReplyFailedExit);
  }
}

// False: the child is gone.
bool SendAll(int socket, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool SendRequest(int socket, int64_t memory_limit_bytes, absl::string_view request) {
  const FrameHeader header = EncodeFrameHeader(sizeof(memory_limit_bytes) + request.size());
  return SendAll(socket, {header.data(), header.size()}) &&
         SendAll(socket, {reinterpret_cast<const char*>(&memory_limit_bytes),
                          sizeof(memory_limit_bytes)}) &&
         SendAll(socket, request);
}

// Appends what there is. False: the other side is closed.
bool ReadSome(int fd, std::string& bytes) {
  char buffer[64 << 10];
  const ssize_t count = read(fd, buffer, sizeof(buffer));
  if (count > 0) bytes.append(buffer, static_cast<size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

bool IsWhole(const std::string& reply) {
  return reply.size() >= kFrameHeaderBytes &&
         reply.size() == kFrameHeaderBytes + DecodeFrameHeader(reply.data());
}

// Throws away what the child said before its next request.
void Drain(int talk_fd) {
  std::string talk;
  pollfd fd = {.fd = talk_fd, .events = POLLIN};
  while (poll(&fd, 1, 0) > 0 && ReadSome(talk_fd, talk)) talk.clear();
}

// A call's time.
class CallTime {
 public:
  // Begins now: a child serves many calls.
  CallTime(pid_t child, const ForkLimits& limits)
      : child_(child), limits_(limits), cpu_start_(CpuTime()) {}

  // Of the CPU, by the child; what there was when it ended.
  absl::Duration Used() { return CpuTime() - cpu_start_; }
  // Until one of the limits, at the earliest; not positive: over.
  absl::Duration Left() {
    return std::min(limits_.time_limit - Used(), wall_end_ - Clock::Real().SteadyNow());
  }

 private:
  absl::Duration CpuTime() {
    clockid_t clock = {};
    timespec now = {};
    if (clock_getcpuclockid(child_, &clock) == 0 && clock_gettime(clock, &now) == 0) {
      cpu_last_ = absl::DurationFromTimespec(now);
    }
    return cpu_last_;
  }

  const pid_t child_;
  const ForkLimits limits_;
  const absl::Time wall_end_ = Clock::Real().SteadyNow() + limits_.wall_limit;
  absl::Duration cpu_last_;
  const absl::Duration cpu_start_;
};

// Keeps a child off the CPUs on which somebody measures.
class ChildPlace {
 public:
  // `watch` may be null.
  ChildPlace(pid_t child, MeasuringWatch* watch) : child_(child), watch_(watch) {
    if (watch_ == nullptr) return;
    watch_->Look();
    Follow();
  }
  ~ChildPlace() { Continue(); }

  int descriptor() const { return watch_ == nullptr ? -1 : watch_->descriptor(); }
  int timeout_ms() const { return watch_ == nullptr ? -1 : watch_->timeout_ms(); }
  void Look() {
    if (watch_ == nullptr) return;
    if (watch_->Look()) Follow();
    if (stopped_ && Clock::Real().SteadyNow() - stopped_at_ > absl::FromChrono(kStandStillMax)) {
      Continue();
    }
  }

 private:
  void Follow() {
    if (watch_->free().empty()) {
      if (!stopped_) kill(child_, SIGSTOP);
      stopped_ = true;
      stopped_at_ = Clock::Real().SteadyNow();
      return;
    }
    // A CPU that has gone away meanwhile is no error: this is for other people's timings.
    (void)MoveToCpus(child_, watch_->free());
    Continue();
  }
  void Continue() {
    if (stopped_) kill(child_, SIGCONT);
    stopped_ = false;
  }

  const pid_t child_;
  MeasuringWatch* const watch_;
  bool stopped_ = false;
  absl::Time stopped_at_;
};

// Reads until the reply is whole or the child has ended, and all that it said in the second case.
// False: the time is up.
bool Collect(int reply_fd, int talk_fd, CallTime& time, ChildPlace& place, std::string& reply,
             std::string& talk) {
  bool reply_open = true, talk_open = true;
  while ((reply_open || talk_open) && !IsWhole(reply)) {
    const absl::Duration left = time.Left();
    if (left <= absl::ZeroDuration()) return false;
    pollfd fds[3] = {{.fd = reply_open ? reply_fd : -1, .events = POLLIN},
                     {.fd = talk_open ? talk_fd : -1, .events = POLLIN},
                     {.fd = place.descriptor(), .events = POLLIN}};
    int64_t wait_ms = std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, 1'000'000);
    if (place.timeout_ms() >= 0) wait_ms = std::min<int64_t>(wait_ms, place.timeout_ms());
    // All at once: a child that talks more than a pipe holds would block on stderr and never
    // reply.
    const int ready = poll(fds, 3, static_cast<int>(wait_ms));
    place.Look();
    if (ready <= 0) continue;
    if (fds[0].revents != 0) reply_open = ReadSome(reply_fd, reply);
    if (fds[1].revents != 0) talk_open = ReadSome(talk_fd, talk);
    if (talk.size() > 2 * kStderrBytesMax) talk.erase(0, talk.size() - kStderrBytesMax);
  }
  return true;
}

bool WasKilled(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

// `oom_killed`: the kernel has killed somebody meanwhile.
Failure Ended(int status, bool oom_killed, std::string talk) {
  if (talk.size() > kStderrBytesMax) talk.erase(0, talk.size() - kStderrBytesMax);
  const bool out_of_memory =
      (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryExit) ||
      (WasKilled(status) && oom_killed) ||
      // LLVM's own allocators report by text and abort.
      (WIFSIGNALED(status) && absl::StrContains(absl::AsciiStrToLower(talk), "out of memory"));
  if (out_of_memory)
    return {.kind = FailureKind::kOutOfMemory, .message = "the compiler ran out of memory"};
  // Nothing in a compiler sends itself this signal, and its limits end it in other ways. Without a
  // trace of the kernel's doing it was somebody else's, which says nothing of the candidate.
  if (WasKilled(status)) {
    return {.kind = FailureKind::kWorkerLost,
            .message = "somebody killed the compiler, and not for want of memory"};
  }
  std::string how = WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status), " (",
                                                       strsignal(WTERMSIG(status)), ")")
                                        : absl::StrCat("exit code ", WEXITSTATUS(status));
  if (!talk.empty()) absl::StrAppend(&how, ": ", talk);
  return {.kind = FailureKind::kCrashed, .message = absl::StrCat("the compiler ended by ", how)};
}

}  // namespace

struct ForkedWorker::Answer {
  std::variant<std::string, Failure> result = {};
  bool ended_child = false;  // By itself: not for want of time.
  bool was_killed = false;   // From outside.
};

ForkedWorker::ForkedWorker(Work work, int calls_max, std::unique_ptr<MeasuringWatch> watch)
    : work_(std::move(work)), calls_max_(calls_max), watch_(std::move(watch)) {
  CHECK_GE(calls_max, 1);
}

ForkedWorker::~ForkedWorker() { EndChild(); }

int ForkedWorker::EndChild() {
  if (pid_ < 0) return 0;
  // What has ended by itself keeps its status: it is a zombie until it is waited for.
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) CHECK_EQ(errno, EINTR);
  pid_ = -1;
  calls_ = 0;
  socket_.Reset();
  talk_.Reset();
  return status;
}

std::optional<int> ForkedWorker::AwaitEnd() {
  // The kernel closes a process's files a moment before its status can be had; five seconds are for
  // tearing down a compiler's memory on a loaded machine. A guess.
  const absl::Time deadline = Clock::Real().SteadyNow() + absl::Seconds(5);
  while (Clock::Real().SteadyNow() < deadline) {
    siginfo_t info = {};
    // Looks only: EndChild reaps.
    if (waitid(P_PID, pid_, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == pid_) {
      return EndChild();
    }
    usleep(1000);
  }
  EndChild();
  return std::nullopt;
}

bool ForkedWorker::EnsureChild() {
  int status = 0;
  if (pid_ >= 0 && waitpid(pid_, &status, WNOHANG) == pid_) {
    pid_ = -1;  // It was ended while it had nothing to do.
    calls_ = 0;
  }
  if (calls_ >= calls_max_) EndChild();
  if (pid_ >= 0) return true;
  int sockets[2], talk[2];
  CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  CHECK_EQ(pipe2(talk, O_CLOEXEC), 0);
  const UniqueFd child_socket(sockets[1]), child_talk(talk[1]);
  socket_.Reset(sockets[0]);
  talk_.Reset(talk[0]);
  // Before fork: the child's getppid() would name whoever adopted it.
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    // Its end of file must not wait for itself.
    socket_.Reset();
    RunChild(work_, child_socket.get(), child_talk.get(), parent);
  }
  return pid_ >= 0;
}

ForkedWorker::Answer ForkedWorker::OutOfTime(const ForkLimits& limits, absl::Duration cpu_time) {
  EndChild();
  if (cpu_time >= limits.time_limit) {
    return {.result = Failure{.kind = FailureKind::kBuildTimeout,
                              .message = absl::StrCat("not done after ",
                                                      absl::FormatDuration(limits.time_limit))}};
  }
  return {.result = Failure{
              .kind = FailureKind::kWorkerLost,
              .message = absl::StrCat("the compiler got ", absl::FormatDuration(cpu_time),
                                      " of a CPU in ", absl::FormatDuration(limits.wall_limit))}};
}

ForkedWorker::Answer ForkedWorker::CallOnce(const ForkLimits& limits, absl::string_view request) {
  const OomKillWatch oom_kills;
  if (!EnsureChild()) {
    return {.result = Failure{.kind = FailureKind::kOutOfMemory,
                              .message = absl::StrCat("cannot fork: ", strerror(errno))}};
  }
  ++calls_;
  CallTime time(pid_, limits);
  Drain(talk_.get());
  std::string reply, talk;
  bool in_time = false;
  {
    ChildPlace place(pid_, watch_.get());
    // Where the child is gone already, the end of its answers says so.
    (void)SendRequest(socket_.get(), limits.memory_limit_bytes, request);
    in_time = Collect(socket_.get(), talk_.get(), time, place, reply, talk);
  }
  if (!in_time) return OutOfTime(limits, time.Used());
  if (!IsWhole(reply)) {
    const std::optional<int> status = AwaitEnd();
    if (!status.has_value()) {
      return {.result = Failure{.kind = FailureKind::kCrashed,
                                .message = "the compiler closed its output and went on"},
              .ended_child = true};
    }
    Failure failure = Ended(*status, oom_kills.SawAny(), std::move(talk));
    const bool was_killed = failure.kind == FailureKind::kWorkerLost;
    return {.result = std::move(failure), .ended_child = true, .was_killed = was_killed};
  }
  reply.erase(0, kFrameHeaderBytes);
  return {.result = std::move(reply)};
}

std::variant<std::string, Failure> ForkedWorker::Call(const ForkLimits& limits,
                                                      absl::string_view request) {
  // A child that has served others may have been damaged by one of them. The second try in a fresh
  // one tells whose failure it is.
  const bool fresh = pid_ < 0;
  Answer answer = CallOnce(limits, request);
  if (answer.ended_child && (!fresh || answer.was_killed)) answer = CallOnce(limits, request);
  return std::move(answer.result);
}

}  // namespace burnish
