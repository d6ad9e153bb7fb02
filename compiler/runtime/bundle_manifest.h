// What a bundle says about itself: the model's inputs and outputs, where every buffer lies, and the
// steps in order. Written by the compiler driver, read by the runtime.
#ifndef COMPILER_RUNTIME_BUNDLE_MANIFEST_H_
#define COMPILER_RUNTIME_BUNDLE_MANIFEST_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/control_program.h"
#include "compiler/runtime/host_call.h"
#include "compiler/runtime/input_defaults.h"
#include "compiler/runtime/input_strides.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/kernel_manifest.h"
#include "compiler/runtime/number_notes.h"
#include "compiler/runtime/place.h"
#include "compiler/runtime/run_sizes.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/step_trim.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {

// A model input or output: the tensor and the size of the storage that holds it.
struct ModelTensor {
  TensorInfo tensor;
  uint64_t storage_bytes = 0;

  friend bool operator==(const ModelTensor&, const ModelTensor&) = default;
};

// A named constant inside the weights section, packed as its kernel wants it.
struct ConstantInfo {
  std::string name;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;

  friend bool operator==(const ConstantInfo&, const ConstantInfo&) = default;
};

// A step's result, for debug output.
struct StepOutput {
  uint32_t buffer = 0;  // Index into the step's buffers.
  TensorInfo tensor;    // Relative to that buffer's base.

  friend bool operator==(const StepOutput&, const StepOutput&) = default;
};

// Not to be confused with a step of a trace (compiler/schedule).
struct ModelStep {
  std::string name;            // For people: "conv2_1 + relu".
  uint32_t kernel = 0;         // Index into BundleManifest::kernels.
  std::vector<Place> buffers;  // One per buffer of the kernel, in its order.
  // Of a run: of all iterations of the loops around the step, as far as they are known.
  uint64_t flop_count = 0;   // By definition of the operators, whatever the algorithm.
  uint64_t moved_bytes = 0;  // Least traffic: inputs and outputs once an iteration, constants once.
  std::string workload_id;   // SHA-256 of the workload's text, 64 hexadecimal digits, or empty.
  std::string schedule_origin;  // "tuned", "default", ...: where its schedule came from.
  std::vector<StepOutput> outputs;

  friend bool operator==(const ModelStep&, const ModelStep&) = default;
};

// Memory that gets a value when a session starts, and that no step changes: borders of storage.
// Writes `repeat_count` runs of `size_bytes`, each `repeat_stride_bytes` after the one before. To
// fill a whole slot whose inside the producer overwrites in every run, one run is enough.
struct Fill {
  Place place;
  uint64_t size_bytes = 0;  // A multiple of element_bytes.
  uint64_t repeat_count = 1;
  uint64_t repeat_stride_bytes = 0;
  uint8_t element_bytes = 4;  // 1, 2, 4 or 8.
  uint64_t element_bits = 0;  // The value's bits, in the low bytes.

  friend bool operator==(const Fill&, const Fill&) = default;
};

struct BundleManifest {
  uint32_t abi_version = BURNISH_KERNEL_ABI_VERSION;
  std::string model_name;
  std::string target;                 // Text of the target that it was compiled for.
  std::vector<std::string> features;  // CPU features that the code needs, LLVM's names.
  uint32_t thread_count = 1;          // What it was tuned for; it runs right on any number.
  uint64_t arena_bytes = 0;
  uint64_t weights_bytes = 0;  // Size of the weights section.
  std::vector<ModelTensor> inputs;
  std::vector<ModelTensor> outputs;
  std::vector<ConstantInfo> constants;
  // `pack` is empty: packing was done when it was built. Those of `host_calls` have no code.
  std::vector<KernelManifest> kernels;
  std::vector<ModelStep> steps;
  std::vector<Fill> fills;
  ControlProgram control;  // In a section of its own; empty: each step once, in order.
  std::vector<HostCall> host_calls = {};  // In a section of its own.
  RunSizes run_sizes = {};                // In a section of its own; empty: shapes are those above.
  std::vector<StepTrim> trims = {};       // In a section of its own. Not with control.
  std::vector<LiveTable> live = {};       // As trims.
  std::vector<InputStrides> input_strides = {};   // As trims.
  NumberNotes notes = {};                         // In a section of its own.
  std::vector<InputDefault> input_defaults = {};  // In a section of its own.

  friend bool operator==(const BundleManifest&, const BundleManifest&) = default;
};

// Without what has a section of its own.
std::string EncodeManifest(const BundleManifest& manifest);

// kDataLoss: not such bytes. Checks no meaning.
RuntimeOr<BundleManifest> DecodeManifest(std::span<const uint8_t> bytes);

// kInvalidArgument, with the place in words, unless every index names something, every buffer,
// constant, tensor and fill lies inside of its region and is aligned as its kernel wants, and no
// step writes weights or inputs, in each iteration of each loop, and each axis that a run sizes is
// one of an input or an output, within the sizes' ranges. What passes cannot make the
// runtime itself leave its memory.
RuntimeStatus CheckManifest(const BundleManifest& manifest);

// Largest alignment that any step asks of this region and index; at least 1, and 1 if nobody asks.
uint32_t RegionAlignment(const BundleManifest& manifest, Region region, uint32_t index);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_BUNDLE_MANIFEST_H_
