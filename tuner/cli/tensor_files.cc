#include "tuner/cli/tensor_files.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/rng.h"
#include "base/small_float.h"
#include "base/status_macros.h"
#include "compiler/driver/to_status.h"
#include "tuner/app/bundle_session.h"
#include "tuner/app/error.h"
#include "tuner/app/tensor_array.h"
#include "tuner/app/value_text.h"

namespace burnish {
namespace {

// Times depend on no value but denormals; floats are normal as pictures are, integers are 0, which
// is a valid index anywhere.
NpyArray RandomArray(const TensorInfo& tensor, size_t seed) {
  NpyArray array{.type = tensor.type, .shape = tensor.shape};
  array.bytes.resize(tensor.dense_bytes());
  Rng rng(seed);
  const auto fill = [&]<typename Float>(Float* values) {
    for (int64_t k = 0; k < tensor.element_count(); ++k) values[k] = Float(rng.Normal());
  };
  char* const bytes = array.bytes.data();
  if (tensor.type == ElementType::kF32) fill(reinterpret_cast<float*>(bytes));
  if (tensor.type == ElementType::kBf16) fill(reinterpret_cast<Bfloat16*>(bytes));
  if (tensor.type == ElementType::kF16) fill(reinterpret_cast<Float16*>(bytes));
  return array;
}

template <typename T>
bool AppendValue(absl::string_view text, std::string& bytes) {
  T value{};
  if constexpr (std::is_same_v<T, bool>) {
    if (text != "0" && text != "1") return false;
    value = text == "1";
  } else if constexpr (std::is_convertible_v<T, float> && !std::is_integral_v<T>) {
    double number = 0;
    if (!absl::SimpleAtod(text, &number)) return false;
    value = T(number);
  } else {
    // 8 and 16 bits are not what absl reads; all types are tried for being held.
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    Wide number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < std::numeric_limits<T>::min() ||
        number > std::numeric_limits<T>::max()) {
      return false;
    }
    value = static_cast<T>(number);
  }
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return true;
}

using Append = bool (*)(absl::string_view text, std::string& bytes);

// Null: a type whose values nobody writes in a command line.
Append AppendOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return AppendValue<float>;
    case ElementType::kF64:
      return AppendValue<double>;
    case ElementType::kBf16:
      return AppendValue<Bfloat16>;
    case ElementType::kF16:
      return AppendValue<Float16>;
    case ElementType::kI8:
      return AppendValue<int8_t>;
    case ElementType::kU8:
      return AppendValue<uint8_t>;
    case ElementType::kI16:
      return AppendValue<int16_t>;
    case ElementType::kU16:
      return AppendValue<uint16_t>;
    case ElementType::kI32:
      return AppendValue<int32_t>;
    case ElementType::kU32:
      return AppendValue<uint32_t>;
    case ElementType::kI64:
      return AppendValue<int64_t>;
    case ElementType::kU64:
      return AppendValue<uint64_t>;
    case ElementType::kBool:
      return AppendValue<bool>;
    default:
      return nullptr;
  }
}

absl::StatusOr<NpyArray> ArrayOfValues(const TensorInfo& tensor, const std::string& text,
                                       const std::string& where) {
  const std::vector<std::string> values = absl::StrSplit(text, ',');
  std::string bytes;
  const Append append = AppendOf(tensor.type);
  bool is_right = append != nullptr && std::ssize(values) == tensor.element_count();
  for (size_t i = 0; is_right && i < values.size(); ++i) is_right = append(values[i], bytes);
  if (!is_right) {
    return MakeError(ErrorCode::kTensorMismatch,
                     absl::StrCat("input ", tensor.name, ": want ", tensor.element_count(),
                                  " values of ", DescribeTensor(tensor)),
                     where, absl::StrCat("--input ", tensor.name, "=FILE.npy takes any values"));
  }
  NpyArray array{.type = tensor.type, .shape = tensor.shape};
  array.bytes.assign(bytes.begin(), bytes.end());
  return array;
}

}  // namespace

