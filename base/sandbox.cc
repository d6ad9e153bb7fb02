#include "base/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
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
#include <system_error>

#include "base/filter_state.h"
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

// What kRun allows, whatever the arguments. Each is of the runner itself after all is opened:
// memory of buffers, clocks, the locks and waits of its threads, its pipes, counters that are open,
// its end.
constexpr int kRunAllowed[] = {
    SYS_read,
    SYS_pread64,
    SYS_readv,
    SYS_write,
    SYS_writev,
    SYS_close,
    SYS_lseek,
    SYS_fstat,
    SYS_flock,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_membarrier,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getcpu,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrusage,
    SYS_getpid,
    SYS_gettid,
    SYS_getrandom,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_exit,
    SYS_exit_group,
};

// What nobody who compiles or runs a candidate does, in any build.
constexpr int kDenied[] = {
    // The network. Sockets that are open stay: a compiler's child answers through one.
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    // Other programs, and other processes' memory.
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    // The kernel's own doors: where its holes were found.
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
};

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

// Of the calling thread alone; others are not there for it.
void AllowOwnAffinity(Filter& filter) {
  filter.OnArgument(SYS_sched_setaffinity, 0, kWhole, 0, SECCOMP_RET_ALLOW);
  filter.On(SYS_sched_setaffinity, SECCOMP_RET_ERRNO | EPERM);
}

std::vector<uint32_t> OwnThreads() {
  std::vector<uint32_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    threads.push_back(static_cast<uint32_t>(std::stoul(entry.path().filename())));
  }
  return threads;
}

bool DenyByDefault() {
  Filter filter;
  for (const int call : kRunAllowed) filter.On(call, SECCOMP_RET_ALLOW);
  // Code comes to be as SharedObject maps it, from a file and for good.
  filter.OnArgument(SYS_mmap, kProtection, PROT_EXEC, 0, SECCOMP_RET_ALLOW);
  filter.OnArguments(SYS_mmap,
                     {{kProtection, kWhole, PROT_READ | PROT_EXEC},
                      {kFlags, kWhole, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE}},
                     SECCOMP_RET_ALLOW);
  filter.OnArgument(SYS_mprotect, kProtection, PROT_EXEC, 0, SECCOMP_RET_ALLOW);
  // abort() sends its signal to this process; nobody else is to get one.
  filter.OnArgument(SYS_tgkill, 0, kWhole, static_cast<uint32_t>(getpid()), SECCOMP_RET_ALLOW);
  // A thread of the pool lends another its CPU. No others can be started any more.
  for (const uint32_t thread : OwnThreads()) {
    filter.OnArgument(SYS_sched_setaffinity, 0, kWhole, thread, SECCOMP_RET_ALLOW);
  }
  AllowOwnAffinity(filter);
  return filter.Install(SECCOMP_RET_KILL_PROCESS);
}

bool AllowByDefault() {
  Filter filter;
  for (const int call : kDenied) filter.On(call, SECCOMP_RET_KILL_PROCESS);
  AllowOwnAffinity(filter);
  if (!kSanitized) {
    // Threads yes, processes no. The newer call hides its flags in memory that no filter can read:
    // the C library takes the older one where it is told that there is none.
    filter.On(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    filter.OnArgument(SYS_clone, 0, CLONE_THREAD, 0, SECCOMP_RET_KILL_PROCESS);
#if defined(__x86_64__)
    filter.On(SYS_fork, SECCOMP_RET_KILL_PROCESS);
    filter.On(SYS_vfork, SECCOMP_RET_KILL_PROCESS);
#endif
  }
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
  const bool is_filtered = denies_by_default ? DenyByDefault() : AllowByDefault();
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
