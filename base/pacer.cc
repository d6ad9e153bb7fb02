#include "base/pacer.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/duty_cycle.h"
#include "base/pace_page.h"
#include "base/process_tree.h"
#include "base/usable_cpus.h"

namespace burnish {
namespace {

constexpr int64_t kMs = 1'000'000;
// How often to look whether a call has begun: until then idle priority alone keeps out of its way.
constexpr int64_t kLookNs = kMs;
// With no credit there is nothing to look for.
constexpr int64_t kRestNs = 20 * kMs;
// A look at all processes takes some 0.3 ms.
constexpr int64_t kSampleNs = 10 * kMs;
// Between two calls of a thread that calls without a pause, nothing can be timed.
constexpr int kQuietLooks = 2;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

// Whoever gets a turn beside it gets all of it, on this CPU. Not a session of its own: with
// "autogroup" idle priority counts within a session alone (sched(7)).
void BeIdle() {
  const sched_param none = {};
  if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) (void)setpriority(PRIO_PROCESS, 0, 19);
}

[[noreturn]] void Become(char** argv, pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) raise(SIGKILL);
  setpgid(0, 0);
  execv(argv[0], argv);
  _exit(127);
}

class Pacer {
 public:
  Pacer(PacePage* page, double rate, pid_t root)
      : page_(page),
        cycle_(rate),
        root_(root),
        begin_ns_(NowNs()),
        cpu_before_ns_(page->cpu_ns.load()),
        wall_before_ns_(page->wall_ns.load()) {}

  int Run() {
    for (;;) {
      const int64_t rest_ns = Step();
      if (Reap()) break;
      Await(rest_ns);
    }
    tree_.Kill();
    Publish(NowNs());
    return status_;
  }

 private:
  // Stops or continues the work. Returns how long nothing will be to do.
  int64_t Step() {
    const int64_t now_ns = NowNs();
    if (now_ns - sampled_ns_ >= kSampleNs) {
      if (!stopped_) tree_.Scan();
      cpu_ns_ = tree_.CpuNs();
      sampled_ns_ = now_ns;
    }
    const bool has_credit = cycle_.MayRun(now_ns, cpu_ns_);
    const bool is_quiet = IsQuiet();
    SetStopped(!ending_ && !(has_credit && is_quiet), now_ns);
    Publish(now_ns);
    return has_credit ? kLookNs : kRestNs;
  }

  bool IsQuiet() {
    const uint32_t begun = page_->begun.load();
    const bool is_gap = page_->running.load() == 0 && begun == begun_;
    begun_ = begun;
    quiet_looks_ = is_gap ? quiet_looks_ + 1 : 0;
    return quiet_looks_ >= kQuietLooks;
  }

  void SetStopped(bool stop, int64_t now_ns) {
    if (stop == stopped_) return;
    stopped_ = stop;
    // Before either: what is timed meanwhile meets one of the two, or both.
    page_->stops.fetch_add(1);
    if (stop) {
      stopped_at_ns_ = now_ns;
      tree_.Stop();
      return;
    }
    page_->stopped_ns.fetch_add(now_ns - stopped_at_ns_);
    tree_.Continue();
  }

  void Publish(int64_t now_ns) {
    page_->cpu_ns.store(cpu_before_ns_ + cpu_ns_);
    page_->wall_ns.store(wall_before_ns_ + now_ns - begin_ns_);
  }

  // Whether the program has ended.
  bool Reap() {
    int status = 0;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != root_) continue;
      status_ = status;
      return true;
    }
    return false;
  }

  // Until a signal comes, or so long.
  void Await(int64_t ns) {
    const sigset_t set = Signals();
    const timespec time = {.tv_sec = 0, .tv_nsec = static_cast<long>(ns)};
    const int signal = sigtimedwait(&set, nullptr, &time);
    if (signal != SIGINT && signal != SIGTERM) return;
    ending_ = true;
    SetStopped(false, NowNs());
    kill(root_, signal);
  }

  PacePage* const page_;
  DutyCycle cycle_;
  ProcessTree tree_;
  const pid_t root_;
  const int64_t begin_ns_;
  const int64_t cpu_before_ns_, wall_before_ns_;  // Of programs before this one.
  int64_t sampled_ns_ = 0, cpu_ns_ = 0, stopped_at_ns_ = 0;
  uint32_t begun_ = 0;
  int quiet_looks_ = 0;
  bool stopped_ = false, ending_ = false;
  int status_ = 0;
};

}  // namespace

const char* RunPaced(const PacerOptions& options, char** argv, int* exit_code) {
  if (!(options.share > 0 && options.share <= 1)) return "--share: want more than 0, at most 1";
  PacePage* const page = MapPacePage(options.page_path, /*writes=*/true);
  if (page == nullptr) return "--pace: not a file of a page";
  if (!ProcessTree::IsSupported())
    return "--pace: the kernel does not say who a process's children are";
  if (setenv(kPaceVariable, options.page_path, /*overwrite=*/1) != 0 ||
      prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    return "--pace: the kernel refuses";
  }
  BeIdle();
  const sigset_t set = Signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const pid_t self = getpid();
  const pid_t root = fork();
  if (root < 0) return "--pace: cannot fork";
  if (root == 0) Become(argv, self);
  const int status = Pacer(page, options.share * UsableCpuCount(), root).Run();
  if (WIFSIGNALED(status)) {
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 127;
  return nullptr;
}

}  // namespace burnish
