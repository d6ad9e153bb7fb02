// Starts a program as a child that cannot outlive its parent: sets what posix_spawn cannot (parent
// death signal, limits, CPUs) and execs. With --pace it stays, and paces the program (pacer.h).
//   burnish-launcher [--parent=PID] [--address-space=BYTES] [--cpu-time=SECONDS]
//       [--file-size=BYTES] [--open-files=N] [--cpus=LIST] [--pace=FILE [--share=PERCENT]]
//       -- PROGRAM [ARGS]
// Exits with 127 and a line on stderr when it cannot do all that it was asked to.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_info.h"
#include "base/pacer.h"
#include "base/usable_cpus.h"

namespace burnish {
namespace {

[[noreturn]] void Fail(const std::string& what, const char* cause) {
  std::fprintf(stderr, "burnish-launcher: %s: %s\n", what.c_str(), cause);
  std::exit(127);
}

long long Number(std::string_view flag, std::string_view text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    Fail(std::string(flag), "not a number");
  }
  return value;
}

void SetLimit(const char* name, __rlimit_resource resource, long long value) {
  rlimit limit;
  if (value < 0 || getrlimit(resource, &limit) != 0) Fail(name, "no such limit");
  limit.rlim_cur = static_cast<rlim_t>(value);
  // Only root may raise the hard limit, and a lower one holds anyway.
  if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
  limit.rlim_max = limit.rlim_cur;
  if (setrlimit(resource, &limit) != 0) Fail(name, std::strerror(errno));
}

void DieWithParent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) Fail("parent death signal", std::strerror(errno));
  // A parent that died before the line above sends nothing any more: we have another one by now.
  if (getppid() != parent) raise(SIGKILL);
}

void SetCpus(std::string_view list) {
  const std::vector<int> cpus = ParseCpuList(std::string(list));
  if (cpus.empty()) Fail("--cpus", "not a list such as 0-3,8");
  for (const int cpu : cpus) {
    if (cpu >= CPU_SETSIZE) Fail("--cpus", "CPU number too large");
  }
  if (!MoveToCpus(0, cpus)) Fail("--cpus", std::strerror(errno));
}

void Apply(std::string_view flag, PacerOptions& pacer) {
  const size_t equals = flag.find('=');
  const std::string_view name = flag.substr(0, equals);
  const std::string_view value = equals == flag.npos ? "" : flag.substr(equals + 1);
  if (name == "--parent") {
    DieWithParent(static_cast<pid_t>(Number(name, value)));
  } else if (name == "--address-space") {
    SetLimit("--address-space", RLIMIT_AS, Number(name, value));
  } else if (name == "--cpu-time") {
    SetLimit("--cpu-time", RLIMIT_CPU, Number(name, value));
  } else if (name == "--file-size") {
    SetLimit("--file-size", RLIMIT_FSIZE, Number(name, value));
  } else if (name == "--open-files") {
    SetLimit("--open-files", RLIMIT_NOFILE, Number(name, value));
  } else if (name == "--cpus") {
    SetCpus(value);
  } else if (name == "--pace") {
    pacer.page_path = value.data();  // Ends where the argument ends.
  } else if (name == "--share") {
    pacer.share = static_cast<double>(Number(name, value)) / 100;
  } else {
    Fail(std::string(flag), "unknown flag");
  }
}

[[noreturn]] void Launch(int argc, char** argv) {
  int at = 1;
  PacerOptions pacer;
  for (; at < argc && std::string_view(argv[at]) != "--"; ++at) Apply(argv[at], pacer);
  if (at + 1 >= argc) Fail("usage", "burnish-launcher [FLAGS] -- PROGRAM [ARGS]");
  // Of its own process group, so that the parent can kill it with all that it starts. Already true
  // of a child of base/child.h.
  if (getpgrp() != getpid() && setpgid(0, 0) != 0) Fail("process group", std::strerror(errno));
  SetLimit("core size", RLIMIT_CORE, 0);  // A crash is a result here, not something to look into.
  if (pacer.page_path != nullptr) {
    int exit_code = 0;
    const char* const refused = RunPaced(pacer, argv + at + 1, &exit_code);
    if (refused != nullptr) Fail(argv[at + 1], refused);
    std::exit(exit_code);
  }
  execv(argv[at + 1], argv + at + 1);
  Fail(argv[at + 1], std::strerror(errno));
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { burnish::Launch(argc, argv); }
