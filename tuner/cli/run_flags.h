// The flags of commands that run a bundle here.
#ifndef TUNER_CLI_RUN_FLAGS_H_
#define TUNER_CLI_RUN_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tuner/app/bundle_session.h"
#include "tuner/cli/command.h"

namespace burnish {

// The CPUs of "--cpus LIST", in its order. Errors, B0101: it is no list of different CPUs, or names
// one that this process may not use.
absl::StatusOr<std::vector<int>> ParseCpus(const std::string& list);

// Moves this process, and what it starts from now on, to those CPUs; an empty `list`: nothing.
// Before the process has a second thread. Errors: of ParseCpus.
absl::Status MoveToListedCpus(const std::string& list);

// "--cpus" for commands that start others to measure.
void AddCpusFlag(CommandOptions& options, std::string* list);

// "--size" for commands that make inputs up.
void AddSizeFlag(CommandOptions& options, std::vector<std::string>* sizes);

struct RunFlags {
  int64_t threads = 0, loop_limit = 0;
  std::string cpus;

  void Add(CommandOptions& options);
  // Moves this process. Errors, B0101: of --cpus, and more threads than CPUs listed.
  absl::StatusOr<SessionOptions> Take() const;
};

// B0406: a run of the bundle `file` that failed.
absl::Status RunError(const absl::Status& status, const std::string& file);

}  // namespace burnish

#endif  // TUNER_CLI_RUN_FLAGS_H_
