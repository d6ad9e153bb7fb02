// tuner compare: two bundles in turn, or what two studies have found.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/runtime/benchmark.h"
#include "tuner/app/bundle_session.h"
#include "tuner/app/compare_studies.h"
#include "tuner/app/error.h"
#include "tuner/app/turns.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"
#include "tuner/cli/run_flags.h"
#include "tuner/cli/tensor_files.h"
#include "tuner/cli/turns_report.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

// Ids of studies have neither dots nor slashes.
bool IsFile(const std::string& name) {
  return name.find_first_of("./") != name.npos || access(name.c_str(), F_OK) == 0;
}

// ---- Bundles

constexpr int kProfileRuns = 30;  // As bench has it.

// Of a bundle: how the step was scheduled, and its time.
struct StepSide {
  std::string schedule = "-";  // The other bundle alone has it.
  double ns = 0;
};

// Its name, and the how manieth of that name: two builds of a model number kernels otherwise.
using StepKey = std::pair<std::string, int>;
using StepPairs = std::map<StepKey, std::pair<StepSide, StepSide>>;

absl::Status AddSteps(Session& session, StepSide std::pair<StepSide, StepSide>::* side,
                      StepPairs& pairs) {
  const RuntimeOr<std::vector<int64_t>> step_ns = ProfileSteps(session, kProfileRuns);
  RETURN_IF_ERROR(ToStatus(step_ns.status()));
  std::map<std::string, int> seen;
  for (size_t i = 0; i < step_ns->size(); ++i) {
    const ModelStep& step = session.manifest().steps[i];
    pairs[{step.name, seen[step.name]++}].*
        side = {.schedule = step.schedule_origin, .ns = static_cast<double>((*step_ns)[i])};
  }
  return absl::OkStatus();
}

using StepRow = std::pair<std::string, std::pair<StepSide, StepSide>>;

// What differs most comes first.
absl::StatusOr<std::vector<StepRow>> StepRows(Session& first, Session& second) {
  StepPairs pairs;
  RETURN_IF_ERROR(AddSteps(first, &std::pair<StepSide, StepSide>::first, pairs));
  RETURN_IF_ERROR(AddSteps(second, &std::pair<StepSide, StepSide>::second, pairs));
  std::vector<StepRow> rows;
  for (const auto& [key, sides] : pairs) rows.emplace_back(key.first, sides);
  const auto key = [](const StepRow& row) {
    return std::pair(-std::abs(row.second.first.ns - row.second.second.ns), row.first);
  };
  std::sort(rows.begin(), rows.end(),
            [&key](const StepRow& a, const StepRow& b) { return key(a) < key(b); });
  return rows;
}

std::string NsOrNone(double ns) { return ns > 0 ? FormatNs(ns) : "-"; }
std::string RatioOrNone(double first, double second) {
  return first > 0 && second > 0 ? absl::StrFormat("%.3f", first / second) : "-";
}
Json NumberOrNull(double number) { return number > 0 ? Json(number) : Json(); }

std::string StepText(const std::vector<StepRow>& rows, int columns) {
  TextTable table({{"step"},
                   {"first", TextTable::kRight},
                   {"second", TextTable::kRight},
                   {"ratio", TextTable::kRight},
                   {"schedule"},
                   {"second's"}});
  for (const auto& [name, sides] : rows) {
    const auto& [first, second] = sides;
    table.AddRow({name, NsOrNone(first.ns), NsOrNone(second.ns), RatioOrNone(first.ns, second.ns),
                  first.schedule, second.schedule});
  }
  return table.ToText(columns);
}

Json StepJson(const std::vector<StepRow>& rows) {
  const auto side = [](const StepSide& step) {
    if (step.schedule == "-") return Json();
    return Json{{"schedule", step.schedule}, {"time_us", step.ns * 1e-3}};
  };
  Json steps = Json::array();
  for (const auto& [name, sides] : rows) {
    steps.push_back({{"name", name}, {"first", side(sides.first)}, {"second", side(sides.second)}});
  }
  return steps;
}

