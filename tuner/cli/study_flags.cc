#include "tuner/cli/study_flags.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "compiler/frontend/zoo.h"
#include "tuner/app/error.h"
#include "tuner/app/model_source.h"
#include "tuner/app/precision.h"
#include "tuner/app/study_spec.h"
#include "tuner/cli/build_report.h"
#include "tuner/study/search_preset.h"

namespace burnish {
namespace {

constexpr absl::Duration kTimeMax = absl::Hours(24 * 365);

// "0.5%" or "0.005".
absl::StatusOr<double> ParseShare(absl::string_view text) {
  absl::string_view number = text;
  const bool percent = absl::ConsumeSuffix(&number, "%");
  double value = 0;
  if (!absl::SimpleAtod(number, &value) || !(value >= 0)) {
    return MakeError(ErrorCode::kUsage, absl::StrCat("got --until-gain ", text), "--until-gain",
                     "0.5% or 0.005");
  }
  if (percent) value /= 100;
  if (value > 1) {
    return MakeError(ErrorCode::kUsage, absl::StrCat("got --until-gain ", text, ", above 100 %"),
                     "--until-gain", "0.5% or 0.005");
  }
  return value;
}

}  // namespace

absl::Status CheckModelFlags(const std::string& task, const std::string& model,
                             const std::string& command) {
  if (task.empty() != model.empty()) return absl::OkStatus();
  return MakeError(ErrorCode::kUsage, "give either --task or --model", command,
                   absl::StrCat(command, " --task resnet50, or --model FILE.onnx"));
}

void InputFlags::Add(CommandOptions& options) {
  options.Values("--shape", "NAME=1x3x224x224", &shapes, "an input's shape");
  options.Values("--value", "NAME=16000", &values, "fixes an input: a number, or a list 1,2,3");
  options.Values("--dim", "NAME=1..512", &dims,
                 "sizes that each run chooses of, of a dimension that the model names");
}

absl::StatusOr<std::map<std::string, std::string>> InputFlags::Parse() const {
  std::map<std::string, std::string> inputs;
  const auto add = [&](const std::string& flag, const char* name, const char* mark,
                       const char* example) -> absl::Status {
    const size_t equals = flag.rfind('=');
    const std::string input = flag.substr(0, equals);
    if (equals == std::string::npos || input.empty()) {
      return MakeError(ErrorCode::kUsage, absl::StrCat("got ", name, " ", flag), name,
                       absl::StrCat(name, " NAME=", example));
    }
    if (inputs.emplace(input, absl::StrCat(mark, flag.substr(equals + 1))).second) {
      return absl::OkStatus();
    }
    return MakeError(ErrorCode::kUsage, absl::StrCat("got two shapes or values of input ", input),
                     name, "one --shape or one --value an input");
  };
  for (const std::string& flag : shapes) {
    RETURN_IF_ERROR(add(flag, "--shape", "", "1x3x224x224"));
  }
  for (const std::string& flag : values) RETURN_IF_ERROR(add(flag, "--value", "=", "16000"));
  for (const std::string& flag : dims) {
    for (const absl::string_view each : absl::StrSplit(flag, ',')) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(each, absl::MaxSplits('=', 1));
      const auto& [name, text] = parts;
      if (name.empty() || text.empty()) {
        return MakeError(ErrorCode::kUsage, absl::StrCat("got --dim ", each), "--dim",
                         "--dim seq=1..512,batch=1..8");
      }
      if (inputs.emplace(absl::StrCat(":", name), text).second) continue;
      return MakeError(ErrorCode::kUsage, absl::StrCat("got dimension ", name, " twice"), "--dim",
                       "one range a dimension");
    }
  }
  RETURN_IF_ERROR(CheckShapes(inputs));
  return inputs;
}

