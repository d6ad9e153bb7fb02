#include "worker/runner/kernel_sequence.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "worker/runner/kernel_arguments.h"
#include "worker/runner/tensor_data.h"

namespace burnish {
namespace {

// Where steps write in turn; a power of two.
constexpr int kPlaceCount = 4;
// How many steps ago an input was written, by its position among the float inputs.
constexpr int kInputAges[] = {1, 3, 2};
// Places begin at different offsets within a page, or streams through two of them would alias.
constexpr uint64_t kPlaceSkewBytes = 17 * 64;
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kAlignmentMin = 64;
// Where the constants of a step begin. A bundle's mostly have sizes of whole 128 bytes and so begin
// at such; which half of a pair of cache lines a stream begins with can decide what its prefetches
// are worth (LlvmBackend::AddKernel has a case of 590 and 880 us).
constexpr uint64_t kConstantsAlignment = 128;
// Of `normals`, used again and again.
constexpr size_t kNormalBytesMax = 1 << 16;

uint64_t Room(const BufferInfo& buffer) {
  return RoundUp(buffer.size_bytes, kAlignmentMin) + buffer.alignment_bytes;
}

void FillFloats(std::span<const uint8_t> normals, float scale, std::span<uint8_t> bytes) {
  const size_t normal_count = std::min(normals.size(), kNormalBytesMax) / sizeof(float);
  std::vector<float> scaled(normal_count);
  std::memcpy(scaled.data(), normals.data(), normal_count * sizeof(float));
  for (float& value : scaled) value *= scale;
  for (size_t at = 0; at < bytes.size();) {
    const size_t count = std::min(bytes.size() - at, normal_count * sizeof(float));
    std::memcpy(bytes.data() + at, scaled.data(), count);
    at += count;
  }
}

}  // namespace

RuntimeOr<std::unique_ptr<KernelSequence>> KernelSequence::Create(
    const NetworkSpec& network, std::vector<std::unique_ptr<Artifact>> artifacts,
    const Options& options, ThreadPool& pool) {
  std::unique_ptr<KernelSequence> sequence(new KernelSequence(network, pool));
  // First, since everything below indexes by the order.
  RUNTIME_RETURN_IF_ERROR(sequence->CheckOrder());
  if (options.normals.size() < sizeof(float)) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "got nothing to fill memory with");
  }
  for (size_t i = 0; i < network.kernels.size(); ++i) {
    RUNTIME_RETURN_IF_ERROR(sequence->Add(network.kernels[i], std::move(artifacts[i])));
  }
  sequence->PlaceBuffers();
  const uint64_t wanted = sequence->layout_.end;
  if (wanted > options.memory_bytes_max) {
    return RuntimeStatus(RuntimeCode::kResourceExhausted,
                         "wants " + std::to_string(wanted >> 20) + " MiB, may have " +
                             std::to_string(options.memory_bytes_max >> 20) + " MiB");
  }
  // One arena in huge pages, as a session has it.
  RUNTIME_ASSIGN_OR_RETURN(sequence->memory_, HugePageArena::Allocate(wanted));
  sequence->FillMemory(options);
  for (size_t i = 0; i < network.order.size(); ++i) {
    const int step = static_cast<int>(i % static_cast<size_t>(network.step_count));
    const int kernel = network.order[i];
    // A step and a kernel have one set of buffers in all passes: what a pass sees in the caches
    // comes from the pass before, as in a running model.
    auto [at, is_new] = sequence->bound_.try_emplace({step, kernel});
    if (is_new) {
      at->second = sequence->Bind(step, sequence->kernels_[kernel]);
      at->second.call.context.buffers = at->second.buffers.data();
    }
    sequence->calls_.push_back(&at->second.call);
  }
  return sequence;
}

RuntimeStatus KernelSequence::CheckOrder() const {
  const bool is_order =
      step_count_ >= 1 && !network_.order.empty() && network_.order.size() % step_count_ == 0 &&
      std::all_of(network_.order.begin(), network_.order.end(), [this](int32_t kernel) {
        return kernel >= 0 && kernel < static_cast<int32_t>(network_.kernels.size());
      });
  if (is_order) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kInvalidArgument, "the order is not one of these kernels");
}