absl::StatusOr<GivenValues> ParseValues(const std::vector<std::string>& arguments,
                                        const BundleManifest& manifest, bool may_be_others) {
  GivenValues given;
  for (const std::string& argument : arguments) {
    const std::string where = absl::StrCat("--value ", argument);
    // Names may have an equals sign, values have none.
    const size_t equals = argument.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size()) {
      return MakeError(ErrorCode::kUsage, "want NAME=16000 or NAME=1,2,3", where);
    }
    const std::string name = argument.substr(0, equals), text = argument.substr(equals + 1);
    size_t index = 0;
    while (index < manifest.inputs.size() && manifest.inputs[index].tensor.name != name) ++index;
    bool is_new = true;
    if (index < manifest.inputs.size()) {
      ASSIGN_OR_RETURN(NpyArray array, ArrayOfValues(manifest.inputs[index].tensor, text, where));
      is_new = given.inputs.emplace(index, std::move(array)).second;
    } else if (may_be_others) {
      is_new = given.others.emplace(name, text).second;
    } else {
      return MakeError(ErrorCode::kUnknownTensor,
                       absl::StrCat("want NAME=VALUE, NAME one of: ", TensorList(manifest.inputs)),
                       where,
                       "an input that was fixed when the bundle was compiled is none of its");
    }
    if (!is_new) return MakeError(ErrorCode::kUsage, absl::StrCat(name, " is given twice"), where);
  }
  return given;
}

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
    size_t path_begin = 0, given = tensors.size();
    for (; index < tensors.size(); ++index) {
      const std::string prefix = tensors[index].tensor.name + "=";
      if (argument.compare(0, prefix.size(), prefix) != 0) continue;
      path_begin = prefix.size();
      // A model may give one value twice, under one name.
      if (!paths.contains(index)) break;
      given = index;
    }
    if (index == tensors.size()) index = given;
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

absl::StatusOr<NpyArray> ReadInput(const TensorInfo& want, const std::vector<bool>& is_open,
                                   const std::string& path) {
  ASSIGN_OR_RETURN(NpyArray array, ReadArray(path));
  array = ForType(std::move(array), want.type);
  bool fits = array.type == want.type && array.shape.size() == want.shape.size();
  for (size_t d = 0; fits && d < want.shape.size(); ++d) {
    fits = is_open[d] || array.shape[d] == want.shape[d];
  }
  if (!fits) return Misfit(array, want, path);
  return array;
}

namespace {

// Of each dimension of an input: whether a run chooses its size.
std::vector<bool> OpenAxes(const BundleManifest& manifest, size_t input) {
  std::vector<bool> is_open(manifest.inputs[input].tensor.shape.size(), false);
  for (const InputAxis& axis : manifest.run_sizes.inputs) {
    if (axis.input == input) is_open[axis.axis] = true;
  }
  return is_open;
}

absl::Status SizesMisfit(const RuntimeStatus& status) {
  return WithError(ToStatus(status), ErrorCode::kTensorMismatch, "inputs",
                   "arrays whose dimensions of one name are equal, and within their range");
}

// "--size seq=128,batch=2"
absl::Status TakeSizes(const std::vector<std::string>& flags, const RunSizes& run_sizes,
                       std::vector<int64_t>& extents) {
  const std::vector<bool> is_given = run_sizes.GivenSizes();
  for (const std::string& flag : flags) {
    for (const absl::string_view each : absl::StrSplit(flag, ',')) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(each, absl::MaxSplits('=', 1));
      const auto& [name, text] = parts;
      const std::string where = absl::StrCat("--size ", each);
      size_t i = 0;
      while (i < extents.size() && !(is_given[i] && run_sizes.sizes[i].name == name)) ++i;
      int64_t extent = 0;
      if (i == extents.size()) {
        std::string names;
        for (size_t k = 0; k < extents.size(); ++k) {
          if (is_given[k]) {
            absl::StrAppend(&names, names.empty() ? "" : ", ", run_sizes.sizes[k].name);
          }
        }
        return MakeError(
            ErrorCode::kUsage, "the bundle has no size of this name", where,
            names.empty() ? "its inputs' shapes are fixed" : absl::StrCat("one of: ", names));
      }
      const RunSize& size = run_sizes.sizes[i];
      if (!absl::SimpleAtoi(text, &extent) || extent < size.least || extent > size.greatest) {
        return MakeError(ErrorCode::kUsage,
                         absl::StrCat("want ", size.least, " to ", size.greatest), where,
                         absl::StrCat("--size ", name, "=", size.greatest));
      }
      extents[i] = extent;
    }
  }
  return absl::OkStatus();
}

// Of a run whose inputs that are there have these shapes.
absl::StatusOr<std::vector<int64_t>> SizesOfRun(const BundleManifest& manifest,
                                                const std::vector<std::optional<NpyArray>>& arrays,
                                                const std::vector<std::string>& flags) {
  const RunSizes& run_sizes = manifest.run_sizes;
  std::vector<int64_t> extents;
  for (const RunSize& size : run_sizes.sizes) extents.push_back(size.greatest);
  RETURN_IF_ERROR(TakeSizes(flags, run_sizes, extents));
  for (const InputAxis& axis : run_sizes.inputs) {
    if (!axis.GivesSize() || !arrays[axis.input].has_value()) continue;
    extents[axis.parts[0].size] = arrays[axis.input]->shape[axis.axis];
  }
  return extents;
}

}  // namespace

