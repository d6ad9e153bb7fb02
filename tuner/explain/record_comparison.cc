#include "tuner/explain/record_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "db/stored_trace.h"

namespace burnish {
namespace {

constexpr char kStructure[] = "structure";
// With fewer records beyond the number of values, what a decision explains is chance.
constexpr int kSpareRecordsMin = 4;

double Ns(const Record& record) { return static_cast<double>(record.isolated_rank_ns()); }

PlacedRecord Place(absl::Span<const Sketch> sketches, const Record& record) {
  PlacedRecord placed{.record = record};
  const absl::StatusOr<Trace> trace = ParseStoredTrace(record.trace);
  if (!trace.ok()) return placed;
  for (size_t i = 0; i < sketches.size(); ++i) {
    std::optional<Point> point = Recognize(sketches[i], *trace);
    if (!point.has_value()) continue;
    placed.sketch = static_cast<int>(i);
    placed.point = *std::move(point);
    break;
  }
  return placed;
}

std::string NameOf(absl::Span<const Sketch> sketches, const PlacedRecord& placed) {
  return placed.sketch < 0 ? "unknown" : sketches[placed.sketch].name;
}

// Steps that one trace has and the other has not: where no rule says the decisions.
std::vector<Difference> StepDifferences(const Record& subject, const Record& other) {
  const std::vector<std::string> here = absl::StrSplit(subject.trace, '\n', absl::SkipEmpty());
  const std::vector<std::string> there = absl::StrSplit(other.trace, '\n', absl::SkipEmpty());
  const auto missing = [](const std::vector<std::string>& from,
                          const std::vector<std::string>& in) {
    std::vector<std::string> lines;
    for (const std::string& line : from) {
      if (std::find(in.begin(), in.end(), line) == in.end()) lines.push_back(line);
    }
    return absl::StrJoin(lines, "; ");
  };
  return {{.name = "steps", .here = missing(here, there), .there = missing(there, here)}};
}

std::vector<Difference> Differences(absl::Span<const Sketch> sketches, const PlacedRecord& subject,
                                    const PlacedRecord& other) {
  if (subject.sketch != other.sketch) {
    return {
        {.name = kStructure, .here = NameOf(sketches, subject), .there = NameOf(sketches, other)}};
  }
  if (subject.sketch < 0) return StepDifferences(subject.record, other.record);
  std::vector<Difference> differences;
  const std::vector<Decision>& decisions = sketches[subject.sketch].decisions;
  for (size_t d = 0; d < decisions.size(); ++d) {
    if (subject.point[d] == other.point[d]) continue;
    differences.push_back({.name = decisions[d].name,
                           .here = absl::StrCat(subject.point[d]),
                           .there = absl::StrCat(other.point[d])});
  }
  return differences;
}

// `values[i]`: of record i with ln(time) `times[i]`. Without a value twice, or records to spare,
// the share is 0.
DecisionStanding StandingOf(std::string name, absl::Span<const std::string> values,
                            absl::Span<const double> times) {
  DecisionStanding standing{.name = std::move(name)};
  std::map<std::string, std::vector<double>> by_value;
  for (size_t i = 0; i < values.size(); ++i) by_value[values[i]].push_back(times[i]);
  const double best = *std::min_element(times.begin(), times.end());
  const auto count = static_cast<double>(times.size());
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / count;
  double total = 0, within = 0;
  for (const double time : times) total += (time - mean) * (time - mean);
  for (const auto& [value, group] : by_value) {
    const double group_mean =
        std::accumulate(group.begin(), group.end(), 0.0) / static_cast<double>(group.size());
    for (const double time : group) within += (time - group_mean) * (time - group_mean);
    standing.values.push_back(
        {.value = value,
         .count = static_cast<int64_t>(group.size()),
         .best_factor = std::exp(*std::min_element(group.begin(), group.end()) - best)});
  }
  std::sort(standing.values.begin(), standing.values.end(),
            [](const ValueStanding& a, const ValueStanding& b) {
              return std::tie(a.best_factor, a.value) < std::tie(b.best_factor, b.value);
            });
  const auto groups = static_cast<double>(by_value.size());
  if (groups < 2 || count < groups + kSpareRecordsMin || total <= 0) return standing;
  const double within_mean = within / (count - groups);
  standing.share = std::max(0.0, (total - within - (groups - 1) * within_mean) / total);
  return standing;
}

std::vector<DecisionStanding> StandingsOf(absl::Span<const Sketch> sketches,
                                          const PlacedRecord& subject,
                                          const std::vector<PlacedRecord>& all) {
  std::vector<DecisionStanding> standings;
  std::vector<std::string> names;
  std::vector<double> times;
  std::vector<const PlacedRecord*> alike;
  for (const PlacedRecord& one : all) {
    names.push_back(NameOf(sketches, one));
    times.push_back(std::log(Ns(one.record)));
    if (one.sketch == subject.sketch && one.sketch >= 0) alike.push_back(&one);
  }
  standings.push_back(StandingOf(kStructure, names, times));
  times.clear();
  for (const PlacedRecord* one : alike) times.push_back(std::log(Ns(one->record)));
  const size_t count = alike.empty() ? 0 : sketches[subject.sketch].decisions.size();
  for (size_t d = 0; d < count; ++d) {
    std::vector<std::string> values;
    for (const PlacedRecord* one : alike) values.push_back(absl::StrCat(one->point[d]));
    standings.push_back(StandingOf(sketches[subject.sketch].decisions[d].name, values, times));
  }
  std::erase_if(standings, [](const DecisionStanding& one) { return one.share <= 0; });
  std::sort(standings.begin(), standings.end(),
            [](const DecisionStanding& a, const DecisionStanding& b) {
              return a.share != b.share ? a.share > b.share : a.name < b.name;
            });
  return standings;
}

}  // namespace

RecordComparison CompareRecords(absl::Span<const Sketch> sketches, const Record& subject,
                                absl::Span<const Record> others, int runner_up_max) {
  RecordComparison comparison;
  std::vector<PlacedRecord> all = {Place(sketches, subject)};
  for (const Record& other : others) {
    if (other.candidate_id != subject.candidate_id) all.push_back(Place(sketches, other));
  }
  const PlacedRecord placed = all.front();
  comparison.record_count = static_cast<int64_t>(all.size());
  if (placed.sketch >= 0) {
    const Sketch& sketch = sketches[placed.sketch];
    comparison.structure = sketch.name;
    for (size_t d = 0; d < sketch.decisions.size(); ++d) {
      comparison.decisions.push_back({sketch.decisions[d].name, placed.point[d]});
    }
  }
  comparison.standings = StandingsOf(sketches, placed, all);
  // What is behind the subject; in front of it there is something only where a user asked for
  // another record than the best.
  std::sort(all.begin(), all.end(), [](const PlacedRecord& a, const PlacedRecord& b) {
    return std::pair(a.record.isolated_rank_ns(), a.record.row_id) <
           std::pair(b.record.isolated_rank_ns(), b.record.row_id);
  });
  std::set<std::string> codes = {subject.code_sha256};
  for (const PlacedRecord& other : all) {
    if (static_cast<int>(comparison.runners_up.size()) >= runner_up_max) break;
    if (other.record.candidate_id == subject.candidate_id) continue;
    const std::string& code = other.record.code_sha256;
    if (!code.empty() && !codes.insert(code).second) continue;
    comparison.runners_up.push_back({.record = other.record,
                                     .factor = Ns(other.record) / Ns(subject),
                                     .differences = Differences(sketches, placed, other)});
  }
  return comparison;
}

}  // namespace burnish