RuntimeStatus KernelSequence::Add(const KernelSpec& spec, std::unique_ptr<Artifact> artifact) {
  LoadedKernel& kernel = kernels_.emplace_back();
  kernel.artifact = std::move(artifact);
  const ArtifactManifest& manifest = kernel.artifact->manifest();
  if (manifest.kernels.size() != 1) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "the artifact has other than one kernel");
  }
  const bool packs = manifest.kernels[0].pack.has_value();
  int counts[4] = {};  // Buffers so far, by role.
  for (const BufferInfo& buffer : kernel.compute().buffers) {
    const int n = counts[static_cast<int>(buffer.role)]++;
    const bool is_packed = buffer.role == ArgumentRole::kConstant && packs;
    const size_t parameter = NthOf(spec.parameters, buffer.role, static_cast<size_t>(n));
    if (!is_packed && parameter == spec.parameters.size()) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument,
                           "the artifact has more buffers than the workload has parameters");
    }
    const bool is_float = is_packed || spec.parameters[parameter].type == ElementType::kF32;
    const bool is_output = buffer.role == ArgumentRole::kOutput;
    Place place = is_output ? Place::kSpare : Place::kOwn;
    if (is_float && buffer.role == ArgumentRole::kConstant) place = Place::kConstant;
    if (is_float && buffer.role == ArgumentRole::kInput) place = Place::kActivation;
    // Only the first output is what the next step reads. Further ones go to the spare memory.
    if (is_float && is_output && n == 0) place = Place::kActivation;
    // What is not f32. Integers are indices, mostly: whatever floats another step left in a place
    // would lead outside of a table.
    if (place == Place::kOwn) {
      RUNTIME_RETURN_IF_ERROR(CheckTensorSpec(spec.parameters[parameter], buffer.size_bytes));
    }
    kernel.places.push_back(place);
    kernel.parameters.push_back(place == Place::kOwn ? static_cast<int>(parameter) : -1);
  }
  return RuntimeStatus();
}

void KernelSequence::PlaceBuffers() {
  uint64_t spare_bytes = 0, scratch_bytes = 0, shared_scratch_bytes = 0;
  std::vector<uint64_t> constant_bytes(kernels_.size(), 0);
  for (size_t k = 0; k < kernels_.size(); ++k) {
    LoadedKernel& kernel = kernels_[k];
    uint64_t spare = 0;
    for (size_t i = 0; i < kernel.places.size(); ++i) {
      const BufferInfo& buffer = kernel.compute().buffers[i];
      uint64_t own_offset = 0;
      switch (kernel.places[i]) {
        case Place::kActivation:
          // Every place is as large as the largest activation: steps of any size write to any
          // place.
          layout_.activation_bytes = std::max(layout_.activation_bytes, Room(buffer));
          break;
        case Place::kConstant:
          constant_bytes[k] += Room(buffer);
          break;
        case Place::kSpare:
          spare += Room(buffer);
          break;
        case Place::kOwn:
          own_offset = RoundUp(layout_.end, buffer.alignment_bytes);
          layout_.end = own_offset + buffer.size_bytes;
          break;
      }
      kernel.own_offset.push_back(own_offset);
    }
    spare_bytes = std::max(spare_bytes, spare);
    // Shared by all kernels, as in a session: one step runs at a time.
    scratch_bytes = std::max(scratch_bytes, ScratchStride(kernel.compute()) *
                                                static_cast<uint64_t>(pool_.thread_count()));
    shared_scratch_bytes = std::max(shared_scratch_bytes, kernel.compute().shared_scratch_bytes);
  }
  const auto take = [this](uint64_t size_bytes, uint64_t alignment_bytes = kAlignmentMin) {
    const uint64_t at = RoundUp(layout_.end, alignment_bytes);
    layout_.end = at + size_bytes;
    return at;
  };
  layout_.activation_bytes = RoundUp(layout_.activation_bytes, kPageBytes);
  for (int place = 0; place <= kPlaceCount; ++place) {
    layout_.activations.push_back(take(layout_.activation_bytes + kPlaceSkewBytes));
  }
  layout_.scratch = take(scratch_bytes);
  layout_.shared_scratch = take(shared_scratch_bytes);
  layout_.spare = take(spare_bytes);
  layout_.constants_bytes.assign(step_count_, 0);
  for (size_t i = 0; i < network_.order.size(); ++i) {
    uint64_t& bytes = layout_.constants_bytes[i % static_cast<size_t>(step_count_)];
    // Candidates of a step share the place, so the largest decides.
    bytes = std::max(bytes, constant_bytes[network_.order[i]]);
  }
  // By step and not by kernel: what a step reads must lie where no other step has read, or it would
  // not be cold.
  for (const uint64_t bytes : layout_.constants_bytes) {
    layout_.constants.push_back(take(bytes, kConstantsAlignment));
  }
}

