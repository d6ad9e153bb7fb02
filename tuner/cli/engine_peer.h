// Another engine with a model, in a Python process of the user's that takes turns with this one.
#ifndef TUNER_CLI_ENGINE_PEER_H_
#define TUNER_CLI_ENGINE_PEER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "compiler/runtime/bundle_manifest.h"
#include "tuner/app/npy.h"

namespace burnish {

struct EngineOptions {
  std::string engine;  // "onnxruntime", "openvino" or "torch".
  std::string python;  // A path, or a name that is looked up in PATH.
  std::string model;   // An ONNX file; of torch a file of torch.export, whose code that runs.
  int threads = 1;
  // Inputs that the bundle has fixed: a number or a list 1,2,3 by name.
  std::map<std::string, std::string> fixed = {};
};

// On the CPUs of this process. Outside of its turns the process is stopped, so that its threads,
// which spin while they wait, take nothing from whoever is timed meanwhile.
class EnginePeer {
 public:
  // `inputs` as in the manifest, whose names the model must have. Runs once. Errors: B0906, with
  // what to install, where that Python has no such engine; B0301 and B0404 for its model.
  static absl::StatusOr<std::unique_ptr<EnginePeer>> Start(const EngineOptions& options,
                                                           const BundleManifest& manifest,
                                                           std::vector<NpyArray> inputs);

  std::string name() const;  // For people.
  const std::string& version() const { return version_; }
  // Of the first run, in the manifest's order.
  const std::vector<NpyArray>& outputs() const { return outputs_; }

  // As SessionTurn.
  absl::StatusOr<double> Turn(absl::Duration duration);

 private:
  explicit EnginePeer(EngineOptions options) : options_(std::move(options)) {}
  absl::Status Prepare(const BundleManifest& manifest, const std::vector<NpyArray>& inputs);
  absl::Status Send(const std::string& frame);
  absl::StatusOr<std::string> Receive();
  absl::Status Ended(const absl::Status& status);

  const EngineOptions options_;
  std::unique_ptr<Child> child_;
  std::string version_;
  std::vector<NpyArray> outputs_;
};

}  // namespace burnish

#endif  // TUNER_CLI_ENGINE_PEER_H_
