// What a process that runs or compiles other people's code gives up, for good, before it does.
// Free of Abseil. Nothing here needs privileges; what a kernel lacks is left out and named.
#ifndef BASE_SANDBOX_H_
#define BASE_SANDBOX_H_

#include <cstdint>
#include <string>
#include <vector>

namespace burnish {

struct SandboxOptions {
  enum class Profile {
    // For machine code of candidates, whose host has opened all that it needs and started all of
    // its threads: memory, clocks, locks of threads, reading and writing what is open. No file, no
    // thread and no process can be opened or started, no signal sent to anybody else, nobody
    // else's CPUs chosen. Code is mapped from an open file, privately, and no memory becomes code
    // that was anything else: what maps a candidate in here needs no more.
    kRun,
    // For a compiler, or an interpreter that reads: files, memory, threads of its own. Nothing
    // reaches another process, the network or the kernel's own doors. Files can be read where
    // programs and the system keep theirs, and written beneath `writable_folder`, where the kernel
    // has Landlock; what that does not guard, as modes, cannot be changed.
    kCompile,
  };
  Profile profile = Profile::kRun;
  std::string writable_folder = {};  // Of kCompile; empty: none.
  // Of kCompile, beside those of the system: where an interpreter has its modules.
  std::vector<std::string> readable_folders = {};
  // Limits of the process; 0: as they are. What is over them fails, or ends the process.
  int64_t address_space_bytes = 0;  // Left out with a sanitizer, which reserves terabytes.
  int64_t cpu_time_seconds = 0;     // Of all threads together.
  int64_t file_size_bytes = 0;      // Of any one file.
  int64_t open_files = 0;
};

// Also takes core files and, with no_new_privs, what set-user-id programs would give. Of all
// threads that there are, and of those to come. A system call that is not allowed
// (sandbox_calls.h) ends the process with SIGSYS, or is not there for a compiler. Returns what
// could not be had, for a log; empty: nothing.
std::string EnterSandbox(const SandboxOptions& options);

// Of this kernel, and of this build.
struct SandboxSupport {
  bool seccomp = false;
  int landlock_version = 0;     // 0: none.
  bool allow_list = false;      // False with a sanitizer, whose own calls nobody lists: then
                                // both profiles deny kDeniedCalls alone.
  std::string Missing() const;  // For people; empty: nothing.
};
SandboxSupport FindSandboxSupport();

// Closes every descriptor from `first` on.
void CloseDescriptorsFrom(int first);

}  // namespace burnish

#endif  // BASE_SANDBOX_H_
