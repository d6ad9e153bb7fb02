// A child process with pipes, for as long as the caller keeps it. For "run it and give me the
// output" see base/subprocess.h.
#ifndef BASE_CHILD_H_
#define BASE_CHILD_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace burnish {

// What the child may use. 0 or empty: as this process.
struct ChildLimits {
  int64_t address_space_bytes = 0;
  int64_t cpu_time_seconds = 0;  // Then SIGKILL.
  int64_t file_size_bytes = 0;   // Of any file that it writes; then SIGXFSZ.
  int64_t open_files = 0;
  std::vector<int> cpus = {};
};

struct ChildOptions {
  std::string program = {};                 // A path; not looked up in PATH.
  std::vector<std::string> args = {};       // Without the program's own name.
  std::vector<std::string> extra_env = {};  // NAME=value, over this process's environment.
  std::string working_folder = {};          // Empty: this process's.
  std::vector<int> inherited_fds = {};      // Become descriptors 3, 4, ... of the child.
  // Of this process's environment the child gets nothing (in a build with a sanitizer, that
  // sanitizer's options): for what runs foreign code.
  bool empty_environment = false;
  ChildLimits limits = {};
  // SIGKILL to the child when this process ends in whatever way. Costs 1 ms: the start goes through
  // base/burnish-launcher, as with any limit. A program that cannot be executed then shows as exit
  // code 127 with a line on stderr, not as an error of Start.
  bool dies_with_parent = true;
  size_t stderr_bytes_max = 64 << 10;  // Of stderr the last bytes are kept.
};

struct ExitInfo {
  int exit_code = -1;  // -1 when a signal ended it.
  int signal = 0;
  bool timed_out = false;  // Killed by us at the time limit; `signal` is SIGKILL then.
  std::string stdout_bytes = {};
  std::string stderr_bytes = {};
  bool output_cut = false;  // There was more output than was kept.
  // At least what this process held when it started the child: until exec they share memory, and
  // the kernel's maximum includes that.
  int64_t max_rss_bytes = 0;
  absl::Duration cpu_time =
      absl::ZeroDuration();  // User and system, with grandchildren that were waited for.
  absl::Duration wall_time = absl::ZeroDuration();  // From the start to the exit.

  bool ok() const { return exit_code == 0; }
};

// "exit code 3", "signal 9 (Killed)", "timed out", with the end of stderr: for error messages.
std::string Describe(const ExitInfo& exit);

// Not thread-safe, except Kill. While any of its calls waits, the child's stderr is drained, so a
// child that talks a lot does not block. Needs no SIGPIPE handling by the caller.
class Child {
 public:
  // Errors: NOT_FOUND and PERMISSION_DENIED for the program, RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<Child>> Start(const ChildOptions& options);
  // Kills the child's whole process group and waits for it.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

  // All of `bytes`. UNAVAILABLE: the child does not read any more; DEADLINE_EXCEEDED: a part may be
  // written, so nothing more can be said to this child.
  absl::Status Write(absl::string_view bytes, absl::Duration timeout);
  absl::Status WriteFrame(absl::string_view bytes, absl::Duration timeout);
  void CloseStdin();

  // A line without its end. UNAVAILABLE: the child closed stdout or ended before a whole line;
  // DEADLINE_EXCEEDED: call again to go on waiting; INVALID_ARGUMENT: longer than `limit_bytes`.
  absl::StatusOr<std::string> ReadLine(absl::Duration timeout, size_t limit_bytes = 1 << 20);
  // A frame as in base/frame.h; the same errors.
  absl::StatusOr<std::string> ReadFrame(absl::Duration timeout, size_t limit_bytes = 64 << 20);

  // What is kept of stderr so far.
  const std::string& stderr_bytes() const { return stderr_; }

  // SIGKILL (or `signal`) to the child and all that it started and that stayed in its process
  // group.
  void Kill(int signal = 9) const;

  // Until it ends; what it left in its process group is killed then. DEADLINE_EXCEEDED when it
  // still runs. Stdout that was not read, up to 1 MiB of it, is in the answer.
  absl::StatusOr<ExitInfo> Wait(absl::Duration timeout);

  // Writes `stdin_bytes`, closes stdin, collects stdout up to `stdout_bytes_max`, waits. At the
  // time limit the process group is killed.
  absl::StatusOr<ExitInfo> Finish(absl::string_view stdin_bytes, absl::Duration timeout,
                                  size_t stdout_bytes_max);

 private:
  Child() = default;
  // Waits for one event (pipe or exit) and handles it. False: the deadline came first.
  absl::StatusOr<bool> Step(absl::Time deadline);
  absl::Status WriteSome();
  void Drain();
  void ReadStdout();
  void ReadStderr();
  // Until stdout_ holds `size` bytes.
  absl::Status Fill(size_t size, absl::Time deadline);
  absl::Status Reap();

  pid_t pid_ = -1;
  UniqueFd pidfd_, stdin_fd_, stdout_fd_, stderr_fd_;
  absl::Time start_;             // Steady.
  absl::string_view to_write_;   // Points into the bytes of the call in progress.
  std::string stdout_, stderr_;  // Read from the pipes and not yet taken.
  size_t stdout_bytes_max_ = 0;  // Reading stops here, or with drop_excess_ drops what follows.
  size_t stderr_bytes_max_ = 0;
  bool drop_excess_ = false;
  bool cut_ = false;
  mutable std::mutex reaping_;  // So that Kill never meets a process id that is somebody else's.
  bool exited_ = false;         // Ended and reaped: exit_ is set, the process group is gone.
  ExitInfo exit_;
};

}  // namespace burnish

#endif  // BASE_CHILD_H_
