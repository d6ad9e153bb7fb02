#include "tuner/cli/explain_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tuner/app/value_text.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBarColumns = 24;
// The analytic model's aim (tuner/cost_model/README.md); beyond it a line says that it is off.
constexpr double kWithinLow = 0.8, kWithinHigh = 1.25;
// So many decisions decide "most"; below this share one decides nothing.
constexpr size_t kStandingsShown = 3;
constexpr double kStandingMin = 0.05;
constexpr size_t kValuesShown = 6;

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

std::string Count(double n) {
  if (n < 1e4) return absl::StrFormat("%.0f", n);
  if (n < 1e7) return absl::StrFormat("%.3g K", n * 1e-3);
  if (n < 1e10) return absl::StrFormat("%.3g M", n * 1e-6);
  return absl::StrFormat("%.3g G", n * 1e-9);
}

// In eighths of a column; what is over the whole ends with an arrow.
std::string Bar(double share) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (share > 1) return absl::StrCat(Bar(1), ">");
  const int eighths = static_cast<int>(std::lround(share * kBarColumns * 8));
  std::string bar;
  if (!ShowsUtf8()) return std::string(eighths / 8, '#');
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

std::string LoopKindName(LoopKind kind) {
  switch (kind) {
    case LoopKind::kParallel:
      return "parallel";
    case LoopKind::kVectorized:
      return "vector";
    case LoopKind::kUnrolled:
      return "unrolled";
    case LoopKind::kTensorized:
      return "instruction";
    case LoopKind::kBound:
      return "bound";
    case LoopKind::kSerial:
      return "loop";
  }
  return "loop";
}

std::string Rate(double per_second, const char* unit) {
  return absl::StrFormat("%.3g %s/s", per_second * 1e-9, unit);
}

std::string HeadText(const Explanation& e) {
  const Record& record = e.found.record;
  const double flops = 1e9 * static_cast<double>(e.flop_count) / e.measured_ns;
  const double bytes = 1e9 * static_cast<double>(e.least_bytes) / e.measured_ns;
  std::string text = absl::StrCat(
      e.found.title, "\n  record     ", record.first_trial_id, " of ",
      ShortHash(record.workload_id), ", ", FormatWallNs(record.first_recorded_ns), " on ",
      record.host, record.unconfirmed ? ", unconfirmed: by workers at one address" : "", "\n");
  absl::StrAppendFormat(&text, "  target     %s, %d threads; rates %s\n", e.device, e.threads,
                        e.peaks_measured ? "as calibrated" : "by the microarchitecture's table");
  absl::StrAppend(&text, "  measured   ", FormatNs(e.measured_ns), " (median ",
                  FormatNs(static_cast<double>(record.median_ns)), ")\n");
  const double ratio = e.measured_ns / e.report.expected_ns;
  absl::StrAppendFormat(&text, "  expected   %s by the analytic model: measured is %.2f of it%s\n",
                        FormatNs(e.report.expected_ns), ratio,
                        ratio < kWithinLow    ? ", it is too careful here"
                        : ratio > kWithinHigh ? ", something is lost that it does not know"
                                              : "");
  absl::StrAppend(&text, "  work       ", Count(static_cast<double>(e.flop_count)), " operations, ",
                  FormatBytes(static_cast<double>(e.least_bytes)), " of operands and results\n");
  absl::StrAppend(&text, "  reached    ", Rate(flops, "GFLOP"));
  if (e.peak_flops > 0) {
    absl::StrAppend(&text, ", ", Percent(flops / e.peak_flops), " of the peak of ",
                    Rate(e.peak_flops, "GFLOP"));
  }
  absl::StrAppend(&text, "; ", Rate(bytes, "GB"));
  if (e.peak_read_bytes > 0) {
    absl::StrAppend(&text, ", ", Percent(bytes / e.peak_read_bytes), " of memory's ",
                    Rate(e.peak_read_bytes, "GB"));
  }
  absl::StrAppend(&text, "\n");
  if (e.roofline.ns > 0) {
    absl::StrAppend(&text, "  bound      ", FormatNs(e.roofline.ns), " by ",
                    e.roofline.by_memory ? "memory" : "arithmetic", ", ",
                    Percent(e.roofline.ns / e.measured_ns),
                    " of the time; what takes longest now: ", TimeUseName(e.report.bound), "\n");
  }
  return text;
}

