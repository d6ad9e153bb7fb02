#include "compiler/runtime/host_call.h"

#include <new>
#include <set>

#include "compiler/runtime/list_codec.h"
#include "compiler/runtime/tensor_codec.h"

namespace burnish {

template <typename Archive>
void Fields(Archive& archive, HostType& type) {
  archive.Number(type.type);
  archive.Numbers(type.shape);
}

template <typename Archive>
void Fields(Archive& archive, HostAttribute& attribute) {
  archive.Text(attribute.name);
  archive.Number(attribute.number);
  archive.Text(attribute.text);
}

template <typename Archive>
void Fields(Archive& archive, HostCall& call) {
  archive.Number(call.kernel);
  archive.Text(call.signature.kernel);
  archive.List(call.signature.attributes);
  archive.List(call.signature.inputs);
  archive.List(call.signature.outputs);
  archive.List(call.tensors);
}

namespace {

// Of each dense copy: whole cache lines, so that kernels find their elements aligned.
constexpr uint64_t kCopyAlignment = BURNISH_SCRATCH_ALIGNMENT;

uint64_t CopyBytes(const TensorInfo& tensor) {
  if (tensor.IsDense()) return 0;
  return (tensor.dense_bytes() + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment;
}

// Bytes from the base of the buffer to behind the last element. The tensor was checked.
uint64_t EndOf(const TensorInfo& tensor) {
  uint64_t last = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    last += static_cast<uint64_t>((tensor.shape[d] - 1) * tensor.strides[d]);
  }
  return tensor.offset_bytes + (last + 1) * ElementBytes(tensor.type);
}

RuntimeStatus CheckCall(const HostCall& call, std::span<const KernelManifest> kernels) {
  const auto invalid = [](const std::string& text) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, text);
  };
  if (call.kernel >= kernels.size()) return invalid("got no such kernel");
  RUNTIME_RETURN_IF_ERROR(CheckHostSignature(call.signature));
  std::vector<HostType> types = call.signature.inputs;
  types.insert(types.end(), call.signature.outputs.begin(), call.signature.outputs.end());
  if (call.tensors.size() != types.size()) return invalid("got another number of tensors");
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorInfo& tensor = call.tensors[i];
    RUNTIME_RETURN_IF_ERROR(CheckTensor(tensor, kMemoryBytesMax));
    if (HostType{tensor.type, tensor.shape} != types[i] ||
        tensor.offset_bytes % ElementBytes(tensor.type) != 0) {
      return invalid("tensor " + std::to_string(i) + " is not the signature's");
    }
  }
  if (kernels[call.kernel].compute != FunctionOf(call)) {
    return invalid("its kernel has other buffers");
  }
  return RuntimeStatus();
}

}  // namespace

std::string EncodeHostCalls(const std::vector<HostCall>& calls) { return EncodeList(calls); }

RuntimeOr<std::vector<HostCall>> DecodeHostCalls(std::span<const uint8_t> bytes) {
  return DecodeList<HostCall>(bytes, "the bundle's host calls");
}

FunctionInfo FunctionOf(const HostCall& call) {
  FunctionInfo function;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    const bool is_input = i < call.signature.inputs.size();
    function.buffers.push_back(
        {.role = is_input ? ArgumentRole::kInput : ArgumentRole::kOutput,
         .alignment_bytes = static_cast<uint32_t>(ElementBytes(call.tensors[i].type)),
         .size_bytes = EndOf(call.tensors[i])});
    function.shared_scratch_bytes += CopyBytes(call.tensors[i]);
  }
  return function;
}

RuntimeStatus CheckHostCalls(const std::vector<HostCall>& calls,
                             std::span<const KernelManifest> kernels) {
  std::set<uint32_t> seen;
  for (const HostCall& call : calls) {
    RuntimeStatus status = CheckCall(call, kernels);
    if (status.ok() && !seen.insert(call.kernel).second) {
      status = RuntimeStatus(RuntimeCode::kInvalidArgument, "got one kernel twice");
    }
    if (!status.ok()) {
      return RuntimeStatus(status.code(), "host call of kernel " + std::to_string(call.kernel) +
                                              " (" + call.signature.kernel +
                                              "): " + status.message());
    }
  }
  return RuntimeStatus();
}

int32_t RunHostCall(const BurnishKernelContext* context, int32_t worker, int32_t) {
  if (worker != 0) return BURNISH_KERNEL_OK;
  const HostCall& call = *reinterpret_cast<const HostCall*>(context->scratch);
  const size_t input_count = call.signature.inputs.size();
  try {
    std::vector<uint8_t*> dense;
    uint8_t* copy = context->shared_scratch;
    for (size_t i = 0; i < call.tensors.size(); ++i) {
      const TensorInfo& tensor = call.tensors[i];
      auto* const base = static_cast<uint8_t*>(context->buffers[i]);
      dense.push_back(tensor.IsDense() ? base + tensor.offset_bytes : copy);
      if (!tensor.IsDense() && i < input_count) CopyFromStorage(tensor, base, copy);
      copy += CopyBytes(tensor);
    }
    const std::span<uint8_t* const> all(dense);
    const std::vector<const uint8_t*> inputs(dense.begin(), dense.begin() + input_count);
    // Found for each call anew: a handful of names, beside what such an operator takes.
    const int32_t code = FindHostKernel(call.signature.kernel)
                             ->run(call.signature, inputs, all.subspan(input_count));
    for (size_t i = input_count; i < call.tensors.size(); ++i) {
      if (call.tensors[i].IsDense()) continue;
      CopyIntoStorage(call.tensors[i], dense[i], static_cast<uint8_t*>(context->buffers[i]));
    }
    return code;
  } catch (const std::bad_alloc&) {
    // Here and not further up: the other workers wait at the barrier behind this step.
    return kHostCallOutOfMemory;
  }
}

}  // namespace burnish
