#include "tuner/cli/tensor_files.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/driver/to_status.h"
#include "tuner/app/bundle_session.h"
#include "tuner/app/error.h"
#include "tuner/app/value_text.h"

namespace burnish {
namespace {

ErrorCode ReadErrorCode(const absl::Status& status) {
  if (absl::IsNotFound(status)) return ErrorCode::kNoInputFile;
  if (absl::IsPermissionDenied(status)) return ErrorCode::kInputPermission;
  return ErrorCode::kBadNpy;
}

// Times depend on no value but denormals; floats are normal as pictures are, integers are 0, which
// is a valid index anywhere.
NpyArray RandomArray(const TensorInfo& tensor, size_t seed) {
  NpyArray array{.type = tensor.type, .shape = tensor.shape};
  array.bytes.resize(tensor.dense_bytes());
  if (tensor.type == ElementType::kF32) {
    Rng rng(seed);
    auto* values = reinterpret_cast<float*>(array.bytes.data());
    for (int64_t k = 0; k < tensor.element_count(); ++k) {
      values[k] = static_cast<float>(rng.Normal());
    }
  }
  return array;
}

}  // namespace

std::string TensorList(const std::vector<ModelTensor>& tensors) {
  std::string text;
  for (const ModelTensor& tensor : tensors) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", tensor.tensor.name, " ",
                    DescribeTensor(tensor.tensor));
  }
  return text;
}

absl::StatusOr<std::map<size_t, std::string>> AssignTensors(
    const std::vector<std::string>& arguments, const std::vector<ModelTensor>& tensors,
    absl::string_view flag) {
  std::map<size_t, std::string> paths;
  for (const std::string& argument : arguments) {
    const std::string where = absl::StrCat(flag, " ", argument);
    size_t index = 0;
    size_t path_begin = 0;
    for (; index < tensors.size(); ++index) {
      const std::string prefix = tensors[index].tensor.name + "=";
      if (argument.compare(0, prefix.size(), prefix) == 0) {
        path_begin = prefix.size();
        break;
      }
    }
    if (index == tensors.size()) {
      if (tensors.size() != 1 || argument.find('=') != std::string::npos) {
        return MakeError(ErrorCode::kUnknownTensor,
                         absl::StrCat("want NAME=FILE, NAME one of: ", TensorList(tensors)), where);
      }
      index = 0;
    }
    if (!paths.emplace(index, argument.substr(path_begin)).second) {
      return MakeError(ErrorCode::kUsage,
                       absl::StrCat(tensors[index].tensor.name, " is given twice"), where);
    }
  }
  return paths;
}

absl::StatusOr<NpyArray> ReadArray(const std::string& path) {
  absl::StatusOr<NpyArray> array = ReadNpyFile(path);
  if (!array.ok()) return WithError(array.status(), ReadErrorCode(array.status()), path);
  return array;
}

absl::StatusOr<NpyArray> ReadInput(const TensorInfo& want, const std::string& path) {
  ASSIGN_OR_RETURN(NpyArray array, ReadArray(path));
  const std::string wanted = DescribeTensor(want);
  const std::string got = absl::StrCat(ElementTypeName(array.type), FormatShape(array.shape));
  if (got != wanted) {
    std::string hint;
    if (array.type != want.type) {
      hint = absl::StrCat("x.astype('", ElementTypeName(want.type), "') in NumPy's names");
    }
    return MakeError(ErrorCode::kTensorMismatch,
                     absl::StrCat("input ", want.name, ": got ", got, ", want ", wanted), path,
                     hint);
  }
  return array;
}

absl::StatusOr<std::vector<NpyArray>> GivenOrRandomInputs(const BundleManifest& manifest,
                                                          const std::vector<std::string>& given) {
  ASSIGN_OR_RETURN(const auto paths, AssignTensors(given, manifest.inputs, "--input"));
  std::vector<NpyArray> inputs;
  for (size_t i = 0; i < manifest.inputs.size(); ++i) {
    const TensorInfo& tensor = manifest.inputs[i].tensor;
    const auto path = paths.find(i);
    if (path == paths.end()) {
      inputs.push_back(RandomArray(tensor, i));
      continue;
    }
    ASSIGN_OR_RETURN(NpyArray input, ReadInput(tensor, path->second));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

absl::Status SetInput(Session& session, size_t index, const NpyArray& array) {
  return ToStatus(session.SetInput(
      index, {reinterpret_cast<const uint8_t*>(array.bytes.data()), array.bytes.size()}));
}

absl::Status SetInputs(Session& session, const std::vector<NpyArray>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) RETURN_IF_ERROR(SetInput(session, i, inputs[i]));
  return absl::OkStatus();
}

absl::StatusOr<NpyArray> GetOutput(Session& session, size_t index) {
  const TensorInfo& tensor = session.manifest().outputs[index].tensor;
  NpyArray array{.type = tensor.type, .shape = tensor.shape};
  array.bytes.resize(tensor.dense_bytes());
  RETURN_IF_ERROR(ToStatus(session.GetOutput(
      index, {reinterpret_cast<uint8_t*>(array.bytes.data()), array.bytes.size()})));
  return array;
}

}  // namespace burnish
