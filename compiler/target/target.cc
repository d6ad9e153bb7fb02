#include "compiler/target/target.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/cpu_info.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "compiler/target/cpu_names.h"
#include "compiler/target/isa_model.h"
#include "compiler/target/target_arch.h"

namespace burnish {
namespace {

constexpr size_t kTextBytesMax = 4096;
constexpr int64_t kCacheBytesMin = 1024;
constexpr int64_t kCacheBytesMax = int64_t{1} << 40;
constexpr int kWaysMax = 1024;
constexpr absl::string_view kExample = "cpu:arch=znver3,features=avx2+fma,threads=2";

absl::Status BadTarget(absl::string_view what, absl::string_view hint) {
  return absl::InvalidArgumentError(absl::StrCat("target: ", what, "; hint: ", hint));
}

const TargetFeature* FindFeature(absl::string_view name) {
  for (const TargetFeature& feature : TargetFeatures()) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

// Adds `name` and all that it needs. False: some name is not in the table.
bool AddWithImplied(absl::string_view name, std::set<std::string>& features) {
  const TargetFeature* feature = FindFeature(name);
  if (feature == nullptr) return false;
  if (!features.emplace(name).second) return true;
  for (absl::string_view needed : absl::StrSplit(feature->needs, '+', absl::SkipEmpty())) {
    if (!AddWithImplied(needed, features)) return false;
  }
  return true;
}

absl::StatusOr<std::vector<std::string>> ParseFeatures(absl::string_view text) {
  std::set<std::string> features;
  for (absl::string_view name : absl::StrSplit(text, '+')) {
    if (!AddWithImplied(name, features)) {
      std::vector<absl::string_view> known;
      for (const TargetFeature& feature : TargetFeatures()) known.push_back(feature.name);
      return BadTarget(
          absl::StrCat("got unknown feature '", name, "'"),
          absl::StrCat("features are joined by '+'; known: ", absl::StrJoin(known, " ")));
    }
  }
  if (features.count("sse4.2") == 0) {
    return BadTarget(absl::StrCat("got features=", text, ", want at least sse4.2"),
                     "every supported processor has it: add +sse4.2");
  }
  return std::vector<std::string>(features.begin(), features.end());
}

absl::StatusOr<int64_t> ParseNumber(absl::string_view key, absl::string_view text, int64_t low,
                                    int64_t high) {
  int64_t value = 0;
  // SimpleAtoi takes signs and blanks; a canonical text has neither.
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || !absl::SimpleAtoi(text, &value) || value < low || value > high) {
    return BadTarget(absl::StrFormat("got %s=%s, want %d..%d", key, text, low, high),
                     absl::StrCat("for example ", kExample));
  }
  return value;
}

absl::StatusOr<CacheLevel> ParseCache(absl::string_view key, absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  CacheLevel cache;
  ASSIGN_OR_RETURN(cache.size_bytes, ParseNumber(key, parts.first, kCacheBytesMin, kCacheBytesMax));
  if (parts.first.size() == text.size()) {
    return BadTarget(absl::StrFormat("got %s=%s, want BYTES:WAYS", key, text),
                     absl::StrFormat("%s=%s:0 where the ways are not known", key, text));
  }
  ASSIGN_OR_RETURN(cache.ways, ParseNumber(absl::StrCat(key, " ways"), parts.second, 0, kWaysMax));
  return cache;
}

absl::StatusOr<std::map<std::string, std::string>> SplitFields(absl::string_view fields) {
  std::map<std::string, std::string> values;
  for (absl::string_view field : absl::StrSplit(fields, ',')) {
    const size_t equals = field.find('=');
    if (equals == absl::string_view::npos || equals + 1 == field.size()) {
      return BadTarget(absl::StrCat("got '", field, "', want NAME=VALUE"),
                       absl::StrCat("for example ", kExample));
    }
    if (!values.emplace(field.substr(0, equals), field.substr(equals + 1)).second) {
      return BadTarget(absl::StrCat("got ", field.substr(0, equals), " twice"), "say it once");
    }
  }
  return values;
}

absl::StatusOr<Target> ParseCpuTarget(absl::string_view fields) {
  using Values = std::map<std::string, std::string>;
  ASSIGN_OR_RETURN(const Values values, SplitFields(fields));
  Target target;
  const Values::const_iterator arch_value = values.find("arch");
  if (arch_value != values.end()) target.arch = arch_value->second;
  const TargetArch* arch = FindTargetArch(target.arch);
  if (arch == nullptr) {
    return BadTarget(arch_value == values.end()
                         ? std::string("got no arch")
                         : absl::StrCat("got unknown arch '", target.arch, "'"),
                     absl::StrCat("one of ", absl::StrJoin(TargetArchNames(), " ")));
  }
  ASSIGN_OR_RETURN(target.features, ParseFeatures(arch->baseline));
  // A text that names any cache names them all, so that a machine without an L3 can be said.
  if (values.count("l1d") + values.count("l2") + values.count("l3") == 0) {
    target.l1d = arch->l1d;
    target.l2 = arch->l2;
    target.l3 = arch->l3;
  }
  for (const auto& [key, value] : values) {
    if (key == "arch") continue;
    if (key == "features") {
      ASSIGN_OR_RETURN(target.features, ParseFeatures(value));
    } else if (key == "threads") {
      ASSIGN_OR_RETURN(target.threads, ParseNumber(key, value, 1, Target::kThreadsMax));
    } else if (key == "line") {
      ASSIGN_OR_RETURN(target.line_bytes, ParseNumber(key, value, 16, 1024));
    } else if (key == "l1d") {
      ASSIGN_OR_RETURN(target.l1d, ParseCache(key, value));
    } else if (key == "l2") {
      ASSIGN_OR_RETURN(target.l2, ParseCache(key, value));
    } else if (key == "l3") {
      ASSIGN_OR_RETURN(target.l3, ParseCache(key, value));
    } else {
      return BadTarget(absl::StrCat("got unknown field '", key, "'"),
                       "known: arch features threads l1d l2 l3 line");
    }
  }
  return target;
}

void AppendCache(absl::string_view name, const CacheLevel& cache, std::string& text) {
  if (cache.size_bytes == 0) return;
  absl::StrAppend(&text, ",", name, "=", cache.size_bytes, ":", cache.ways);
}

CacheLevel CacheOf(const CpuInfo& info, int level, const CacheLevel& otherwise) {
  const CpuCache* cache = info.Cache(level);
  if (cache == nullptr || cache->size_bytes < kCacheBytesMin) return otherwise;
  return {.size_bytes = cache->size_bytes, .ways = std::clamp(cache->way_count, 0, kWaysMax)};
}

}  // namespace

bool Target::HasFeature(absl::string_view feature) const {
  return std::binary_search(features.begin(), features.end(), feature, std::less<>());
}

bool Target::RunsOn(const Target& host) const {
  return arch == host.arch &&
         std::all_of(features.begin(), features.end(),
                     [&](const std::string& feature) { return host.HasFeature(feature); });
}

std::string Target::ToText() const {
  std::string text = absl::StrCat("cpu:arch=", arch, ",features=", absl::StrJoin(features, "+"),
                                  ",threads=", threads);
  AppendCache("l1d", l1d, text);
  AppendCache("l2", l2, text);
  AppendCache("l3", l3, text);
  if (line_bytes != 64) absl::StrAppend(&text, ",line=", line_bytes);
  return text;
}

std::string Target::IsaKey() const {
  return absl::StrCat("x86_64-linux-gnu;", absl::StrJoin(features, "+"), ";threads=", threads, ";",
                      IsaModelOf(*this).ToText());
}

std::string Target::DeviceKey() const {
  // All but threads of what a target says: how many of them a job uses is the job's matter. The
  // IsaModel is there for rates that a later table may tell apart. Eight digits of the hash: a farm
  // has a handful of kinds, and people read keys.
  constexpr size_t kDigits = 8;
  const std::string facts =
      absl::StrCat(absl::StrJoin(features, "+"), ";", IsaModelOf(*this).ToText());
  return absl::StrCat("cpu-", arch, "-", Sha256Hex(facts).substr(0, kDigits));
}

absl::StatusOr<Target> ParseTarget(absl::string_view text) {
  if (text.size() > kTextBytesMax) {
    return BadTarget(absl::StrFormat("got %d bytes, want at most %d", text.size(), kTextBytesMax),
                     absl::StrCat("for example ", kExample));
  }
  absl::string_view fields = text;
  if (absl::ConsumePrefix(&fields, "cpu:")) return ParseCpuTarget(fields);
  if (absl::StartsWith(text, "cuda:") || absl::StartsWith(text, "opencl:") || text == "cuda" ||
      text == "opencl") {
    return absl::UnimplementedError(absl::StrCat("target: no backend generates code for '", text,
                                                 "' yet; hint: use a cpu target, for example ",
                                                 kExample));
  }
  return BadTarget(absl::StrCat("got '", text, "', want cpu:NAME=VALUE,..."),
                   absl::StrCat("for example ", kExample));
}

absl::StatusOr<Target> HostTarget(const CpuInfo& info, int32_t threads) {
  const TargetArch* arch = FindTargetArch(LlvmCpuName(info));
  // Closed by dropping, not by adding: what a hypervisor hides must not come back by implication.
  std::set<std::string> features;
  for (const std::string& feature : info.features) {
    std::set<std::string> closure;
    if (!AddWithImplied(feature, closure)) continue;
    if (std::all_of(closure.begin(), closure.end(),
                    [&info](const std::string& name) { return info.Has(name); })) {
      features.insert(feature);
    }
  }
  if (features.count("sse4.2") == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "target: this host ('", info.brand,
        "') is no x86-64 processor with SSE4.2; hint: name the target, for example ", kExample));
  }
  if (arch == nullptr) {  // A newer family than the table: its level of features says most.
    arch = FindTargetArch(features.count("avx512vl") > 0 ? "x86-64-v4"
                          : features.count("fma") > 0    ? "x86-64-v3"
                                                         : "x86-64-v2");
  }
  if (threads <= 0) threads = std::max(1, info.physical_core_count());
  Target target = {
      .arch = std::string(arch->name),
      .features = {features.begin(), features.end()},
      .threads = std::min(threads, Target::kThreadsMax),
      .l1d = CacheOf(info, 1, arch->l1d),
      .l2 = CacheOf(info, 2, arch->l2),
      .l3 = CacheOf(info, 3, {}),
  };
  if (const CpuCache* l1d = info.Cache(1); l1d != nullptr && l1d->line_bytes > 0) {
    target.line_bytes = l1d->line_bytes;
  }
  return target;
}

}  // namespace burnish
