#include "tuner/cli/engine_peer.h"

#include <signal.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/self_path.h"
#include "base/status_macros.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

// A large model's optimization takes minutes; more than this is a process that hangs.
constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr size_t kTensorBytesMax = size_t{1} << 30;  // Of an output.

// For people. What pip calls it is the option itself.
std::string NameOf(const std::string& engine) {
  if (engine == "onnxruntime") return "ONNX Runtime";
  return engine == "openvino" ? "OpenVINO" : "PyTorch";
}

std::vector<std::string> Names(const std::vector<ModelTensor>& tensors) {
  std::vector<std::string> names;
  for (const ModelTensor& tensor : tensors) names.push_back(tensor.tensor.name);
  return names;
}

std::string InstallHint(const EngineOptions& options) {
  return absl::StrCat(options.python, " -m pip install ", options.engine,
                      "; or --python PROGRAM of one that has it");
}

// What the process says, or its error.
absl::StatusOr<Json> ParseAnswer(const std::string& frame, const EngineOptions& options) {
  const Json answer = Json::parse(frame, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object())
    return absl::InternalError(
        absl::StrCat(NameOf(options.engine), "'s process does not answer in JSON"));
  const auto text = [&answer](const char* key) {
    return answer.contains(key) && answer[key].is_string() ? answer[key].get<std::string>() : "";
  };
  const std::string error = text("error"), message = text("message");
  if (error == "missing") {
    return MakeError(ErrorCode::kUnavailable,
                     absl::StrCat("no ", NameOf(options.engine), ": ", message), options.python,
                     InstallHint(options));
  }
  if (!error.empty()) {
    return MakeError(error == "inputs" ? ErrorCode::kTensorMismatch : ErrorCode::kBadModel,
                     absl::StrCat(NameOf(options.engine), ": ", message), options.model,
                     "name the model that the bundle was compiled from, with its shapes");
  }
  return answer;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EnginePeer>> EnginePeer::Start(const EngineOptions& options,
                                                              const BundleManifest& manifest,
                                                              std::vector<NpyArray> inputs) {
  const absl::StatusOr<std::string> script = FindProgram("tuner/cli/engine_peer");
  if (!script.ok()) return WithError(script.status(), ErrorCode::kProgramMissing);
  std::unique_ptr<EnginePeer> peer(new EnginePeer(options));
  // `env` looks the Python up in PATH. NumPy's own threads have nothing to do here.
  ASSIGN_OR_RETURN(peer->child_, Child::Start({.program = "/usr/bin/env",
                                               .args = {options.python, *script},
                                               .extra_env = {"OPENBLAS_NUM_THREADS=1"}}));
  const absl::Status status = peer->Prepare(manifest, inputs);
  if (!status.ok()) return peer->Ended(status);
  peer->child_->Kill(SIGSTOP);
  return peer;
}

absl::Status EnginePeer::Prepare(const BundleManifest& manifest,
                                 const std::vector<NpyArray>& inputs) {
  const Json job = {{"engine", options_.engine},          {"model", options_.model},
                    {"threads", options_.threads},        {"inputs", Names(manifest.inputs)},
                    {"outputs", Names(manifest.outputs)}, {"fixed", options_.fixed}};
  RETURN_IF_ERROR(Send(job.dump(-1, ' ', false, Json::error_handler_t::replace)));
  for (const NpyArray& input : inputs) RETURN_IF_ERROR(Send(SerializeNpy(input)));
  ASSIGN_OR_RETURN(const std::string frame, Receive());
  ASSIGN_OR_RETURN(const Json about, ParseAnswer(frame, options_));
  if (!about.contains("version") || !about["version"].is_string()) {
    return absl::InternalError(absl::StrCat(name(), "'s process does not say its version"));
  }
  version_ = about["version"].get<std::string>();
  for (size_t i = 0; i < manifest.outputs.size(); ++i) {
    ASSIGN_OR_RETURN(const std::string file, Receive());
    ASSIGN_OR_RETURN(NpyArray output, ParseNpy(file));
    outputs_.push_back(std::move(output));
  }
  return absl::OkStatus();
}

std::string EnginePeer::name() const { return NameOf(options_.engine); }

absl::StatusOr<double> EnginePeer::Turn(absl::Duration duration) {
  child_->Kill(SIGCONT);
  const auto take = [&]() -> absl::StatusOr<double> {
    RETURN_IF_ERROR(Send(absl::StrCat(absl::ToDoubleSeconds(duration))));
    ASSIGN_OR_RETURN(const std::string frame, Receive());
    ASSIGN_OR_RETURN(const Json answer, ParseAnswer(frame, options_));
    const auto median = answer.find("median_ns");
    if (median == answer.end() || !median->is_number() || !(median->get<double>() > 0)) {
      return absl::InternalError(absl::StrCat(name(), "'s process does not say a time"));
    }
    return median->get<double>();
  };
  const absl::StatusOr<double> median_ns = take();
  if (!median_ns.ok()) return Ended(median_ns.status());
  child_->Kill(SIGSTOP);
  return median_ns;
}

absl::Status EnginePeer::Send(const std::string& frame) {
  return child_->WriteFrame(frame, kPatience);
}

absl::StatusOr<std::string> EnginePeer::Receive() {
  return child_->ReadFrame(kPatience, kTensorBytesMax);
}

// Where the process has ended, how: without that Python, of a crash, of too much memory.
absl::Status EnginePeer::Ended(const absl::Status& status) {
  if (!absl::IsUnavailable(status) || PartsOf(status).code.has_value()) return status;
  const absl::StatusOr<ExitInfo> exit = child_->Wait(absl::Seconds(10));
  return MakeError(ErrorCode::kUnavailable,
                   absl::StrCat(name(), "'s process has ended: ",
                                exit.ok() ? Describe(*exit) : std::string(status.message())),
                   options_.python, InstallHint(options_));
}

}  // namespace burnish
