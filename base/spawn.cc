#include "base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/sanitized.h"
#include "base/unique_fd.h"

namespace burnish {
namespace {

// Runs posix_spawn calls, one at a time, on one thread that never ends. std::mutex and not
// absl::Mutex: ThreadSanitizer does not see into Debian's Abseil.
class SpawnThread {
 public:
  static SpawnThread& Get() {
    static SpawnThread& thread = *new SpawnThread;  // Leaked: used until the very end.
    return thread;
  }

  // Returns posix_spawn's error, 0 for none.
  int Run(pid_t* pid, const char* program, const posix_spawn_file_actions_t* actions,
          const posix_spawnattr_t* attributes, char* const* argv, char* const* environment) {
    // Callers queue here, so that the thread has one call at a time and the slot needs no list.
    const std::lock_guard one_caller(callers_);
    std::unique_lock lock(mutex_);
    Call call = {pid, program, actions, attributes, argv, environment};
    call_ = &call;
    changed_.notify_all();
    changed_.wait(lock, [this] { return call_ == nullptr; });
    return call.error;
  }

 private:
  struct Call {
    pid_t* pid;
    const char* program;
    const posix_spawn_file_actions_t* actions;
    const posix_spawnattr_t* attributes;
    char* const* argv;
    char* const* environment;
    int error = 0;
  };

  SpawnThread() {
    std::thread([this] { Loop(); }).detach();
  }

  void Loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return call_ != nullptr; });
      Call& call = *call_;
      call.error = posix_spawn(call.pid, call.program, call.actions, call.attributes, call.argv,
                               call.environment);
      call_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Call* call_ = nullptr;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

absl::StatusOr<pid_t> Spawn(const SpawnRequest& request) {
  const auto failed = [&request](int error) {
    return absl::ErrnoToStatus(error, absl::StrCat("cannot start ", request.program));
  };
  // Copies above every target, so that no dup2 overwrites a source that is still needed.
  std::vector<UniqueFd> sources;
  for (const int fd : request.fds) {
    sources.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(request.fds.size())));
    if (!sources.back().valid()) return failed(errno);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int error = 0;
  for (size_t i = 0; i < sources.size() && error == 0; ++i) {
    error = posix_spawn_file_actions_adddup2(&actions, sources[i].get(), static_cast<int>(i));
  }
  const int first_closed = static_cast<int>(sources.size());
  // Descriptors that other threads opened without O_CLOEXEC in the same moment go here too.
  if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&actions, first_closed);
  if (error == 0 && !request.working_folder.empty()) {
    error = posix_spawn_file_actions_addchdir_np(&actions, request.working_folder.c_str());
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  // A group of its own, so that Kill reaches what the child starts. Signals as at login: a mask or
  // a handler of this process would be inherited.
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);

  std::vector<std::string> argv = {request.program};
  argv.insert(argv.end(), request.args.begin(), request.args.end());
  pid_t pid = -1;
  if (error == 0) {
    error = SpawnThread::Get().Run(&pid, request.program.c_str(), &actions, &attributes,
                                   Pointers(argv).data(), Pointers(request.environment).data());
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed(error);
  return pid;
}

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& extra) {
  std::vector<std::string> all = extra;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string inherited = *entry;
    const std::string name = inherited.substr(0, inherited.find('=') + 1);
    bool replaced = false;
    // Left out rather than put first: of a name that is there twice, programs differ in which one
    // they take.
    for (const std::string& one : extra) replaced |= absl::StartsWith(one, name);
    if (!replaced) all.push_back(inherited);
  }
  return all;
}

std::vector<std::string> EnvironmentOfSandbox(const std::vector<std::string>& extra) {
  std::vector<std::string> all = extra;
  if (!kSanitized) return all;
  for (const char* name : {"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr) all.push_back(absl::StrCat(name, "=", value));
  }
  return all;
}

}  // namespace burnish
