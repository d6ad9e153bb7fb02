#include "tuner/cli/turns_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "tuner/app/compare_arrays.h"
#include "tuner/app/error.h"
#include "tuner/cli/format.h"
#include "tuner/cli/tensor_files.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

// Rounding of float32 in another order stays a tenth of this; another model is far beyond.
constexpr double kToleratedError = 1e-3;

constexpr int kTurnsInRound = 3;  // Round (turns.h).

absl::Status CompareOutputs(Session& session, const Opponent& other, TurnsReport& report) {
  Json& compared = report.json["outputs"] = Json::array();
  for (size_t i = 0; i < other.outputs.size(); ++i) {
    const std::string& output = session.manifest().outputs[i].tensor.name;
    ASSIGN_OR_RETURN(const NpyArray got, GetOutput(session, i));
    const absl::StatusOr<ArrayDifference> found = CompareArrays(got, other.outputs[i]);
    if (!found.ok()) {
      return WithError(found.status(), ErrorCode::kTensorMismatch, output,
                       absl::StrCat(other.name, " has another output there"));
    }
    compared.push_back({{"name", output},
                        {"absolute_error", found->absolute},
                        {"relative_error", found->relative}});
    absl::StrAppendFormat(&report.text, "output %s: max error %.3g absolute, %.3g relative\n",
                          output, found->absolute, found->relative);
    if (!(found->relative <= kToleratedError)) {
      absl::StrAppendFormat(&report.warning, "%soutput %s differs by %.3g, more than %.3g",
                            report.warning.empty() ? "" : "; ", output, found->relative,
                            kToleratedError);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TurnsReport> ReportTurns(Session& session, const std::string& name,
                                        const Opponent& other, double seconds, int rounds) {
  const absl::Duration turn = absl::Seconds(seconds) / (kTurnsInRound * rounds);
  TurnsReport report;
  ASSIGN_OR_RETURN(report.times, TakeTurns([&] { return SessionTurn(session, turn); },
                                           [&] { return other.turn(turn); }, rounds));
  const TurnTimes& times = report.times;
  const std::string& model = session.manifest().model_name;
  const int threads = session.pool()->thread_count();
  report.json = {{"schema", 1},
                 {"model", model},
                 {"threads", threads},
                 {"rounds", rounds},
                 {"median_ms", times.first_ns * 1e-6},
                 {"ratio", times.ratio.median},
                 {"ratio_spread", times.ratio.spread},
                 {"control_ratio", times.control.median},
                 {"control_spread", times.control.spread}};
  TextTable table({{""},
                   {"time", TextTable::kRight},
                   {"ratio", TextTable::kRight},
                   {"spread", TextTable::kRight}});
  const auto add = [&table](const std::string& row, const std::string& time, const Ratio& ratio) {
    table.AddRow(
        {row, time, absl::StrFormat("%.3f", ratio.median), absl::StrFormat("%.3f", ratio.spread)});
  };
  add(name, FormatNs(times.first_ns), times.ratio);
  table.AddRow({other.name, FormatNs(times.second_ns), "1", ""});
  add("the first against itself", "", times.control);
  report.text = absl::StrFormat("%s, %d threads, %d rounds in turn\n%s", model, threads, rounds,
                                table.ToText());
  RETURN_IF_ERROR(CompareOutputs(session, other, report));
  return report;
}

}  // namespace burnish
