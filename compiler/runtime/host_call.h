// Kernels of a bundle that are functions of the runtime (host/host_kernel.h), and how a session
// calls them: as any kernel.
#ifndef COMPILER_RUNTIME_HOST_CALL_H_
#define COMPILER_RUNTIME_HOST_CALL_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/host/host_kernel.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/kernel_manifest.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {

// What one kernel of BundleManifest::kernels is, that has no code in the bundle.
struct HostCall {
  uint32_t kernel = 0;  // Index into BundleManifest::kernels.
  HostSignature signature;
  // Where each tensor lies in its buffer: inputs, then outputs, in the order of the buffers.
  std::vector<TensorInfo> tensors;

  friend bool operator==(const HostCall&, const HostCall&) = default;
};

std::string EncodeHostCalls(const std::vector<HostCall>& calls);
// kDataLoss: not such bytes.
RuntimeOr<std::vector<HostCall>> DecodeHostCalls(std::span<const uint8_t> bytes);

// How a session sees such a kernel: the buffers that hold the tensors, and memory for dense copies
// of those that do not lie densely.
FunctionInfo FunctionOf(const HostCall& call);

// kInvalidArgument unless each names another of the bundle's kernels, whose function is FunctionOf
// it, and the signature is right: then no data makes a call leave its buffers.
RuntimeStatus CheckHostCalls(const std::vector<HostCall>& calls,
                             std::span<const KernelManifest> kernels);

// A kernel for sessions: worker 0 does the work. The context's `scratch` is the HostCall, and its
// `shared_scratch` the memory that FunctionOf asks for.
int32_t RunHostCall(const BurnishKernelContext* context, int32_t worker, int32_t workers);

// Of RunHostCall: no memory. Below the codes of generated kernels, which are stored.
inline constexpr int32_t kHostCallOutOfMemory = -1;

}  // namespace burnish

#endif  // COMPILER_RUNTIME_HOST_CALL_H_
