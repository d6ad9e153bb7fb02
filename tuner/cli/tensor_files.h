// A bundle's inputs and outputs as arrays: from files that a user names, made up, or as they came
// out.
#ifndef TUNER_CLI_TENSOR_FILES_H_
#define TUNER_CLI_TENSOR_FILES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/session.h"
#include "tuner/app/npy.h"

namespace burnish {

// "image f32[1,3,224,224], mask f32[1,10]"
std::string TensorList(const std::vector<ModelTensor>& tensors);

// "NAME=PATH", or "PATH" where there is only one tensor. Returns paths by index. `flag`: for
// errors, B0405 and B0101.
absl::StatusOr<std::map<size_t, std::string>> AssignTensors(
    const std::vector<std::string>& arguments, const std::vector<ModelTensor>& tensors,
    absl::string_view flag);

// Error B0404: it has another type or shape. `is_open`: dimensions that may be any.
absl::StatusOr<NpyArray> ReadInput(const TensorInfo& want, const std::vector<bool>& is_open,
                                   const std::string& path);

// Inputs whose values stand in the command line.
struct GivenValues {
  std::map<size_t, NpyArray> inputs;
  std::map<std::string, std::string> others;  // Values by names that the bundle has not.
};

// "NAME=16000" or "NAME=1,2,3" each. Errors: B0405 a name that the bundle has not, unless they may
// be others, B0404 values that are not the input's, B0101.
absl::StatusOr<GivenValues> ParseValues(const std::vector<std::string>& arguments,
                                        const BundleManifest& manifest, bool may_be_others);

// What a user says of a bundle's inputs.
struct InputChoice {
  std::vector<std::string> files = {};  // "--input NAME=PATH"
  std::vector<std::string> sizes = {};  // "--size seq=128,batch=2"
  GivenValues values = {};
};

// All inputs in order: those of files and values, random numbers for the others, always the same.
// Sizes that neither files nor flags say are the greatest. Errors: B0404 an array that does not
// fit, or sizes that disagree or are out of range; B0101 no such size.
absl::StatusOr<std::vector<NpyArray>> GivenOrRandomInputs(const BundleManifest& manifest,
                                                          const InputChoice& choice);

// "batch 1..8, seq 1..512": sizes that each run chooses; empty: none.
std::string SizeList(const BundleManifest& manifest);

// All, and the sizes that their shapes say. Error B0404.
absl::Status SetInputs(Session& session, const std::vector<NpyArray>& inputs);
// Name, type and shape, which may be another one in each run.
TensorInfo OutputOfRun(Session& session, size_t index);
absl::StatusOr<NpyArray> GetOutput(Session& session, size_t index);

}  // namespace burnish

#endif  // TUNER_CLI_TENSOR_FILES_H_
