#include "base/oom_kills.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"

namespace burnish {
namespace {

// The kernel's text has some 200 lines of up to 40 bytes.
constexpr int64_t kVmstatBytesMax = 1 << 20;

std::optional<int64_t> ReadOomKills(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kVmstatBytesMax);
  return text.ok() ? ParseOomKills(*text) : std::nullopt;
}

}  // namespace

std::optional<int64_t> ParseOomKills(absl::string_view vmstat) {
  for (absl::string_view line : absl::StrSplit(vmstat, '\n')) {
    int64_t count = 0;
    if (absl::ConsumePrefix(&line, "oom_kill ") && absl::SimpleAtoi(line, &count)) return count;
  }
  return std::nullopt;
}

OomKillWatch::OomKillWatch(std::string vmstat_path)
    : vmstat_path_(std::move(vmstat_path)), before_(ReadOomKills(vmstat_path_)) {}

bool OomKillWatch::SawAny() const {
  const std::optional<int64_t> now = ReadOomKills(vmstat_path_);
  return before_.has_value() && now.has_value() && *now > *before_;
}

}  // namespace burnish
