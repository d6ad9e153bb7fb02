#include "base/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/unique_fd.h"

namespace burnish {
namespace {

// Whoever starts processes faster than they are found is asked again; more rounds than that help
// nobody.
constexpr int kRoundsMax = 20;

// A file of /proc; empty: the process has gone.
std::string ReadSmall(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  for (ssize_t got = 1; file.valid() && got > 0;) {
    got = read(file.get(), buffer, sizeof(buffer));
    if (got > 0) text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

// Those that any thread of the process has started.
void AppendChildren(pid_t process, std::vector<pid_t>& found) {
  const std::string folder = "/proc/" + std::to_string(process) + "/task/";
  DIR* const threads = opendir(folder.c_str());
  if (threads == nullptr) return;
  while (const dirent* thread = readdir(threads)) {
    if (thread->d_name[0] == '.') continue;
    const std::string text = ReadSmall(folder + thread->d_name + "/children");
    for (const char* at = text.c_str(); *at != '\0';) {
      char* end = nullptr;
      const long child = strtol(at, &end, 10);
      if (end == at) break;
      found.push_back(static_cast<pid_t>(child));
      at = end + strspn(end, " ");
    }
  }
  closedir(threads);
}

// What /proc says of a process from the third field on, its state; empty: it has gone.
std::string StatOf(pid_t process) {
  const std::string text = ReadSmall("/proc/" + std::to_string(process) + "/stat");
  // The name, in brackets, may hold anything.
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? "" : text.substr(name_end + 1);
}

// Whether it stands still, or will once it gets a turn: at idle priority beside other work, that
// may be long after the signal.
bool IsStopped(pid_t process) {
  const std::string text = ReadSmall("/proc/" + std::to_string(process) + "/status");
  if (text.find("\nState:\tT") != std::string::npos) return true;
  static constexpr char kPending[] = "\nShdPnd:\t";
  const size_t at = text.find(kPending);
  return at != std::string::npos &&
         (strtoull(text.c_str() + at + strlen(kPending), nullptr, 16) >> (SIGSTOP - 1) & 1) != 0;
}

// Of a process, with children that it has waited for.
int64_t TicksOf(pid_t process) {
  const std::string text = StatOf(process);
  long long own[2], children[2];
  // utime, stime, cutime, cstime: the 14th to 17th field.
  const int got =
      sscanf(text.c_str(), " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld",
             &own[0], &own[1], &children[0], &children[1]);
  return got == 4 ? own[0] + own[1] + children[0] + children[1] : 0;
}

int64_t NsOf(const rusage& usage) {
  const auto ns = [](const timeval& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

void Reap() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

bool ProcessTree::IsSupported() {
  const std::string process = std::to_string(getpid());
  return access(("/proc/" + process + "/task/" + process + "/children").c_str(), R_OK) == 0;
}

void ProcessTree::Scan() {
  processes_.clear();
  AppendChildren(getpid(), processes_);
  for (size_t i = 0; i < processes_.size(); ++i) AppendChildren(processes_[i], processes_);
}

void ProcessTree::Stop() {
  std::vector<pid_t> seen;
  stopped_.clear();
  for (int round = 0; round < kRoundsMax; ++round) {
    Scan();
    bool found_new = false;
    for (const pid_t process : processes_) {
      if (std::find(seen.begin(), seen.end(), process) != seen.end()) continue;
      seen.push_back(process);
      found_new = true;
      // Its parent, who may have stopped it, comes first here and no longer runs.
      if (IsStopped(process)) continue;
      kill(process, SIGSTOP);
      stopped_.push_back(process);
    }
    if (!found_new) return;
  }
}

void ProcessTree::Continue() {
  // Nobody was started since: all stood still.
  for (const pid_t process : stopped_) kill(process, SIGCONT);
}

void ProcessTree::Kill() {
  for (int round = 0; round < 100 * kRoundsMax; ++round) {
    Reap();
    Scan();
    if (processes_.empty()) return;
    for (const pid_t process : processes_) kill(process, SIGKILL);
    const timespec pause = {.tv_sec = 0, .tv_nsec = 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

int64_t ProcessTree::CpuNs() {
  static const int64_t ns_per_tick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  rusage own, waited_for;
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &waited_for);
  int64_t cpu_ns = NsOf(own) + NsOf(waited_for);
  for (const pid_t process : processes_) cpu_ns += TicksOf(process) * ns_per_tick;
  // A process that ends is for a moment neither there nor waited for.
  cpu_ns_ = std::max(cpu_ns_, cpu_ns);
  return cpu_ns_;
}

}  // namespace burnish