// What crosses the border that a fill stands for.
std::string LevelText(const ScheduleReport& report, int use) {
  static constexpr const char* kFrom[] = {"L2", "L3", "memory"};
  if (use == kLoadTime) {
    return absl::StrCat(Count(report.loads), " loads, ", Count(report.stores), " stores, ",
                        FormatBytes(report.accessed_bytes), " from and to L1");
  }
  if (use == kArithmeticTime) return absl::StrCat(Count(report.instructions), " instructions");
  if (use < kL1FillTime || use > kL3FillTime) return "";
  const int level = use - kL1FillTime;
  return absl::StrCat(FormatBytes(report.fill_bytes[level]), " from ", kFrom[level]);
}

std::string TimesText(const Explanation& e) {
  std::string text =
      absl::StrCat("\ntime of one worker by the model; a whole bar is the measured ",
                   FormatNs(e.measured_ns), "\n(what runs side by side is in both)\n");
  for (int use = 0; use < kTimeUseCount; ++use) {
    const double ns = e.report.time_ns[use];
    const std::string level = LevelText(e.report, use);
    if (ns <= 0 && level.empty()) continue;
    const std::string bar = Bar(ns / e.measured_ns);
    absl::StrAppendFormat(&text, "  %-15s %9s  %s%s%s\n", TimeUseName(static_cast<TimeUse>(use)),
                          FormatNs(ns), bar, bar.empty() || level.empty() ? "" : "  ", level);
  }
  return text;
}

std::string NestText(const NestReport& nest) {
  std::string text = absl::StrCat("  ", nest.output, ", ", Percent(nest.share), " of the cycles");
  if (nest.window > 0) {
    absl::StrAppend(&text, "; sums in ", Count(nest.window), " registers of ", nest.lanes);
  }
  if (!nest.intrinsic.empty()) absl::StrAppend(&text, "; by ", nest.intrinsic);
  absl::StrAppend(&text, "\n");
  std::vector<std::string> loops;
  for (const LoopReport& loop : nest.loops) {
    std::string one = absl::StrCat(LoopKindName(loop.kind), " ", loop.name, " ", loop.extent);
    if (loop.kind == LoopKind::kParallel) {
      absl::StrAppend(&one, " (", Count(loop.trips), " each of ", nest.workers, ")");
    }
    loops.push_back(std::move(one));
  }
  return absl::StrCat(text, "    ", absl::StrJoin(loops, "\n    "), "\n");
}

std::string CodeText(const Explanation& e) {
  if (!e.code.has_value()) {
    return e.code_trouble.empty() ? "" : absl::StrCat("\ncode: not built: ", e.code_trouble, "\n");
  }
  const CodeReport& code = *e.code;
  std::string text = absl::StrCat(
      "\ncode\n  ", FormatBytes(static_cast<double>(code.code_bytes)), ", scratch ",
      FormatBytes(static_cast<double>(code.scratch_bytes)), " a worker, packed weights ",
      FormatBytes(static_cast<double>(code.packed_bytes)), "\n");
  absl::StrAppend(&text, "  spills in innermost loops: ",
                  code.spill_count == 0 ? "none" : absl::StrCat(code.spill_count), "\n");
  if (code.hot_loop.has_value()) {
    const HotLoop& loop = *code.hot_loop;
    absl::StrAppendFormat(&text, "  hottest loop %s: %d vector registers of %d bits\n", loop.label,
                          loop.vector_registers, loop.vector_bits);
    absl::StrAppendFormat(
        &text, "    %d instructions: %d multiply-adds, %d other arithmetic, %d loads, %d stores\n",
        loop.instructions, loop.multiply_adds, loop.arithmetic - loop.multiply_adds, loop.loads,
        loop.stores);
  }
  return text;
}

std::string FindingsText(const Explanation& e, int columns) {
  if (e.report.findings.empty()) return "\nlosses: none that the model knows of\n";
  TextTable table({{"of the time", TextTable::kRight},
                   {"loss"},
                   {"what it is", TextTable::kLeft, /*wraps=*/true}});
  for (const Finding& finding : e.report.findings) {
    table.AddRow({Percent(finding.share), finding.name, finding.text});
  }
  return absl::StrCat("\nlosses, of the expected time\n", table.ToText(columns));
}

