#include "tuner/cli/run_flags.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/status_macros.h"
#include "base/usable_cpus.h"
#include "tuner/app/error.h"

namespace burnish {

absl::StatusOr<std::vector<int>> ParseCpus(const std::string& list) {
  const std::vector<int> usable = UsableCpus();
  const std::string where = absl::StrCat("--cpus ", list);
  const std::string hint = absl::StrCat("this process may use ", FormatCpuList(usable));
  const std::vector<int> cpus = ParseCpuList(list);
  if (cpus.empty()) {
    return MakeError(ErrorCode::kUsage, "want CPUs such as 0-3,8", where, hint);
  }
  if (std::set<int>(cpus.begin(), cpus.end()).size() != cpus.size()) {
    return MakeError(ErrorCode::kUsage, "a CPU is named twice", where, "name each once");
  }
  for (const int cpu : cpus) {
    if (!std::binary_search(usable.begin(), usable.end(), cpu)) {
      return MakeError(ErrorCode::kUsage,
                       absl::StrCat("CPU ", cpu, " is not one that this process may use"), where,
                       hint);
    }
  }
  return cpus;
}

absl::Status MoveToListedCpus(const std::string& list) {
  if (list.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int> cpus, ParseCpus(list));
  if (MoveToCpus(0, cpus)) return absl::OkStatus();
  return MakeError(ErrorCode::kUsage, absl::StrCat("cannot move there: ", std::strerror(errno)),
                   absl::StrCat("--cpus ", list),
                   absl::StrCat("this process may use ", FormatCpuList(UsableCpus())));
}

void AddCpusFlag(CommandOptions& options, std::string* list) {
  options.Value("--cpus", "LIST", list, "the CPUs to run on, such as 0-3,8; else all");
}

void AddSizeFlag(CommandOptions& options, std::vector<std::string>* sizes) {
  options.Values("--size", "NAME=N", sizes,
                 "of inputs made up, where each run chooses sizes; else the greatest");
}

void RunFlags::Add(CommandOptions& options) {
  options.Value("--threads", "N", &threads, 0, 1024, "0: as many as it was tuned for");
  AddCpusFlag(options, &cpus);
  options.Value("--loop-limit", "N", &loop_limit, 0, std::numeric_limits<int64_t>::max(),
                "iterations of a loop whose end a run decides; 0: 1,000,000");
}

absl::StatusOr<SessionOptions> RunFlags::Take() const {
  SessionOptions session{.threads = static_cast<int>(threads),
                         .loop_limit = static_cast<uint64_t>(loop_limit)};
  if (cpus.empty()) return session;
  ASSIGN_OR_RETURN(const std::vector<int> listed, ParseCpus(cpus));
  session.threads_max = static_cast<int>(listed.size());
  if (threads > session.threads_max) {
    return MakeError(ErrorCode::kUsage,
                     absl::StrCat(threads, " threads and ", listed.size(), " CPUs"),
                     absl::StrCat("--cpus ", cpus), "a CPU for each thread, or fewer --threads");
  }
  RETURN_IF_ERROR(MoveToListedCpus(cpus));
  return session;
}

absl::Status RunError(const absl::Status& status, const std::string& file) {
  return WithError(
      status, ErrorCode::kRunFailed, file,
      absl::IsResourceExhausted(status) ? "--loop-limit N allows more iterations" : "");
}

}  // namespace burnish
