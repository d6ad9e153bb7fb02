// tuner quantize: a float model as a quantized ONNX file, by ranges on examples.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cpu_info.h"
#include "base/status_macros.h"
#include "compiler/frontend/zoo.h"
#include "compiler/target/target.h"
#include "tuner/app/built_graph.h"
#include "tuner/app/calibrate.h"
#include "tuner/app/compile_cache.h"
#include "tuner/app/error.h"
#include "tuner/app/example_data.h"
#include "tuner/app/model_source.h"
#include "tuner/app/output_errors.h"
#include "tuner/app/quantize_model.h"
#include "tuner/app/value_text.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/interrupt_watcher.h"
#include "tuner/cli/progress_line.h"
#include "tuner/cli/study_flags.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

std::string ProgressText(const ExampleProgress& progress) {
  const bool ranges = progress.stage == ExampleProgress::Stage::kRanges;
  return absl::StrCat(ranges ? "finding ranges: " : "measuring the error: ", progress.done, " of ",
                      progress.total, " runs");
}

class QuantizeCommand : public Command {
 public:
  std::string name() const override { return "quantize"; }
  std::string summary() const override { return "writes a float model as a quantized ONNX file"; }
  std::string example() const override {
    return "tuner quantize --model model.onnx --data examples --out model.int8.onnx\n"
           "tuner compile --model model.int8.onnx --out model.bundle";
  }
  void AddOptions(CommandOptions& options) override {
    options.Group("What to quantize");
    options.Value("--task", "NAME|SPEC", &request_.task, "as of tuner compile");
    options.Suggest("--task", ZooModelNames());
    options.Value("--model", "FILE", &request_.model, "an ONNX file");
    inputs_.Add(options);
    options.Value("--batch", "N", &request_.batch, 1, 65536, "of the zoo's models");
    options.Group("How");
    options.Value("--data", "DIR", &data_,
                  "examples of the inputs: DIR/INPUT.npy of many, or numbered files or folders");
    options.Choice("--method", &method_, {"minmax", "percentile", "weights"},
                   "how ranges of activations are found; weights: those are not quantized");
    options.Choice("--group", &group_, {"32", "64", "128"},
                   "of --method weights: rows of a matrix that share a scale in each column");
    options.Value("--percentile", "P", &percent_, 50.0, 100.0,
                  "of --method percentile: per cent of the values that are in the range");
    options.Value("--examples", "N", &examples_, kCalibrationExamplesMin, 1'000'000,
                  "examples at most, spread evenly over the data");
    options.OnlyWith("--batch", {"--task"});
    options.OnlyWith("--group", {"--method=weights"});
    options.OnlyWith("--percentile", {"--method=percentile"});
    options.OnlyWith("--examples", {"--data"});
    options.Group("Output");
    options.Value("--out", "FILE", &out_, "the quantized model");
    options.Group("Where");
    options.Value("--threads", "N", &threads_, 0, 1024, "0: those of this machine");
    options.Setting("cache");
    options.Group("Output");
    options.Json();
    options.Quiet();
  }

  absl::Status Run(Context& context) override {
    RETURN_IF_ERROR(CheckModelFlags(request_.task, request_.model, "tuner quantize"));
    if (out_.empty()) {
      return MakeError(ErrorCode::kUsage, "no --out", "tuner quantize", "--out MODEL.int8.onnx");
    }
    const bool only_weights = method_ == "weights";
    if (data_.empty() && !only_weights) {
      return MakeError(ErrorCode::kUsage, "no --data", "tuner quantize",
                       "--data DIR, a folder with some hundred examples of the model's inputs");
    }
    InterruptWatcher interrupts;
    ASSIGN_OR_RETURN(request_.shapes, inputs_.Parse());
    ASSIGN_OR_RETURN(Graph graph, LoadModel(request_));
    const std::string what = request_.task.empty() ? request_.model : request_.task;
    ASSIGN_OR_RETURN(const Target target, HostTarget(HostCpuInfo(), static_cast<int>(threads_)));
    std::optional<ExampleData> data;
    if (!data_.empty()) {
      ASSIGN_OR_RETURN(data, ExampleData::Open(data_, InputTensors(graph),
                                               only_weights ? 1 : kCalibrationExamplesMin));
    }
    const CompileCache cache(context.CacheFolder());
    ProgressLine line(context);
    CalibrationOptions options{
        .build = {.target = target, .facts = {.cache = &cache}},
        .method = method_ == "percentile" ? RangeMethod::kPercentile : RangeMethod::kMinMax,
        .percent = percent_,
        .examples_max = examples_,
        .progress = [&line](const ExampleProgress& now) { line.Show(ProgressText(now)); },
        .interrupted = [&interrupts] { return interrupts.interrupted(); }};
    line.Show("building the model");
    ASSIGN_OR_RETURN(const QuantizedModel model,
                     only_weights
                         ? QuantizeModelWeights(std::move(graph), std::stoll(group_),
                                                data.has_value() ? &*data : nullptr, options, what)
                         : QuantizeModel(std::move(graph), *data, options, what));
    line.Clear();
    ASSIGN_OR_RETURN(const int64_t bytes, WriteOnnxModel(model.graph, out_, what));
    Report(context, model, bytes);
    return absl::OkStatus();
  }

 private:
  void Report(Context& context, const QuantizedModel& model, int64_t bytes) const {
    if (context.json()) {
      Json json = {{"schema", 1},
                   {"model", out_},
                   {"method", method_},
                   {"examples", model.example_count},
                   {"products", model.product_count},
                   {"float_products", model.float_product_count},
                   {"tensors", model.tensor_count},
                   {"weights", model.weight_count},
                   {"bytes", bytes},
                   {"errors", Json::array()}};
      for (const OutputError& output : model.errors) {
        json["errors"].push_back({{"output", output.name}, {"error", nullptr}});
        if (output.error.has_value()) json["errors"].back()["error"] = *output.error;
      }
      context.out() << json.dump() << "\n";
      return;
    }
    const bool only_weights = method_ == "weights";
    context.out() << "products    " << model.product_count
                  << (only_weights ? " by weights of 8 bits, " : " in integers, ")
                  << model.float_product_count << (only_weights ? " others\n" : " in floats\n");
    if (!only_weights) {
      context.out() << "tensors     " << model.tensor_count << " of 8 bits, ranges from "
                    << model.example_count << " examples\n";
    }
    context.out() << "weights     " << model.weight_count << " of 8 bits, file "
                  << FormatBytes(static_cast<double>(bytes)) << "\n";
    for (const OutputError& output : model.errors) {
      context.out() << "error       "
                    << (output.error.has_value()
                            ? absl::StrFormat("%.4f of the spread between examples", *output.error)
                            : std::string("none to tell: the same for all examples"))
                    << ", output " << output.name << "\n";
    }
    context.Note(
        absl::StrCat("wrote ", out_, "; `tuner compile --model ", out_, " --out FILE` builds it"));
  }

  ModelRequest request_;
  InputFlags inputs_;
  std::string data_, out_, method_ = "minmax", group_ = "64";
  double percent_ = 99.99;
  int64_t examples_ = 300, threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeQuantizeCommand() { return std::make_unique<QuantizeCommand>(); }

}  // namespace burnish
