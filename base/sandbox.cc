#include "base/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <system_error>

#include "base/filter_state.h"
#include "base/sandbox_calls.h"
#include "base/sanitized.h"

namespace burnish {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "name this machine's system calls here"
#endif

// By number: Debian 12's headers are older than some kernels that this runs on. Stable ABI.
constexpr long kLandlockCreateRuleset = 444, kLandlockAddRule = 445, kLandlockRestrictSelf = 446;

// A program for the kernel, one instruction after the other. Each check is of a number and falls
// through to the next, so that no jump is longer than a few instructions.
class Filter {
 public:
  Filter() {
    Load(offsetof(seccomp_data, arch));
    // Numbers mean other calls in the 32-bit modes of this CPU.
    IfEqual(kArchitecture, 1, 0);
    Return(SECCOMP_RET_KILL_PROCESS);
    Load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    // x32: the same calls under other numbers.
    Add(BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000);
    Return(SECCOMP_RET_KILL_PROCESS);
#endif
  }

  void On(int call, uint32_t action) {
    IfEqual(static_cast<uint32_t>(call), 0, 1);
    Return(action);
  }

  struct Argument {
    int index;
    uint32_t mask, value;
  };

  // Where each of `arguments` has its value in the bits of its mask; else the next check has its
  // turn, as it may be a check of the same call.
  void OnArguments(int call, std::initializer_list<Argument> arguments, uint32_t action) {
    constexpr int kLength = 3;  // Of a check of one argument.
    const int length = kLength * static_cast<int>(arguments.size());
    IfEqual(static_cast<uint32_t>(call), 0, length + 2);
    int left = length;
    for (const Argument& argument : arguments) {
      // Low half: both machines are little-endian.
      Load(offsetof(seccomp_data, args) + static_cast<size_t>(argument.index) * sizeof(uint64_t));
      Add(BPF_ALU | BPF_AND | BPF_K, 0, 0, argument.mask);
      left -= kLength;
      IfEqual(argument.value, 0, left + 1);
    }
    Return(action);
    Load(offsetof(seccomp_data, nr));
  }
  void OnArgument(int call, int index, uint32_t mask, uint32_t value, uint32_t action) {
    OnArguments(call, {{index, mask, value}}, action);
  }

  // False: this kernel has no filters, or lets nobody have one.
  bool Install(uint32_t otherwise) {
    Return(otherwise);
    const sock_fprog program = {.len = static_cast<unsigned short>(code_.size()),
                                .filter = code_.data()};
    // All threads at once: a candidate runs on the pool's.
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  void Add(int code, int if_true, int if_false, uint32_t value) {
    code_.push_back({.code = static_cast<uint16_t>(code),
                     .jt = static_cast<uint8_t>(if_true),
                     .jf = static_cast<uint8_t>(if_false),
                     .k = value});
  }
  void Load(size_t offset) { Add(BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<uint32_t>(offset)); }
  void IfEqual(uint32_t value, int if_true, int if_false) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, if_true, if_false, value);
  }
  void Return(uint32_t action) { Add(BPF_RET | BPF_K, 0, 0, action); }

  std::vector<sock_filter> code_;
};

constexpr uint32_t kWhole = ~uint32_t{0};
constexpr int kProtection = 2, kFlags = 3;  // Which arguments of mmap and mprotect they are.

constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

// Of the calling thread alone; others are not there for it.
void AllowOwnAffinity(Filter& filter) {
  filter.OnArgument(SYS_sched_setaffinity, 0, kWhole, 0, SECCOMP_RET_ALLOW);
  filter.On(SYS_sched_setaffinity, kRefuse);
}

std::vector<uint32_t> OwnThreads() {
  std::vector<uint32_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    threads.push_back(static_cast<uint32_t>(std::stoul(entry.path().filename())));
  }
  return threads;
}

// abort() sends its signal to this process; nobody else is to get one.
void AllowOwnSignals(Filter& filter) {
  filter.OnArgument(SYS_tgkill, 0, kWhole, static_cast<uint32_t>(getpid()), SECCOMP_RET_ALLOW);
}

