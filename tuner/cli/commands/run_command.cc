// tuner run: a bundle on NumPy files.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "tuner/app/bundle_session.h"
#include "tuner/app/compare_arrays.h"
#include "tuner/app/error.h"
#include "tuner/app/npy.h"
#include "tuner/app/tensor_array.h"
#include "tuner/app/value_text.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"
#include "tuner/cli/run_flags.h"
#include "tuner/cli/tensor_files.h"

namespace burnish {
namespace {

// Greatest sizes of a list of steps, by name.
nlohmann::ordered_json BoundJson(const RunSizes& sizes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  const std::vector<bool> is_given = sizes.GivenSizes();
  for (size_t i = 0; i < is_given.size(); ++i) {
    if (is_given[i]) json[sizes.sizes[i].name] = sizes.sizes[i].greatest;
  }
  return json;
}

std::string BoundText(const RunSizes& sizes) {
  std::string text;
  const std::vector<bool> is_given = sizes.GivenSizes();
  for (size_t i = 0; i < is_given.size(); ++i) {
    if (!is_given[i]) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", sizes.sizes[i].name, " ",
                    sizes.sizes[i].greatest);
  }
  return text;
}

using Json = nlohmann::ordered_json;

Json TensorJson(const TensorInfo& tensor) {
  return {{"name", tensor.name}, {"type", ElementTypeName(tensor.type)}, {"shape", tensor.shape}};
}

// What step `i` runs in.
const char* TypeOfStep(const BundleManifest& manifest, size_t i) {
  const std::vector<ElementType>& types = manifest.notes.step_types;
  return ElementTypeName(types.empty() ? ElementType::kF32 : types[i]);
}

Json NotesJson(const BundleManifest& manifest) {
  Json steps = Json::array();
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    steps.push_back({{"name", manifest.steps[i].name}, {"type", TypeOfStep(manifest, i)}});
  }
  const NumberNotes& notes = manifest.notes;
  const bool is_measured = notes.error != NumberNotes::kNotMeasured;
  return {{"steps", std::move(steps)},
          {"measured_error", is_measured ? Json(notes.error) : Json(nullptr)},
          {"measured_on", is_measured ? Json(notes.measured_on) : Json(nullptr)}};
}

// How many steps run in what, and which those are that few others run in.
std::string NotesText(const BundleManifest& manifest) {
  constexpr size_t kNamesMax = 10;
  std::map<std::string, std::vector<std::string>> steps;
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    steps[TypeOfStep(manifest, i)].push_back(manifest.steps[i].name);
  }
  std::string text;
  for (const auto& [type, names] : steps) {
    absl::StrAppend(&text, "steps    ", names.size(), " in ", type);
    if (steps.size() > 1 && names.size() <= kNamesMax) {
      absl::StrAppend(&text, ": ", absl::StrJoin(names, ", "));
    }
    text += "\n";
  }
  if (manifest.notes.error != NumberNotes::kNotMeasured) {
    absl::StrAppendFormat(&text, "error    %.1e of the largest output, against f32 on %s\n",
                          manifest.notes.error, manifest.notes.measured_on);
  }
  return text;
}