// The same tensors by name, type and shape, in the same order.
absl::Status CheckSameTensors(const std::vector<ModelTensor>& first,
                              const std::vector<ModelTensor>& second, const std::string& where) {
  if (TensorList(first) == TensorList(second)) return absl::OkStatus();
  return MakeError(
      ErrorCode::kTensorMismatch,
      absl::StrCat("the first has ", TensorList(first), ", the second ", TensorList(second)), where,
      "compare bundles of one model");
}

// The same but for shapes.
absl::Status CheckSameNames(const std::vector<ModelTensor>& first,
                            const std::vector<ModelTensor>& second, const std::string& where) {
  const bool same =
      std::equal(first.begin(), first.end(), second.begin(), second.end(),
                 [](const ModelTensor& a, const ModelTensor& b) {
                   return a.tensor.name == b.tensor.name && a.tensor.type == b.tensor.type;
                 });
  return same ? absl::OkStatus() : CheckSameTensors(first, second, where);
}

// ---- Studies

Json SideJson(const StudyPair::Side& side) {
  return {{"best_ms", NumberOrNull(static_cast<double>(side.best_ns) * 1e-6)},
          {"trials", side.trial_count},
          {"trials_to_reach", side.reached_at > 0 ? Json(side.reached_at) : Json()}};
}

Json StudiesJson(const StudyPair& pair) {
  Json tasks = Json::array();
  for (const StudyPair::Task& task : pair.tasks) {
    const bool both = task.first.best_ns > 0 && task.second.best_ns > 0;
    tasks.push_back({{"name", task.name},
                     {"weight", task.weight},
                     {"ratio", both ? Json(static_cast<double>(task.first.best_ns) /
                                           static_cast<double>(task.second.best_ns))
                                    : Json()},
                     {"first", SideJson(task.first)},
                     {"second", SideJson(task.second)}});
  }
  const bool both = pair.first_ns > 0 && pair.second_ns > 0;
  return {
      {"schema", 1},
      {"first", {{"study", pair.first_id}, {"model_ms", NumberOrNull(pair.first_ns * 1e-6)}}},
      {"second", {{"study", pair.second_id}, {"model_ms", NumberOrNull(pair.second_ns * 1e-6)}}},
      {"ratio", both ? Json(pair.first_ns / pair.second_ns) : Json()},
      {"tasks", tasks}};
}

std::string StudiesText(const StudyPair& pair, int columns) {
  TextTable table({{"task"},
                   {"first", TextTable::kRight},
                   {"second", TextTable::kRight},
                   {"ratio", TextTable::kRight},
                   {"trials", TextTable::kRight},
                   {"second's", TextTable::kRight},
                   {"reached at", TextTable::kRight},
                   {"second's", TextTable::kRight}});
  const auto reached = [](const StudyPair::Side& side) {
    return side.reached_at > 0 ? absl::StrCat(side.reached_at) : "-";
  };
  for (const StudyPair::Task& task : pair.tasks) {
    const auto first_ns = static_cast<double>(task.first.best_ns);
    const auto second_ns = static_cast<double>(task.second.best_ns);
    table.AddRow({task.name, NsOrNone(first_ns), NsOrNone(second_ns),
                  RatioOrNone(first_ns, second_ns), absl::StrCat(task.first.trial_count),
                  absl::StrCat(task.second.trial_count), reached(task.first),
                  reached(task.second)});
  }
  table.AddRow({"model", NsOrNone(pair.first_ns), NsOrNone(pair.second_ns),
                RatioOrNone(pair.first_ns, pair.second_ns), "", "", "", ""});
  return absl::StrCat("first ", pair.first_id, ", second ", pair.second_id, "\n",
                      table.ToText(columns));
}

