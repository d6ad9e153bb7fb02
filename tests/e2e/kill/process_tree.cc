#include "tests/e2e/kill/process_tree.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"

namespace burnish {
namespace {

// Empty where there is nothing to read: a process may end between the look at /proc and the read.
std::string ReadAll(const std::string& path) {
  constexpr int64_t kBytesMax = 4 << 20;
  return ReadFile(path, kBytesMax).value_or("");
}

// Texts that each end in a zero byte.
std::vector<std::string> ReadTexts(const std::string& path) {
  std::vector<std::string> texts = absl::StrSplit(ReadAll(path), '\0');
  if (!texts.empty() && texts.back().empty()) texts.pop_back();
  return texts;
}

std::optional<Process> ReadProcess(pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid);
  const std::string stat = ReadAll(folder + "/stat");
  const size_t name_end = stat.rfind(')');  // The name may hold anything.
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 1), ' ');
  Process process{.pid = pid};
  if (fields.size() < 3 || fields[1].size() != 1) return std::nullopt;
  process.state = fields[1][0];
  if (!absl::SimpleAtoi(fields[2], &process.parent)) return std::nullopt;
  std::error_code error;
  process.program = std::filesystem::read_symlink(folder + "/exe", error).filename().string();
  process.args = ReadTexts(folder + "/cmdline");
  return process;
}

}  // namespace

bool Process::HasArg(absl::string_view arg) const {
  return std::find(args.begin(), args.end(), arg) != args.end();
}

std::vector<Process> ListProcesses() {
  std::vector<Process> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->path().filename().string(), &pid)) continue;
    if (std::optional<Process> process = ReadProcess(pid)) processes.push_back(*std::move(process));
  }
  return processes;
}

std::vector<Process> ChildrenOf(const std::vector<Process>& processes, pid_t parent) {
  std::vector<Process> children;
  for (const Process& process : processes) {
    if (process.parent == parent) children.push_back(process);
  }
  return children;
}

std::vector<Process> ProcessesWithEnvironment(absl::string_view entry) {
  std::vector<Process> found;
  for (Process& process : ListProcesses()) {
    if (process.pid == getpid() || process.state == 'Z') continue;
    const std::vector<std::string> environment =
        ReadTexts(absl::StrCat("/proc/", process.pid, "/environ"));
    if (std::find(environment.begin(), environment.end(), entry) != environment.end()) {
      found.push_back(std::move(process));
    }
  }
  return found;
}

std::string Describe(const Process& process) {
  return absl::StrCat(process.pid, " ", absl::StrJoin(process.args, " "));
}

}  // namespace burnish