void StudyFlags::AddOptions(CommandOptions& options) {
  options.Group("What to tune");
  options.Value("--task", "NAME|SPEC", &task,
                "bert_base, mobilenet_v2, resnet18, resnet50, vgg16, or one operator: "
                "conv2d:h=56,ci=64,co=64,k=3,p=1");
  options.Suggest("--task", ZooModelNames());
  options.Value("--model", "FILE", &model, "an ONNX file, or one of torch.export (.pt2)");
  inputs.Add(options);
  options.Value("--batch", "N", &batch, 1, 65536, "of the zoo's models");
  options.OnlyWith("--batch", {"--task"});
  options.Group("How long");
  options.Value("--trials", "N", &trials, -1, 1'000'000'000,
                "candidates to measure; 0: default schedules, -1: until the gain is small");
  options.Value("--time", "10m", &time, "time to tune for at most");
  options.Value("--until-gain", "0.5%", &until_gain, "with --trials -1: stop below this gain");
  options.Value("--early-stopping", "N", &early_stopping, 0, 1'000'000,
                "trials of a task without gain, then it is done; 0: off");
  std::vector<std::string> presets;
  for (const SearchPreset& preset : SearchPresets()) presets.push_back(preset.name);
  options.Group("How to search");
  options.Choice("--scheduler", &scheduler, presets,
                 "preset of rules and search: docs/cli.md; default: no tuning");
  options.Choice("--strategy", &strategy, {"bayesian", "evolutionary", "random"},
                 "how candidates are found");
  options.Choice("--task-scheduler", &task_scheduler, {"gradient", "round-robin"},
                 "which task is next");
  options.Choice("--cost-model", &cost_model, {"xgboost", "analytic", "random"},
                 "what candidates are chosen by; xgboost: a Gaussian process, and in spaces above "
                 "512 points boosted trees before it");
  options.Choice("--refine", &refine, {"on", "off"}, "measure the best few again inside the model");
  options.Flag("--no-default", &no_default, "withhold default schedules from the search");
  options.Flag("--deterministic", &deterministic, "the same candidates on any number of threads");
  options.Group("How exact");
  options.Value(
      "--accuracy", "E", &accuracy,
      "error of the whole model at most, or strict; else 1e-4, and 2e-2 with --precision");
  options.Choice("--precision", &precision, Precisions(), kPrecisionHelp);
  options.Value("--data", "DIR", &data, kDataHelp);
  options.Value("--opt-level", "N", &opt_level, 0, 3,
                "0: no fusion, 1: fusion, 2: layout, 3: rounding may change");
  options.Group("How to search");
  options.Value("--seed", "N", &seed, 0, INT64_MAX, "of every random choice");
  options.Group("Where");
  options.Value("--priority", "N", &priority, -1000, 1000, "higher goes first on a shared farm");
  options.Value("--threads", "N", &threads, 0, 1024, "0: those of the target");
  options.Group("Output");
  options.Value("--out", "FILE", &out, "the bundle; without it none is built");
  options.OnlyWith("--until-gain", {"--trials=-1"});
  // Chance asks nobody; that model saves the training.
  options.OnlyWith("--cost-model", {"--strategy!=random", "--cost-model=random"});
  for (const char* of_search : {"--trials", "--time", "--until-gain", "--early-stopping", "--seed",
                                "--strategy", "--task-scheduler", "--cost-model", "--refine",
                                "--no-default", "--deterministic", "--priority"}) {
    options.OnlyWith(of_search, {"--scheduler!=default"});
    // Default schedules are built, and nothing is searched.
    if (absl::string_view(of_search) != "--trials") options.OnlyWith(of_search, {"--trials!=0"});
  }
}

absl::StatusOr<StudySpec> StudyFlags::ToSpec(const Target& target) const {
  RETURN_IF_ERROR(CheckModelFlags(task, model, "tuner submit"));
  StudySpec spec{.task = task,
                 .model_path = model,
                 .target = target.ToText(),
                 .trials_max = trials,
                 .early_stopping_trials = static_cast<int32_t>(early_stopping),
                 .batch = static_cast<int32_t>(batch),
                 .scheduler = scheduler,
                 .strategy = strategy,
                 .task_scheduler = task_scheduler,
                 .cost_model = cost_model,
                 .no_default = no_default,
                 .deterministic = deterministic,
                 .opt_level = static_cast<int32_t>(opt_level),
                 .seed = static_cast<uint64_t>(seed),
                 .out_path = out,
                 .priority = static_cast<int32_t>(priority),
                 .no_refine = refine == "off",
                 .precision = precision,
                 .data_path = data};
  if (!time.empty()) {
    absl::Duration limit;
    if (!absl::ParseDuration(time, &limit) || limit <= absl::ZeroDuration() || limit > kTimeMax) {
      return MakeError(ErrorCode::kUsage, absl::StrCat("got --time ", time), "--time",
                       "90s, 10m or 2h");
    }
    spec.time_max_ns = absl::ToInt64Nanoseconds(limit);
  }
  ASSIGN_OR_RETURN(spec.gain_min, ParseShare(until_gain));
  ASSIGN_OR_RETURN(const SelectOptions select, ParseAccuracy(accuracy, precision));
  spec.error_max = select.error_budget;
  spec.strict = select.strict;
  ASSIGN_OR_RETURN(spec.shapes, inputs.Parse());
  return CompleteStudySpec(std::move(spec));
}

}  // namespace burnish
