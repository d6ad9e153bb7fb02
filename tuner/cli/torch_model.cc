#include "tuner/cli/torch_model.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

constexpr char kSuffix[] = ".pt2";
// A model of 2 GB is read, decomposed and written in a minute; more than this is a process that
// hangs.
constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr size_t kPathBytesMax = 4096;
// Of python/burnish/export.py: the model is none that can be converted.
constexpr int kRefused = 65;
constexpr char kModelName[] = "model.graph", kReasonName[] = "not_converted.txt";
constexpr size_t kReasonBytesMax = 1 << 16;

std::string ConversionHint(const std::string& path, const std::string& python) {
  // No registry has Burnish.
  return absl::StrCat(
      python,
      " -m pip install torch dist/*.whl, with the wheels that ./dev wheel makes; or --python "
      "PROGRAM of one that has both; or there: python -m burnish.export ",
      path, " model.graph, and --model model.graph here");
}

// "error[B0302]: text", and a hint behind it, as burnish.export prints it.
absl::Status ConversionError(absl::string_view talk, const std::string& path) {
  std::string cause, hint;
  std::optional<ErrorCode> code;
  for (absl::string_view line : absl::StrSplit(talk, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits("]: ", 1));
    int number = 0;
    if (absl::StartsWith(line, "error[B") && absl::SimpleAtoi(parts.first.substr(7), &number)) {
      code = FindErrorCode(number);
      cause = std::string(parts.second);
    }
    const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
    if (absl::StartsWith(text, "hint: ")) hint = std::string(text.substr(6));
  }
  if (cause.empty()) {
    cause = absl::StrCat("torch cannot read it: ", absl::StripAsciiWhitespace(talk));
  }
  return MakeError(code.value_or(ErrorCode::kBadModel), cause, path, hint);
}

}  // namespace

absl::StatusOr<std::string> ModelFile(const std::string& path, const std::string& python) {
  if (!absl::EndsWith(path, kSuffix)) return path;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return MakeError(ErrorCode::kNoInputFile, "no such file", path);
  }
  // `env` looks the Python up in PATH. -P: no module comes from the folder that this happens to run
  // in.
  ASSIGN_OR_RETURN(const ExitInfo exit,
                   RunSubprocess({.program = "/usr/bin/env",
                                  .args = {python, "-P", "-m", "burnish.export", path, "--keep"},
                                  .timeout = kPatience,
                                  .stdout_bytes_max = kPathBytesMax}));
  const std::string kept(absl::StripAsciiWhitespace(exit.stdout_bytes));
  if (exit.ok() && !kept.empty()) return kept;
  if (exit.exit_code == kRefused) return ConversionError(exit.stderr_bytes, path);
  return MakeError(ErrorCode::kUnavailable,
                   absl::StrCat("a file of torch.export is read by Python with burnish and torch, "
                                "which did not work: ",
                                Describe(exit)),
                   path, ConversionHint(path, python));
}

absl::StatusOr<std::string> DumpedModel(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path root(folder);
  if (fs::is_regular_file(root / kModelName, error)) return (root / kModelName).string();
  if (const auto reason = ReadFile((root / kReasonName).string(), kReasonBytesMax); reason.ok()) {
    return MakeError(ErrorCode::kUnsupportedOperator, absl::StripTrailingAsciiWhitespace(*reason),
                     folder);
  }
  std::vector<std::string> graphs;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    if (fs::is_regular_file(it->path() / kModelName, error)) graphs.push_back(it->path().string());
  }
  std::sort(graphs.begin(), graphs.end());
  if (graphs.size() == 1) return (fs::path(graphs[0]) / kModelName).string();
  if (graphs.empty()) {
    return MakeError(ErrorCode::kNoInputFile, absl::StrCat("no ", kModelName, " in it"), folder,
                     "a folder that burnish.functorch.graph_dumper_aot wrote");
  }
  return MakeError(ErrorCode::kUsage, absl::StrCat("got a folder of ", graphs.size(), " graphs"),
                   folder, absl::StrCat("--graph ", absl::StrJoin(graphs, ", or --graph ")));
}

}  // namespace burnish