bool FilterRuns() {
  Filter filter;
  for (const int call : kAllowedCalls) filter.On(call, SECCOMP_RET_ALLOW);
  // Code comes to be as SharedObject maps it, from a file and for good.
  filter.OnArgument(SYS_mmap, kProtection, PROT_EXEC, 0, SECCOMP_RET_ALLOW);
  filter.OnArguments(SYS_mmap,
                     {{kProtection, kWhole, PROT_READ | PROT_EXEC},
                      {kFlags, kWhole, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE}},
                     SECCOMP_RET_ALLOW);
  filter.OnArgument(SYS_mprotect, kProtection, PROT_EXEC, 0, SECCOMP_RET_ALLOW);
  AllowOwnSignals(filter);
  // A thread of the pool lends another its CPU. No others can be started any more.
  for (const uint32_t thread : OwnThreads()) {
    filter.OnArgument(SYS_sched_setaffinity, 0, kWhole, thread, SECCOMP_RET_ALLOW);
  }
  AllowOwnAffinity(filter);
  return filter.Install(SECCOMP_RET_KILL_PROCESS);
}

// What a descriptor may be asked for: no owner, who would get signals, and no input of a terminal.
constexpr uint32_t kFileCommands[] = {
    F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,     F_SETFD,     F_GETFL,      F_SETFL,     F_GETLK,
    F_SETLK, F_SETLKW,        F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_ADD_SEALS, F_GET_SEALS};
constexpr uint32_t kDeviceCommands[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX};
// Names of threads and memory.
constexpr uint32_t kOwnCommands[] = {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_GET_DUMPABLE};

void AllowCommands(Filter& filter, int call, int index, std::span<const uint32_t> commands) {
  for (const uint32_t command : commands) {
    filter.OnArgument(call, index, kWhole, command, SECCOMP_RET_ALLOW);
  }
  filter.On(call, kRefuse);
}

bool FilterCompilers() {
  Filter filter;
  for (const int call : kDeniedCalls) filter.On(call, SECCOMP_RET_KILL_PROCESS);
  for (const int call : kAllowedCalls) filter.On(call, SECCOMP_RET_ALLOW);
  for (const int call : kAllowedCallsOfCompilers) filter.On(call, SECCOMP_RET_ALLOW);
  const auto own = static_cast<uint32_t>(getpid());
  AllowOwnSignals(filter);
  filter.On(SYS_tgkill, kRefuse);
  AllowCommands(filter, SYS_kill, 0, {&own, 1});
  const uint32_t limited[] = {0, own};
  AllowCommands(filter, SYS_prlimit64, 0, limited);
  AllowCommands(filter, SYS_fcntl, 1, kFileCommands);
  AllowCommands(filter, SYS_ioctl, 1, kDeviceCommands);
  AllowCommands(filter, SYS_prctl, 0, kOwnCommands);
  AllowOwnAffinity(filter);
#if defined(__x86_64__)
  filter.On(SYS_fork, SECCOMP_RET_KILL_PROCESS);
  filter.On(SYS_vfork, SECCOMP_RET_KILL_PROCESS);
#endif
  // Threads yes, processes no. The newer call hides its flags in memory that no filter can read:
  // the C library takes the older one where it is told that there is none.
  filter.OnArgument(SYS_clone, 0, CLONE_THREAD, 0, SECCOMP_RET_KILL_PROCESS);
  filter.On(SYS_clone, SECCOMP_RET_ALLOW);
  // As of a kernel that is older than the call: programs then do without it.
  return filter.Install(SECCOMP_RET_ERRNO | ENOSYS);
}

// Of a build with a sanitizer, whose own calls nobody lists.
bool FilterSanitized() {
  Filter filter;
  for (const int call : kDeniedCalls) filter.On(call, SECCOMP_RET_KILL_PROCESS);
  AllowOwnAffinity(filter);
  return filter.Install(SECCOMP_RET_ALLOW);
}

// linux/landlock.h, of which Debian 12 has an older one.
struct LandlockRuleset {
  uint64_t handled_access_fs = 0;
  uint64_t handled_access_net = 0;
};
struct __attribute__((packed)) LandlockBeneath {
  uint64_t allowed_access = 0;
  int32_t parent_fd = -1;
};
constexpr uint64_t kReadFile = 1 << 2, kReadFolder = 1 << 3;

int LandlockVersion() {
  const long version = syscall(kLandlockCreateRuleset, nullptr, 0, /*version=*/1);
  return version > 0 ? static_cast<int>(version) : 0;
}