void KernelSequence::FillMemory(const Options& options) {
  for (const uint64_t place : layout_.activations) {
    // Ordinary values to begin with: zeros or denormals would change times, and untouched pages
    // would fault while they are timed.
    FillFloats(options.normals, 1, {At(place), layout_.activation_bytes});
  }
  for (int step = 0; step < step_count_; ++step) {
    const uint64_t bytes = layout_.constants_bytes[step];
    if (bytes == 0) continue;
    // A square layer of n weights adds sqrt(n) products to one output.
    const double count = static_cast<double>(bytes) / sizeof(float);
    FillFloats(options.normals, static_cast<float>(std::pow(count, -0.25)),
               {At(layout_.constants[step]), bytes});
  }
  for (size_t k = 0; k < kernels_.size(); ++k) {
    for (size_t i = 0; i < kernels_[k].places.size(); ++i) {
      if (kernels_[k].places[i] != Place::kOwn) continue;
      const int parameter = kernels_[k].parameters[i];
      const TensorSpec& spec = network_.kernels[k].parameters[parameter];
      CopyIntoStorage(spec, RandomTensor(spec, options.seed, parameter),
                      {At(kernels_[k].own_offset[i]), kernels_[k].compute().buffers[i].size_bytes});
    }
  }
}

KernelSequence::Call KernelSequence::Bind(int step, const LoadedKernel& kernel) const {
  Call bound;
  uint64_t constants = layout_.constants[step], spare = layout_.spare;
  int input = 0;
  for (size_t i = 0; i < kernel.places.size(); ++i) {
    const BufferInfo& buffer = kernel.compute().buffers[i];
    const auto next = [&buffer](uint64_t& offset) {
      const uint64_t at = RoundUp(offset, buffer.alignment_bytes);
      offset = at + RoundUp(buffer.size_bytes, kAlignmentMin);
      return at;
    };
    uint64_t at = kernel.own_offset[i];
    if (kernel.places[i] == Place::kConstant) at = next(constants);
    if (kernel.places[i] == Place::kSpare) at = next(spare);
    if (kernel.places[i] == Place::kActivation) {
      int place = step % kPlaceCount;
      if (buffer.role == ArgumentRole::kInput) {
        const bool is_old = input >= static_cast<int>(std::size(kInputAges));
        const int age = is_old ? step + 1 : kInputAges[input];
        // What is older than the model's first step was written by nobody: a place of its own, the
        // last.
        place = age > step ? kPlaceCount : (step - age) % kPlaceCount;
        ++input;
      }
      at = RoundUp(layout_.activations[place], buffer.alignment_bytes);
    }
    bound.buffers.push_back(At(at));
  }
  BurnishKernelContext& context = bound.call.context;
  context.buffer_count = static_cast<uint32_t>(bound.buffers.size());
  context.scratch_bytes_per_worker = ScratchStride(kernel.compute());
  if (kernel.compute().scratch_bytes_per_worker > 0) context.scratch = At(layout_.scratch);
  if (kernel.compute().shared_scratch_bytes > 0) {
    context.shared_scratch = At(layout_.shared_scratch);
  }
  bound.call.kernel = kernel.artifact->kernel(0);
  return bound;
}

RuntimeStatus KernelSequence::RunPass(int64_t pass, std::span<int64_t> step_ns) {
  return TimeCallsInTurn(
      pool_, {calls_.data() + pass * step_count_, static_cast<size_t>(step_count_)}, step_ns);
}

}  // namespace burnish
