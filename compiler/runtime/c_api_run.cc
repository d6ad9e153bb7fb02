// burnish_run_tensors: from the structs of a program, which may be wrong or of another version, to
// CallTensors of the model.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "burnish/burnish.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/c_api_model.h"
#include "compiler/runtime/call_tensor.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/sized_struct.h"

namespace burnish {
namespace {

int32_t FindByName(const std::vector<ModelTensor>& tensors, const char* name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [name](const ModelTensor& each) {
    return each.tensor.name == name;
  });
  return found == tensors.end() ? -1 : static_cast<int32_t>(found - tensors.begin());
}

std::string NamesOf(const std::vector<ModelTensor>& tensors) {
  std::string names;
  for (const ModelTensor& each : tensors) {
    names += (names.empty() ? "\"" : ", \"") + each.tensor.name + "\"";
  }
  return names.empty() ? "none" : names;
}

// Which of the model's tensors entry `i` is. `taken`: by entries before.
RuntimeOr<size_t> Match(const std::string& role, const std::vector<ModelTensor>& tensors,
                        const char* name, int32_t i, std::vector<bool>& taken) {
  const int32_t index = name != nullptr ? FindByName(tensors, name) : i;
  if (index < 0 || static_cast<size_t>(index) >= tensors.size()) {
    const std::string got =
        name != nullptr ? "\"" + std::string(name) + "\"" : "number " + std::to_string(i);
    return RuntimeStatus(RuntimeCode::kOutOfRange,
                         "got " + role + " " + got + "; the model has " + NamesOf(tensors));
  }
  if (taken[index]) return InvalidArgument(role + " \"" + tensors[index].tensor.name + "\" twice");
  taken[index] = true;
  return static_cast<size_t>(index);
}

std::string Input(const TensorInfo& tensor) { return "input \"" + tensor.name + "\""; }

RuntimeStatus ReadSizes(const BundleManifest& manifest, const std::vector<GivenTensor>& inputs,
                        std::span<int64_t> extents) {
  if (manifest.run_sizes.inputs.empty()) return RuntimeStatus();
  std::vector<ShapedInput> shaped;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& tensor = manifest.inputs[i].tensor;
    ShapedInput& input = shaped.emplace_back(ShapedInput{tensor.name, tensor.shape});
    if (inputs[i].shape == nullptr) continue;
    // An axis is looked up by its number.
    if (inputs[i].rank != static_cast<int32_t>(tensor.shape.size())) {
      return InvalidArgument(Input(tensor) + ": got rank " + std::to_string(inputs[i].rank) +
                             ", want " + std::to_string(tensor.shape.size()));
    }
    std::copy_n(inputs[i].shape, tensor.shape.size(), input.shape.begin());
  }
  return ReadGivenSizes(manifest.run_sizes, shaped, extents);
}

// `extents`: one a size; set where inputs give them.
RuntimeOr<std::vector<CallTensor>> ReadInputs(const BundleManifest& manifest,
                                              const StructArray<const BurnishInput>& given,
                                              std::span<int64_t> extents) {
  const std::vector<ModelTensor>& tensors = manifest.inputs;
  std::vector<GivenTensor> read(tensors.size());
  std::vector<bool> taken(tensors.size());
  for (int32_t i = 0; i < given.count(); ++i) {
    RUNTIME_ASSIGN_OR_RETURN(const BurnishInput input, ReadStruct("BurnishInput", given.at(i)));
    RUNTIME_ASSIGN_OR_RETURN(const size_t index, Match("input", tensors, input.name, i, taken));
    RUNTIME_ASSIGN_OR_RETURN(read[index], GivenOf(Input(tensors[index].tensor), input));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (taken[i]) continue;
    const InputDefault* value = DefaultOf(manifest.input_defaults, i);
    if (value == nullptr) return InvalidArgument(Input(tensors[i].tensor) + " is missing");
    read[i] = {.data = const_cast<uint8_t*>(value->bytes().data()),  // Only read: see GivenOf.
               .type = tensors[i].tensor.type,
               .size_bytes = value->dense.size()};
  }
  RUNTIME_RETURN_IF_ERROR(ReadSizes(manifest, read, extents));
  std::vector<CallTensor> inputs(tensors.size());
  TensorInfo sized;  // Only where callers size inputs: a copy allocates, in each call.
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo* tensor = &tensors[i].tensor;
    if (!manifest.run_sizes.inputs.empty()) {
      sized = *tensor;
      sized.shape = InputShapeInRun(manifest.run_sizes, i, tensor->shape, extents);
      tensor = &sized;
    }
    RUNTIME_ASSIGN_OR_RETURN(
        inputs[i], CheckCallTensor(Input(*tensor), *tensor, read[i], /*is_written=*/false));
  }
  return inputs;
}