std::string DecisionsText(const RecordComparison& comparison, int columns) {
  if (comparison.structure.empty()) {
    return "\nstructure: none of this version's rules writes this trace\n";
  }
  std::vector<std::string> values;
  for (const DecisionValue& one : comparison.decisions) {
    values.push_back(absl::StrCat(one.name, " ", one.value));
  }
  TextTable table({{"structure"}, {"decisions", TextTable::kLeft, /*wraps=*/true}});
  table.AddRow({comparison.structure, values.empty() ? "-" : absl::StrJoin(values, ", ")});
  return absl::StrCat("\n", table.ToText(columns));
}

std::string RunnersUpText(const RecordComparison& comparison, int columns) {
  std::string text =
      absl::StrCat("\nrunners-up, of ", comparison.record_count, " records of the task\n");
  TextTable table({{"trial"},
                   {"time", TextTable::kRight},
                   {"of this", TextTable::kRight},
                   {"what is otherwise", TextTable::kLeft, /*wraps=*/true}});
  for (const RunnerUp& one : comparison.runners_up) {
    std::vector<std::string> differences;
    for (const Difference& difference : one.differences) {
      differences.push_back(
          absl::StrCat(difference.name, " ", difference.there, " for ", difference.here));
    }
    table.AddRow(
        {one.record.first_trial_id, FormatNs(static_cast<double>(one.record.isolated_rank_ns())),
         absl::StrFormat("%.2f", one.factor),
         differences.empty() ? "what no decision says" : absl::StrJoin(differences, ", ")});
  }
  if (comparison.runners_up.empty()) return text + "  none\n";
  return text + table.ToText(columns);
}

std::string StandingsText(const RecordComparison& comparison, int columns) {
  TextTable table({{"of the variance", TextTable::kRight},
                   {"decision"},
                   {"best with each value (records)", TextTable::kLeft, /*wraps=*/true}});
  size_t shown = 0;
  for (const DecisionStanding& standing : comparison.standings) {
    if (shown == kStandingsShown || standing.share < kStandingMin) break;
    ++shown;
    std::vector<std::string> values;
    for (const ValueStanding& value : standing.values) {
      if (values.size() == kValuesShown) {
        values.push_back("..");
        break;
      }
      values.push_back(
          absl::StrFormat("%s: %.2f (%d)", value.value, value.best_factor, value.count));
    }
    table.AddRow({Percent(standing.share), standing.name, absl::StrJoin(values, ", ")});
  }
  if (shown == 0) return "";
  return absl::StrCat("\nwhat decides, of the variance of the records' times\n",
                      table.ToText(columns));
}

Json ReportJson(const ScheduleReport& report) {
  Json json = {{"bound_by", TimeUseName(report.bound)}, {"times", Json::array()}};
  for (int use = 0; use < kTimeUseCount; ++use) {
    json["times"].push_back(
        {{"use", TimeUseName(static_cast<TimeUse>(use))}, {"us", report.time_ns[use] * 1e-3}});
  }
  json["instructions"] = report.instructions;
  json["loads"] = report.loads;
  json["stores"] = report.stores;
  json["levels"] = {{{"from", "L1"}, {"to", "registers"}, {"bytes", report.accessed_bytes}},
                    {{"from", "L2"}, {"to", "L1"}, {"bytes", report.fill_bytes[0]}},
                    {{"from", "L3"}, {"to", "L2"}, {"bytes", report.fill_bytes[1]}},
                    {{"from", "memory"}, {"to", "L3"}, {"bytes", report.fill_bytes[2]}}};
  json["nests"] = Json::array();
  for (const NestReport& nest : report.nests) {
    Json loops = Json::array();
    for (const LoopReport& loop : nest.loops) {
      loops.push_back({{"name", loop.name},
                       {"kind", LoopKindName(loop.kind)},
                       {"extent", loop.extent},
                       {"trips", loop.trips}});
    }
    json["nests"].push_back({{"output", nest.output},
                             {"share", nest.share},
                             {"workers", nest.workers},
                             {"sums_in_registers", nest.window},
                             {"lanes", nest.lanes},
                             {"instruction", nest.intrinsic},
                             {"loops", std::move(loops)}});
  }
  json["findings"] = Json::array();
  for (const Finding& finding : report.findings) {
    json["findings"].push_back(
        {{"name", finding.name}, {"share", finding.share}, {"text", finding.text}});
  }
  return json;
}