class RunCommand : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string summary() const override { return "runs a bundle on NumPy files"; }
  std::string example() const override {
    return "tuner run resnet50.bundle --input input=image.npy --output output=scores.npy\n"
           "tuner run resnet50.bundle --input image.npy --compare expected.npy --tolerance 1e-4\n"
           "tuner run resnet50.bundle --info";
  }
  void AddOptions(CommandOptions& options) override {
    options.Positional("FILE", &file_, true, "the bundle");
    options.Group("Inputs and outputs");
    options.Values("--input", "NAME=FILE", &inputs_,
                   "an input's values; NAME= may be left out where there is only one");
    options.Values("--output", "NAME=FILE", &outputs_, "where an output is written");
    options.Values("--value", "NAME=16000", &values_, "an input's values: a number, or 1,2,3");
    options.Group("How to run");
    flags_.Add(options);
    options.Group("Inputs and outputs");
    options.Values("--compare", "NAME=FILE", &references_,
                   "what an output should be; exit code 65 where one is not, B0407");
    options.Value("--tolerance", "T", &tolerance_, 0.0, 1e9,
                  "of --compare: max |got - want| / max |want|; integers must be equal");
    options.OnlyWith("--tolerance", {"--compare"});
    options.Group("Output");
    options.Flag("--info", &info_, "only list inputs and outputs");
    options.Json();
    options.Quiet();
  }

  absl::Status Run(Context& context) override {
    if (info_) return PrintInfo(context);
    ASSIGN_OR_RETURN(const SessionOptions session_options, flags_.Take());
    ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, OpenBundle(file_, session_options));
    const BundleManifest& manifest = session->manifest();
    ASSIGN_OR_RETURN(const auto inputs, AssignTensors(inputs_, manifest.inputs, "--input"));
    ASSIGN_OR_RETURN(const auto outputs, AssignTensors(outputs_, manifest.outputs, "--output"));
    ASSIGN_OR_RETURN(const auto references,
                     AssignTensors(references_, manifest.outputs, "--compare"));
    ASSIGN_OR_RETURN(const GivenValues values,
                     ParseValues(values_, manifest, /*may_be_others=*/false));
    for (size_t i = 0; i < manifest.inputs.size(); ++i) {
      const bool has_default = DefaultOf(manifest.input_defaults, i) != nullptr;
      if (!has_default && !inputs.contains(i) && !values.inputs.contains(i)) {
        return MakeError(
            ErrorCode::kUsage, absl::StrCat("no values for input ", manifest.inputs[i].tensor.name),
            file_, absl::StrCat("--input ", manifest.inputs[i].tensor.name, "=FILE.npy"));
      }
    }
    ASSIGN_OR_RETURN(const std::vector<NpyArray> arrays,
                     GivenOrRandomInputs(manifest, {.files = inputs_, .values = values}));
    RETURN_IF_ERROR(SetInputs(*session, arrays));
    const absl::Time start = context.clock().SteadyNow();
    RETURN_IF_ERROR(RunError(ToStatus(session->Run()), file_));
    const double latency_ns = absl::ToDoubleNanoseconds(context.clock().SteadyNow() - start);
    Report report{{{"schema", 1}, {"latency_ms", latency_ns * 1e-6}}, "", absl::OkStatus()};
    RETURN_IF_ERROR(WriteOutputs(*session, outputs, report));
    RETURN_IF_ERROR(CompareOutputs(*session, references, report));
    context.out() << (context.json() ? report.json.dump() + "\n" : report.text);
    if (!context.json()) {
      context.Note(
          absl::StrCat("one run, the first: ", FormatNs(latency_ns), "; `tuner bench` times it"));
    }
    return report.verdict;
  }

 private:
  absl::Status PrintInfo(Context& context) {
    ASSIGN_OR_RETURN(const BundleManifest manifest, ReadBundleManifest(file_));
    ASSIGN_OR_RETURN(const std::vector<RunSizes> bounds, ReadBundleBounds(file_));
    if (context.json()) {
      Json json = {{"schema", 1},
                   {"model", manifest.model_name},
                   {"target", manifest.target},
                   {"threads", manifest.thread_count},
                   {"inputs", Json::array()},
                   {"outputs", Json::array()}};
      for (size_t i = 0; i < manifest.inputs.size(); ++i) {
        Json& input = json["inputs"].emplace_back(TensorJson(manifest.inputs[i].tensor));
        if (DefaultOf(manifest.input_defaults, i) != nullptr) input["has_default"] = true;
      }
      for (const ModelTensor& output : manifest.outputs) {
        json["outputs"].push_back(TensorJson(output.tensor));
      }
      const std::vector<bool> is_given = manifest.run_sizes.GivenSizes();
      for (size_t i = 0; i < is_given.size(); ++i) {
        const RunSize& size = manifest.run_sizes.sizes[i];
        if (!is_given[i]) continue;
        json["sizes"].push_back(
            {{"name", size.name}, {"least", size.least}, {"greatest", size.greatest}});
      }
      for (const RunSizes& bound : bounds) json["bounds"].push_back(BoundJson(bound));
      json.update(NotesJson(manifest));
      context.out() << json.dump() << "\n";
      return absl::OkStatus();
    }
    context.out() << "model    " << manifest.model_name << "\ntarget   " << manifest.target
                  << "\ninputs   " << TensorList(manifest.inputs) << "\noutputs  "
                  << TensorList(manifest.outputs) << "\n";
    for (const InputDefault& value : manifest.input_defaults) {
      context.out() << "default  " << manifest.inputs[value.input].tensor.name << "\n";
    }
    const std::string sizes = SizeList(manifest);
    if (!sizes.empty()) context.out() << "sizes    " << sizes << "\n";
    for (const RunSizes& bound : bounds) {
      context.out() << "bound    " << BoundText(bound) << "\n";
    }
    context.out() << NotesText(manifest);
    return absl::OkStatus();
  }

  struct Report {
    Json json;
    std::string text;
    absl::Status verdict;  // B0407: an output is not what was expected.
  };

  static absl::Status WriteOutputs(Session& session, const std::map<size_t, std::string>& paths,
                                   Report& report) {
    Json& outputs = report.json["outputs"] = Json::array();
    for (size_t i = 0; i < session.manifest().outputs.size(); ++i) {
      const TensorInfo tensor = OutputOfRun(session, i);
      const auto path = paths.find(i);
      Json entry = TensorJson(tensor);
      if (path != paths.end()) {
        ASSIGN_OR_RETURN(const NpyArray array, GetOutput(session, i));
        RETURN_IF_ERROR(
            WithError(WriteNpyFile(path->second, array), ErrorCode::kOutputFile, path->second));
        entry["file"] = path->second;
      }
      outputs.push_back(entry);
      absl::StrAppend(&report.text, tensor.name, " ", DescribeTensor(tensor),
                      path != paths.end() ? absl::StrCat(" -> ", path->second) : "", "\n");
    }
    return absl::OkStatus();
  }

  absl::Status CompareOutputs(Session& session, const std::map<size_t, std::string>& paths,
                              Report& report) const {
    if (paths.empty()) return absl::OkStatus();
    Json& compared = report.json["compared"] = Json::array();
    for (const auto& [index, path] : paths) {
      const std::string& name = session.manifest().outputs[index].tensor.name;
      ASSIGN_OR_RETURN(const NpyArray want, ReadArray(path));
      ASSIGN_OR_RETURN(const NpyArray got, GetOutput(session, index));
      const absl::StatusOr<ArrayDifference> found = CompareArrays(got, want);
      if (!found.ok()) {
        return WithError(found.status(), ErrorCode::kTensorMismatch, path,
                         absl::StrCat("--compare wants an array like output ", name));
      }
      const bool equal = found->Within(tolerance_);
      compared.push_back({{"name", name},
                          {"equal", equal},
                          {"absolute_error", found->absolute},
                          {"relative_error", found->relative},
                          {"tolerance", tolerance_},
                          {"at", found->at},
                          {"got", found->got},
                          {"want", found->want}});
      const std::string text = absl::StrFormat(
          "%s: max error %.3g absolute, %.3g relative, at %s: got %.9g, want %.9g", name,
          found->absolute, found->relative, FormatShape(found->at), found->got, found->want);
      absl::StrAppend(&report.text, text, equal ? "" : "  DIFFERS", "\n");
      if (!equal && report.verdict.ok()) {
        const std::string limit = found->exact ? "equal integers" : absl::StrCat(tolerance_);
        report.verdict =
            MakeError(ErrorCode::kOutputDiffers, absl::StrCat(text, ", tolerance ", limit), path);
      }
    }
    return absl::OkStatus();
  }

  std::string file_;
  std::vector<std::string> inputs_, values_, outputs_, references_;
  double tolerance_ = 1e-4;  // As candidates are compared (docs/contracts.md).
  RunFlags flags_;
  bool info_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace burnish