// All rights on files that this version of Landlock knows.
uint64_t AllFileRights(int version) {
  // Version 1 has 13; 2 adds moving between folders, 3 truncating, 5 requests to devices.
  const int count = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
  return (uint64_t{1} << count) - 1;
}

void AllowBeneath(int ruleset, const char* folder, uint64_t rights) {
  const int descriptor = open(folder, O_PATH | O_CLOEXEC);
  if (descriptor < 0) return;  // It is not there, and cannot be read either.
  const LandlockBeneath rule = {.allowed_access = rights, .parent_fd = descriptor};
  syscall(kLandlockAddRule, ruleset, /*type=beneath a path=*/1, &rule, 0);
  close(descriptor);
}

bool RestrictFiles(const SandboxOptions& options) {
  const int version = LandlockVersion();
  if (version == 0) return false;
  const LandlockRuleset handled = {.handled_access_fs = AllFileRights(version),
                                   // Version 4: binding and connecting over TCP.
                                   .handled_access_net = version >= 4 ? uint64_t{3} : 0};
  const size_t size = version >= 4 ? sizeof(handled) : sizeof(handled.handled_access_fs);
  const int ruleset = static_cast<int>(syscall(kLandlockCreateRuleset, &handled, size, 0));
  if (ruleset < 0) return false;
  // What the C and C++ libraries may want late: modules of their own, the CPUs there are, entropy.
  for (const char* folder : {"/usr", "/lib", "/lib64", "/proc", "/sys", "/dev"}) {
    AllowBeneath(ruleset, folder, kReadFile | kReadFolder);
  }
  for (const std::string& folder : options.readable_folders) {
    AllowBeneath(ruleset, folder.c_str(), kReadFile | kReadFolder);
  }
  if (!options.writable_folder.empty()) {
    AllowBeneath(ruleset, options.writable_folder.c_str(), handled.handled_access_fs);
  }
  const bool restricted = syscall(kLandlockRestrictSelf, ruleset, 0) == 0;
  close(ruleset);
  return restricted;
}

// Both limits, so that the process cannot raise them again.
void Limit(__rlimit_resource resource, int64_t value) {
  rlimit limit = {};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, static_cast<rlim_t>(value));
  limit.rlim_cur = limit.rlim_max;
  setrlimit(resource, &limit);
}

void AddMissing(const char* what, std::string& missing) {
  if (!missing.empty()) missing += ", ";
  missing += what;
}

}  // namespace

std::string EnterSandbox(const SandboxOptions& options) {
  std::string missing;
  Limit(RLIMIT_CORE, 0);
  if (options.address_space_bytes > 0 && !kSanitized) Limit(RLIMIT_AS, options.address_space_bytes);
  if (options.cpu_time_seconds > 0) Limit(RLIMIT_CPU, options.cpu_time_seconds);
  if (options.file_size_bytes > 0) Limit(RLIMIT_FSIZE, options.file_size_bytes);
  if (options.open_files > 0) Limit(RLIMIT_NOFILE, options.open_files);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) AddMissing("no_new_privs", missing);
  const bool denies_by_default = options.profile == SandboxOptions::Profile::kRun && !kSanitized;
  // Without rights on files where no file can be opened, nothing is left for Landlock to do.
  if (!denies_by_default && !RestrictFiles(options)) {
    AddMissing("Landlock", missing);
  }
  const bool is_filtered = denies_by_default ? FilterRuns()
                           : kSanitized      ? FilterSanitized()
                                             : FilterCompilers();
  if (!is_filtered) AddMissing("seccomp", missing);
  // A compiler's process has no business with candidates' code.
  if (is_filtered && options.profile == SandboxOptions::Profile::kRun) code_may_be_foreign = true;
  return missing;
}

std::string SandboxSupport::Missing() const {
  std::string missing;
  if (!seccomp) AddMissing("seccomp", missing);
  if (landlock_version == 0) AddMissing("Landlock", missing);
  return missing;
}

SandboxSupport FindSandboxSupport() {
  const uint32_t action = SECCOMP_RET_KILL_PROCESS;
  return {.seccomp = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0,
          .landlock_version = LandlockVersion(),
          .allow_list = !kSanitized};
}

void CloseDescriptorsFrom(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  // Before Linux 5.9.
  const long count = std::min(sysconf(_SC_OPEN_MAX), 65536L);
  for (int descriptor = first; descriptor < count; ++descriptor) close(descriptor);
}

}  // namespace burnish
