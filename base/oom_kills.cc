#include "base/oom_kills.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace burnish {
namespace {

std::optional<int64_t> ReadOomKills(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return ParseOomKills(text.str());
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