class CompareCommand : public Command {
 public:
  std::string name() const override { return "compare"; }
  std::string summary() const override { return "times two bundles in turn, or compares studies"; }
  std::string example() const override {
    return "tuner compare before.bundle after.bundle\ntuner compare STUDY STUDY";
  }
  void AddOptions(CommandOptions& options) override {
    options.Positional("A|STUDY", &first_, true,
                       "a bundle, or a study's id or the beginning of it");
    options.Positional("B|STUDY", &second_, true, "another one");
    options.Value("--threads", "N", &flags_.threads, 0, 1024,
                  "of bundles; 0: as many as A was tuned for");
    AddCpusFlag(options, &flags_.cpus);
    options.Value("--seconds", "S", &seconds_, 0.01, 3600.0, "how long to run bundles");
    options.Value("--rounds", "N", &rounds_, 1, 1000, "turns of each bundle");
    options.Values("--input", "NAME=FILE", &inputs_, "an input's values; else random ones");
    AddSizeFlag(options, &sizes_);
    options.Setting("db");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    return IsFile(first_) || IsFile(second_) ? RunOnBundles(context) : RunOnStudies(context);
  }

 private:
  absl::Status RunOnBundles(Context& context) {
    ASSIGN_OR_RETURN(SessionOptions options, flags_.Take());
    ASSIGN_OR_RETURN(const auto first, OpenBundle(first_, options));
    options.threads = first->pool()->thread_count();
    ASSIGN_OR_RETURN(const auto second, OpenBundle(second_, options));
    // Where a run decides about sizes, shapes are compared as the inputs have them.
    if (first->manifest().run_sizes.inputs.empty() && second->manifest().run_sizes.inputs.empty()) {
      RETURN_IF_ERROR(
          CheckSameTensors(first->manifest().inputs, second->manifest().inputs, second_));
      RETURN_IF_ERROR(
          CheckSameTensors(first->manifest().outputs, second->manifest().outputs, second_));
    }
    RETURN_IF_ERROR(CheckSameNames(first->manifest().inputs, second->manifest().inputs, second_));
    RETURN_IF_ERROR(CheckSameNames(first->manifest().outputs, second->manifest().outputs, second_));
    ASSIGN_OR_RETURN(const std::vector<NpyArray> inputs,
                     GivenOrRandomInputs(first->manifest(), {.files = inputs_, .sizes = sizes_}));
    RETURN_IF_ERROR(SetInputs(*first, inputs));
    RETURN_IF_ERROR(SetInputs(*second, inputs));
    RETURN_IF_ERROR(WithError(ToStatus(second->Run()), ErrorCode::kRunFailed, second_));
    Opponent other{.name = second_,
                   .turn = [&second](absl::Duration d) { return SessionTurn(*second, d); }};
    for (size_t i = 0; i < second->manifest().outputs.size(); ++i) {
      ASSIGN_OR_RETURN(NpyArray output, GetOutput(*second, i));
      other.outputs.push_back(std::move(output));
    }
    ASSIGN_OR_RETURN(const TurnsReport report,
                     ReportTurns(*first, first_, other, seconds_, static_cast<int>(rounds_)));
    ASSIGN_OR_RETURN(const std::vector<StepRow> rows, StepRows(*first, *second));
    Json json = report.json;
    json["against"] = {
        {"engine", "burnish"}, {"bundle", second_}, {"median_ms", report.times.second_ns * 1e-6}};
    json["steps"] = StepJson(rows);
    context.out() << (context.json() ? json.dump() + "\n"
                                     : absl::StrCat(report.text, "\n",
                                                    StepText(rows, context.table_columns())));
    if (!report.warning.empty()) context.Note(report.warning);
    return absl::OkStatus();
  }

  absl::Status RunOnStudies(Context& context) {
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase(DatabaseAccess::kRead));
    ASSIGN_OR_RETURN(const StudyPair pair, CompareStudies(database, first_, second_));
    context.out() << (context.json() ? StudiesJson(pair).dump() + "\n"
                                     : StudiesText(pair, context.table_columns()));
    return absl::OkStatus();
  }

  std::string first_, second_;
  std::vector<std::string> inputs_, sizes_;
  RunFlags flags_;
  int64_t rounds_ = kRoundsDefault;
  double seconds_ = 2;
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace burnish