absl::StatusOr<std::vector<NpyArray>> GivenOrRandomInputs(const BundleManifest& manifest,
                                                          const InputChoice& choice) {
  ASSIGN_OR_RETURN(const auto paths, AssignTensors(choice.files, manifest.inputs, "--input"));
  std::vector<std::optional<NpyArray>> arrays(manifest.inputs.size());
  for (size_t i = 0; i < manifest.inputs.size(); ++i) {
    const TensorInfo& tensor = manifest.inputs[i].tensor;
    const auto path = paths.find(i);
    const auto value = choice.values.inputs.find(i);
    if (path != paths.end() && value != choice.values.inputs.end()) {
      return MakeError(ErrorCode::kUsage,
                       absl::StrCat(tensor.name, " has an --input and a --value"),
                       absl::StrCat("--input ", path->second));
    }
    const InputDefault* fallback = DefaultOf(manifest.input_defaults, i);
    if (value != choice.values.inputs.end()) {
      arrays[i] = value->second;
    } else if (fallback != nullptr) {
      arrays[i] = NpyArray{.type = tensor.type, .shape = tensor.shape};
      arrays[i]->bytes = fallback->dense;
    }
    if (path == paths.end()) continue;
    ASSIGN_OR_RETURN(arrays[i], ReadInput(tensor, OpenAxes(manifest, i), path->second));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> extents, SizesOfRun(manifest, arrays, choice.sizes));
  std::vector<NpyArray> inputs;
  for (size_t i = 0; i < arrays.size(); ++i) {
    TensorInfo tensor = manifest.inputs[i].tensor;
    tensor = DenseTensor(tensor.name, tensor.type,
                         InputShapeInRun(manifest.run_sizes, i, tensor.shape, extents));
    inputs.push_back(arrays[i].has_value() ? *std::move(arrays[i]) : RandomArray(tensor, i));
  }
  return inputs;
}

std::string SizeList(const BundleManifest& manifest) {
  const std::vector<bool> is_given = manifest.run_sizes.GivenSizes();
  std::string text;
  for (size_t i = 0; i < is_given.size(); ++i) {
    if (!is_given[i]) continue;
    const RunSize& size = manifest.run_sizes.sizes[i];
    absl::StrAppend(&text, text.empty() ? "" : ", ", size.name, " ", size.least, "..",
                    size.greatest);
  }
  return text;
}

absl::Status SetInputs(Session& session, const std::vector<NpyArray>& inputs) {
  const BundleManifest& manifest = session.manifest();
  if (!manifest.run_sizes.inputs.empty()) {
    std::vector<ShapedInput> shaped;
    for (size_t i = 0; i < inputs.size(); ++i) {
      shaped.push_back({manifest.inputs[i].tensor.name, inputs[i].shape});
    }
    std::vector<int64_t> extents(manifest.run_sizes.sizes.size());
    RuntimeStatus status = ReadGivenSizes(manifest.run_sizes, shaped, extents);
    if (status.ok()) status = session.SetSizes(extents);
    if (!status.ok()) return SizesMisfit(status);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& tensor = manifest.inputs[i].tensor;
    if (inputs[i].shape != session.InputShape(i)) {
      return MakeError(ErrorCode::kTensorMismatch,
                       absl::StrCat("input ", tensor.name, ": got ", FormatShape(inputs[i].shape),
                                    ", want ", DescribeTensor(tensor)),
                       "inputs");
    }
    const std::string& bytes = inputs[i].bytes;
    RETURN_IF_ERROR(ToStatus(
        session.SetInput(i, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()})));
  }
  return absl::OkStatus();
}

TensorInfo OutputOfRun(Session& session, size_t index) {
  const TensorInfo& tensor = session.manifest().outputs[index].tensor;
  return DenseTensor(tensor.name, tensor.type, session.OutputShape(index));
}

absl::StatusOr<NpyArray> GetOutput(Session& session, size_t index) {
  const TensorInfo tensor = OutputOfRun(session, index);
  NpyArray array{.type = tensor.type, .shape = tensor.shape};
  array.bytes.resize(tensor.dense_bytes());
  RETURN_IF_ERROR(ToStatus(session.GetOutput(
      index, {reinterpret_cast<uint8_t*>(array.bytes.data()), array.bytes.size()})));
  return array;
}

}  // namespace burnish