Json CodeJson(const Explanation& e) {
  if (!e.code.has_value()) return nullptr;
  Json json = {{"code_bytes", e.code->code_bytes},
               {"scratch_bytes", e.code->scratch_bytes},
               {"packed_bytes", e.code->packed_bytes},
               {"spills", e.code->spill_count},
               {"hot_loop", nullptr}};
  if (const std::optional<HotLoop>& loop = e.code->hot_loop; loop.has_value()) {
    json["hot_loop"] = {{"label", loop->label},
                        {"instructions", loop->instructions},
                        {"multiply_adds", loop->multiply_adds},
                        {"arithmetic", loop->arithmetic},
                        {"loads", loop->loads},
                        {"stores", loop->stores},
                        {"stack_accesses", loop->stack_accesses},
                        {"vector_registers", loop->vector_registers},
                        {"vector_bits", loop->vector_bits}};
  }
  return json;
}

Json ComparisonJson(const RecordComparison& comparison) {
  Json json = {{"structure", comparison.structure},
               {"decisions", Json::array()},
               {"records", comparison.record_count},
               {"runners_up", Json::array()},
               {"decides", Json::array()}};
  for (const DecisionValue& one : comparison.decisions) {
    json["decisions"].push_back({{"decision", one.name}, {"value", one.value}});
  }
  for (const RunnerUp& one : comparison.runners_up) {
    Json differences = Json::array();
    for (const Difference& difference : one.differences) {
      differences.push_back(
          {{"decision", difference.name}, {"here", difference.here}, {"there", difference.there}});
    }
    json["runners_up"].push_back(
        {{"trial", one.record.first_trial_id},
         {"candidate", HexString(one.record.candidate_id)},
         {"time_ms", static_cast<double>(one.record.isolated_rank_ns()) * 1e-6},
         {"factor", one.factor},
         {"differences", std::move(differences)}});
  }
  for (const DecisionStanding& standing : comparison.standings) {
    Json values = Json::array();
    for (const ValueStanding& value : standing.values) {
      values.push_back(
          {{"value", value.value}, {"records", value.count}, {"best_factor", value.best_factor}});
    }
    json["decides"].push_back(
        {{"decision", standing.name}, {"share", standing.share}, {"values", std::move(values)}});
  }
  return json;
}

}  // namespace

std::string ExplainText(const Explanation& e, int columns) {
  std::string text = absl::StrCat(HeadText(e), TimesText(e), FindingsText(e, columns),
                                  DecisionsText(e.comparison, columns), "\nloops\n");
  for (const NestReport& nest : e.report.nests) text += NestText(nest);
  absl::StrAppend(&text, CodeText(e), RunnersUpText(e.comparison, columns),
                  StandingsText(e.comparison, columns));
  return Printable(text);
}

Json ExplainJson(const Explanation& e) {
  const Record& record = e.found.record;
  Json json = {{"schema", 1},
               {"name", e.found.title},
               {"workload", HexString(record.workload_id)},
               {"candidate", HexString(record.candidate_id)},
               {"trial", record.first_trial_id},
               {"target", record.target},
               {"measured_ms", e.measured_ns * 1e-6},
               {"expected_ms", e.report.expected_ns * 1e-6},
               {"roofline_ms", e.roofline.ns * 1e-6},
               {"roofline_by", e.roofline.by_memory ? "memory" : "arithmetic"},
               {"operations", e.flop_count},
               {"least_bytes", e.least_bytes},
               {"peak_gflops", e.peak_flops * 1e-9},
               {"peak_read_gb_per_s", e.peak_read_bytes * 1e-9},
               {"peaks_measured", e.peaks_measured}};
  json.update(ReportJson(e.report));
  json["code"] = CodeJson(e);
  json.update(ComparisonJson(e.comparison));
  return json;
}

}  // namespace burnish