// The fields that the library sets.
void Report(const TensorInfo& tensor, BurnishOutput& output) {
  output.dtype = static_cast<int32_t>(tensor.type);
  output.size_bytes = tensor.dense_bytes();
  output.rank = static_cast<int32_t>(tensor.shape.size());
  std::fill(std::begin(output.shape), std::end(output.shape), 0);
  std::copy(tensor.shape.begin(), tensor.shape.end(), output.shape);
}

// Their shapes in a run that left these extents. The structs were read before.
RuntimeStatus ReportRun(const BundleManifest& manifest, std::span<const int64_t> extents,
                        const StructArray<BurnishOutput>& given) {
  for (int32_t i = 0; i < given.count(); ++i) {
    RUNTIME_ASSIGN_OR_RETURN(BurnishOutput output, ReadStruct("BurnishOutput", given.at(i)));
    const int32_t index = output.name != nullptr ? FindByName(manifest.outputs, output.name) : i;
    TensorInfo tensor = manifest.outputs[index].tensor;
    tensor.shape = ShapeInRun(manifest.run_sizes, Region::kOutput, index, tensor.shape, extents);
    Report(tensor, output);
    RUNTIME_RETURN_IF_ERROR(WriteStruct("BurnishOutput", output, given.at(i)));
  }
  return RuntimeStatus();
}

RuntimeStatus Allocate(const BundleManifest& manifest, size_t index, BurnishOutput& output) {
  RUNTIME_ASSIGN_OR_RETURN(
      BurnishTensorInfo info,
      DescribeModelTensor(manifest, Region::kOutput, static_cast<int32_t>(index)));
  info.struct_size = sizeof(info);
  output.data = output.allocate(output.allocate_arg, &info);
  output.capacity_bytes = output.size_bytes;
  if (output.data != nullptr || output.size_bytes == 0) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kResourceExhausted,
                       "output \"" + manifest.outputs[index].tensor.name +
                           "\": its allocate gave no memory for " +
                           std::to_string(output.size_bytes) + " bytes");
}

RuntimeOr<CallTensor> ReadOutput(const BundleManifest& manifest, size_t index,
                                 BurnishOutput& output) {
  const TensorInfo& tensor = manifest.outputs[index].tensor;
  const std::string what = "output \"" + tensor.name + "\"";
  if (output.reserved != 0) return InvalidArgument(what + ": BurnishOutput.reserved must be 0");
  const int32_t wanted = output.dtype;
  Report(tensor, output);
  GivenTensor given{.data = static_cast<uint8_t*>(output.data),
                    .type = wanted == 0 ? tensor.type : ElementTypeOf(wanted),
                    .rank = output.rank,
                    .strides = output.strides};
  if (output.data == nullptr && output.allocate != nullptr) {
    if (output.strides != nullptr) {
      return InvalidArgument(what + ": what is allocated is dense, so strides must be NULL");
    }
    RUNTIME_RETURN_IF_ERROR(Allocate(manifest, index, output));
    given.data = static_cast<uint8_t*>(output.data);
  } else if (output.data == nullptr) {
    return CallTensor();
  }
  given.size_bytes = output.capacity_bytes;
  return CheckCallTensor(what, tensor, given, /*is_written=*/true);
}

RuntimeOr<std::vector<CallTensor>> ReadOutputs(const BundleManifest& manifest,
                                               const StructArray<BurnishOutput>& given) {
  const std::vector<ModelTensor>& tensors = manifest.outputs;
  std::vector<CallTensor> outputs(tensors.size());
  std::vector<bool> taken(tensors.size());
  for (int32_t i = 0; i < given.count(); ++i) {
    RUNTIME_ASSIGN_OR_RETURN(BurnishOutput output, ReadStruct("BurnishOutput", given.at(i)));
    RUNTIME_ASSIGN_OR_RETURN(const size_t index, Match("output", tensors, output.name, i, taken));
    const RuntimeOr<CallTensor> tensor = ReadOutput(manifest, index, output);
    // Before looking at the error: a program whose memory is too small reads how much is wanted.
    RUNTIME_RETURN_IF_ERROR(WriteStruct("BurnishOutput", output, given.at(i)));
    if (!tensor.ok()) return tensor.status();
    outputs[index] = *tensor;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (k != index && Overlap(outputs[k], outputs[index])) {
        return InvalidArgument("outputs \"" + tensors[k].tensor.name + "\" and \"" +
                               tensors[index].tensor.name + "\" share memory");
      }
    }
  }
  return outputs;
}

RuntimeOr<std::span<int64_t>> ReadRunOptions(const BurnishRunOptions* given, size_t step_count) {
  if (given == nullptr) return std::span<int64_t>();
  RUNTIME_ASSIGN_OR_RETURN(const BurnishRunOptions options, ReadStruct("BurnishRunOptions", given));
  if (options.step_ns == nullptr && options.step_count == 0) return std::span<int64_t>();
  if (options.step_ns == nullptr || options.step_count != static_cast<int32_t>(step_count)) {
    return InvalidArgument("got room for " + std::to_string(options.step_count) + " steps, want " +
                           std::to_string(step_count));
  }
  return std::span<int64_t>(options.step_ns, step_count);
}

}  // namespace

RuntimeOr<GivenTensor> GivenOf(const std::string& what, const BurnishInput& input) {
  if (input.reserved != 0) return InvalidArgument(what + ": BurnishInput.reserved must be 0");
  GivenTensor given{// Only read: CheckManifest lets no step write an input.
                    .data = static_cast<uint8_t*>(const_cast<void*>(input.data)),
                    .type = ElementTypeOf(input.dtype),
                    .rank = input.rank,
                    .shape = input.shape,
                    .strides = input.strides};
  if (input.size_bytes != 0) given.size_bytes = input.size_bytes;
  return given;
}

}  // namespace burnish

using namespace burnish;  // NOLINT: the functions below are its C face.

int32_t burnish_find_input(const BurnishModel* model, const char* name) {
  if (model == nullptr || name == nullptr) return -1;
  return FindByName(ManifestOf(model).inputs, name);
}

int32_t burnish_find_output(const BurnishModel* model, const char* name) {
  if (model == nullptr || name == nullptr) return -1;
  return FindByName(ManifestOf(model).outputs, name);
}

BurnishStatus burnish_run_tensors(BurnishModel* model, const BurnishInput* inputs,
                                  int32_t input_count, BurnishOutput* outputs, int32_t output_count,
                                  const BurnishRunOptions* options) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model));
    const BundleManifest& manifest = ManifestOf(model);
    RUNTIME_ASSIGN_OR_RETURN(const std::span<int64_t> step_ns,
                             ReadRunOptions(options, manifest.steps.size()));
    const StructArray<const BurnishInput> given_inputs("BurnishInput", inputs, input_count);
    const StructArray<BurnishOutput> given_outputs("BurnishOutput", outputs, output_count);
    RUNTIME_RETURN_IF_ERROR(given_inputs.Check());
    RUNTIME_RETURN_IF_ERROR(given_outputs.Check());
    // Inputs first: nothing is allocated for a run that cannot be.
    std::vector<int64_t> extents(manifest.run_sizes.sizes.size());
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<CallTensor> read,
                             ReadInputs(manifest, given_inputs, extents));
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<CallTensor> written,
                             ReadOutputs(manifest, given_outputs));
    if (manifest.run_sizes.empty()) return model->session->RunTensors(read, written, step_ns);
    RUNTIME_RETURN_IF_ERROR(model->session->RunTensors(read, written, step_ns, extents));
    return ReportRun(manifest, extents, given_outputs);
  });
}
