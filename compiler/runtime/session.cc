#include "compiler/runtime/session.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "compiler/runtime/kernel_error.h"
#include "compiler/runtime/spin_wait.h"
#include "compiler/runtime/strided_copy.h"

namespace burnish {
namespace {

constexpr uint64_t kPageBytes = 4096;  // The largest alignment that a buffer may ask for.

// Hands out page-aligned pieces of an area that is allocated once all of them are known.
class Layout {
 public:
  uint64_t Add(uint64_t size_bytes) {
    const uint64_t offset = end_;
    end_ += (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    return offset;
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
};

RuntimeStatus NoSuch(const std::string& what, size_t index, size_t count) {
  return RuntimeStatus(RuntimeCode::kOutOfRange, "got " + what + " " + std::to_string(index) +
                                                     ", want less than " + std::to_string(count));
}

RuntimeStatus CheckDenseSize(const TensorInfo& tensor, uint64_t size_bytes) {
  if (size_bytes == tensor.dense_bytes()) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kInvalidArgument,
                       "got " + std::to_string(size_bytes) + " bytes for \"" + tensor.name +
                           "\", want " + std::to_string(tensor.dense_bytes()));
}

}  // namespace

RuntimeOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Model> model,
                                                    std::shared_ptr<ThreadPool> pool) {
  std::unique_ptr<Session> session(new Session(std::move(model), std::move(pool)));
  RUNTIME_RETURN_IF_ERROR(session->AllocateMemory());
  session->MakePlan();
  // Once: the plan of memory lets nothing else lie where a border is, so that it stays for all
  // inferences.
  for (const Fill& fill : session->manifest().fills) session->ApplyFill(fill);
  session->fork_registration_.emplace(
      [](void* object) { static_cast<Session*>(object)->AfterForkInChild(); }, session.get());
  return session;
}

RuntimeStatus Session::AllocateMemory() {
  uint64_t shared_scratch_bytes = 0;
  for (const KernelManifest& kernel : manifest().kernels) {
    scratch_bytes_per_worker_ =
        std::max(scratch_bytes_per_worker_, kernel.compute.scratch_bytes_per_worker);
    shared_scratch_bytes = std::max(shared_scratch_bytes, kernel.compute.shared_scratch_bytes);
  }
  // Two cache lines apart: adjacent-line prefetchers would else make workers share lines.
  scratch_bytes_per_worker_ = (scratch_bytes_per_worker_ + 127) / 128 * 128;

  // Each area is at most 1 TiB and there are fewer than 2^20: the sum does not overflow.
  const uint64_t area_count = manifest().inputs.size() + manifest().outputs.size();
  if (area_count >= uint64_t{1} << 20) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "got too many inputs and outputs");
  }
  Layout layout;
  const uint64_t arena = layout.Add(manifest().arena_bytes);
  const uint64_t scratch = layout.Add(scratch_bytes_per_worker_ * pool_->thread_count());
  const uint64_t shared_scratch = layout.Add(shared_scratch_bytes);
  std::vector<uint64_t> inputs, outputs;
  for (const ModelTensor& input : manifest().inputs) {
    inputs.push_back(layout.Add(input.storage_bytes));
  }
  for (const ModelTensor& output : manifest().outputs) {
    outputs.push_back(layout.Add(output.storage_bytes));
  }
  // One allocation: huge pages are two megabytes each, and many small areas would waste most of
  // them.
  RUNTIME_ASSIGN_OR_RETURN(memory_, HugePageArena::Allocate(layout.end()));
  uint8_t* base = memory_.bytes().data();
  arena_ = base + arena;
  scratch_ = base + scratch;
  shared_scratch_ = base + shared_scratch;
  const auto memories_at = [base](const std::vector<uint64_t>& offsets) {
    Memories memories;
    for (uint64_t offset : offsets) memories.own.push_back(base + offset);
    memories.bound.resize(offsets.size());
    memories.of_call.resize(offsets.size());
    return memories;
  };
  inputs_ = memories_at(inputs);
  outputs_ = memories_at(outputs);
  return RuntimeStatus();
}

PlannedStep Session::PlanStep(const ModelStep& step) const {
  const FunctionInfo& function = manifest().kernels[step.kernel].compute;
  uint8_t* scratch = function.scratch_bytes_per_worker > 0 ? scratch_ : nullptr;
  // RunHostCall reads it only.
  if (const HostCall* call = model_->host_call(step.kernel); call != nullptr) {
    scratch = reinterpret_cast<uint8_t*>(const_cast<HostCall*>(call));
  }
  return {.kernel = model_->kernel(step.kernel),
          .buffers = std::vector<void*>(step.buffers.size()),
          .context = {
              .abi_version = BURNISH_KERNEL_ABI_VERSION,
              .buffer_count = static_cast<uint32_t>(step.buffers.size()),
              .buffers = nullptr,  // Once the step has its place.
              .scratch = scratch,
              .scratch_bytes_per_worker = scratch_bytes_per_worker_,
              .shared_scratch = function.shared_scratch_bytes > 0 ? shared_scratch_ : nullptr,
              .barrier = &SpinBarrier::WaitCallback,
              .barrier_arg = &pool_->barrier(),
          }};
}

void Session::MakePlan() {
  const bool has_control = !manifest().control.empty();
  plans_.resize(has_control ? pool_->thread_count() : 1);
  for (std::vector<PlannedStep>& plan : plans_) {
    plan.reserve(manifest().steps.size());
    for (const ModelStep& step : manifest().steps) plan.push_back(PlanStep(step));
    for (PlannedStep& step : plan) step.context.buffers = step.buffers.data();
  }
  if (has_control) {
    control_ = PlanControl(manifest());
    const std::vector<uint8_t*> nowhere(manifest().control.walkers.size(), nullptr);
    walker_tables_.assign(plans_.size(), {.at = nowhere, .base = nowhere, .first = nowhere});
  }
  is_given_ = manifest().run_sizes.GivenSizes();
  for (size_t i = 0; i < is_given_.size(); ++i) {
    const RunSize& size = manifest().run_sizes.sizes[i];
    extents_.push_back(is_given_[i] ? size.greatest : size.least);
  }
  FindSlots();
  ResolveBuffers();
  TrimSteps();
  strides_of_.resize(manifest().inputs.size());
  for (const InputStrides& table : manifest().input_strides) {
    strides_of_[table.input] = &table;
    WriteStrides(table.input, manifest().inputs[table.input].tensor.shape);
    if (!table.in_place) strides_of_[table.input] = nullptr;
  }
}

void Session::AfterForkInChild() {
  // A thread of the parent may have been in a call: its tensors are nobody's here.
  mutex_.Reset();
  EndCall();
}

void Session::FindSlots() {
  for (size_t i = 0; i < manifest().steps.size(); ++i) {
    const std::vector<Place>& places = manifest().steps[i].buffers;
    for (size_t k = 0; k < places.size(); ++k) {
      if (places[k].region == Region::kInput || places[k].region == Region::kOutput) {
        slots_.push_back({i, k});
      }
    }
  }
  const auto alignments = [this](Region region, const std::vector<ModelTensor>& tensors) {
    std::vector<uint32_t> alignment;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorInfo& tensor = tensors[i].tensor;
      // The caller's memory has no gaps but those that the caller knows of, and a step's strides
      // are compiled into its kernel.
      const bool is_dense = tensor.IsDense() && tensors[i].storage_bytes == tensor.dense_bytes();
      alignment.push_back(is_dense ? RegionAlignment(manifest(), region, static_cast<uint32_t>(i))
                                   : 0);
    }
    return alignment;
  };
  input_alignment_ = alignments(Region::kInput, manifest().inputs);
  output_alignment_ = alignments(Region::kOutput, manifest().outputs);
}

void Session::ResolveBuffers() {
  for (std::vector<PlannedStep>& plan : plans_) {
    for (size_t i = 0; i < plan.size(); ++i) {
      const std::vector<Place>& places = manifest().steps[i].buffers;
      for (size_t k = 0; k < places.size(); ++k) plan[i].buffers[k] = Address(places[k]);
    }
  }
}

void Session::ResolveSlots() {
  for (const Slot& slot : slots_) {
    uint8_t* const address = Address(manifest().steps[slot.step].buffers[slot.buffer]);
    for (std::vector<PlannedStep>& plan : plans_) plan[slot.step].buffers[slot.buffer] = address;
  }
}

uint8_t* Session::Address(const Place& place) const {
  const auto pick = [&place](const Memories& memories) {
    if (memories.of_call[place.index] != nullptr) return memories.of_call[place.index];
    if (memories.bound[place.index] != nullptr) return memories.bound[place.index];
    return memories.own[place.index];
  };
  switch (place.region) {
    case Region::kArena:
      return arena_ + place.offset_bytes;
    case Region::kWeights:
      return model_->weights().data() + place.offset_bytes;
    case Region::kInput:
      return pick(inputs_) + place.offset_bytes;
    case Region::kOutput:
      return pick(outputs_) + place.offset_bytes;
    case Region::kWalker:
      return nullptr;  // Until its loop runs.
  }
  return nullptr;  // CheckManifest lets no other region through.
}

void Session::ApplyFill(const Fill& fill) {
  uint8_t* run = Address(fill.place);
  for (uint64_t repeat = 0; repeat < fill.repeat_count; ++repeat) {
    for (uint64_t offset = 0; offset < fill.size_bytes; offset += fill.element_bytes) {
      std::memcpy(run + offset, &fill.element_bits, fill.element_bytes);  // Little-endian host.
    }
    if (repeat + 1 < fill.repeat_count) run += fill.repeat_stride_bytes;
  }
}

RuntimeStatus Session::SetInput(size_t index, std::span<const uint8_t> dense) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (index >= inputs_.own.size()) return NoSuch("input", index, inputs_.own.size());
  TensorInfo tensor = manifest().inputs[index].tensor;
  tensor.shape = ShapeOfInput(index);
  RUNTIME_RETURN_IF_ERROR(CheckDenseSize(tensor, dense.size()));
  if (inputs_.bound[index] != nullptr) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                         "input \"" + tensor.name + "\" is bound to the caller's memory");
  }
  CopyIntoStorage(tensor, dense.data(), inputs_.own[index]);
  return RuntimeStatus();
}

RuntimeStatus Session::GetOutput(size_t index, std::span<uint8_t> dense) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (index >= outputs_.own.size()) return NoSuch("output", index, outputs_.own.size());
  TensorInfo tensor = manifest().outputs[index].tensor;
  tensor.shape = ShapeOfOutput(index);
  RUNTIME_RETURN_IF_ERROR(CheckDenseSize(tensor, dense.size()));
  CopyFromStorage(tensor, Address({Region::kOutput, static_cast<uint32_t>(index), 0}),
                  dense.data());
  return RuntimeStatus();
}

std::vector<int64_t> Session::ShapeOfOutput(size_t index) const {
  return ShapeInRun(manifest().run_sizes, Region::kOutput, index,
                    manifest().outputs[index].tensor.shape, extents_);
}

std::vector<int64_t> Session::OutputShape(size_t index) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  return ShapeOfOutput(index);
}

std::vector<int64_t> Session::ShapeOfInput(size_t index) const {
  return InputShapeInRun(manifest().run_sizes, index, manifest().inputs[index].tensor.shape,
                         extents_);
}

std::vector<int64_t> Session::InputShape(size_t index) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  return ShapeOfInput(index);
}

RuntimeStatus Session::SetSizes(std::span<const int64_t> extents) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  return TakeSizes(extents);
}

RuntimeStatus Session::CheckSizes(std::span<const int64_t> extents) const {
  const std::vector<RunSize>& sizes = manifest().run_sizes.sizes;
  if (extents.size() != sizes.size()) {
    return RuntimeStatus(
        RuntimeCode::kInvalidArgument,
        "got " + std::to_string(extents.size()) + " sizes, want " + std::to_string(sizes.size()));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!is_given_[i]) continue;
    if (extents[i] < sizes[i].least || extents[i] > sizes[i].greatest) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument,
                           "size \"" + sizes[i].name + "\" is " + std::to_string(extents[i]) +
                               ", want " + std::to_string(sizes[i].least) + " to " +
                               std::to_string(sizes[i].greatest));
    }
  }
  return RuntimeStatus();
}

RuntimeStatus Session::TakeSizes(std::span<const int64_t> extents) {
  RUNTIME_RETURN_IF_ERROR(CheckSizes(extents));
  bool is_new = !is_trimmed_;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (!is_given_[i]) continue;
    is_new = is_new || extents_[i] != extents[i];
    extents_[i] = extents[i];
  }
  if (is_new) TrimSteps();
  return RuntimeStatus();
}

RuntimeOr<Session*> Session::VariantFor(std::span<const int64_t> extents) {
  const std::vector<std::shared_ptr<const Model>>& models = model_->variants();
  variants_.resize(models.size());
  for (size_t v = 0; v < models.size(); ++v) {
    const std::vector<RunSize>& sizes = models[v]->manifest().run_sizes.sizes;
    bool serves = true;
    for (size_t i = 0; i < sizes.size(); ++i) {
      serves = serves &&
               (!is_given_[i] || (extents[i] >= sizes[i].least && extents[i] <= sizes[i].greatest));
    }
    if (!serves) continue;
    if (variants_[v] == nullptr) {
      RUNTIME_ASSIGN_OR_RETURN(variants_[v], Create(models[v], pool_));
    }
    variants_[v]->SetLoopLimit(loop_limit_);
    return variants_[v].get();
  }
  return static_cast<Session*>(nullptr);
}

void Session::TrimSteps() {
  is_trimmed_ = true;
  for (const LiveTable& table : manifest().live) {
    FillLiveTable(table, extents_, {Address(table.place), table.size_bytes});
  }
  if (manifest().trims.empty()) return;
  trimmed_.resize(manifest().steps.size());
  for (const StepTrim& trim : manifest().trims) {
    Trimmed& step = trimmed_[trim.step];
    step.iterations = trim.iterations;
    step.needed = NeededIterations(trim, extents_);
    step.is_less = step.needed.size() < trim.iterations;
  }
}

// Of a kernel with one parallel loop, worker p of as many as there are iterations does iteration p:
// so single ones can be chosen, with each thread's own scratch.
int32_t Session::RunStep(size_t step, int worker, int worker_count) const {
  const PlannedStep& planned = plans_[0][step];
  if (trimmed_.empty() || !trimmed_[step].is_less) {
    return planned.kernel(&planned.context, worker, worker_count);
  }
  const Trimmed& trimmed = trimmed_[step];
  BurnishKernelContext context = planned.context;
  // Workers that are none do not wait for each other.
  context.barrier = [](void*) {};
  const size_t count = trimmed.needed.size();
  const size_t first = count * static_cast<size_t>(worker) / static_cast<size_t>(worker_count);
  const size_t end = count * static_cast<size_t>(worker + 1) / static_cast<size_t>(worker_count);
  int32_t code = BURNISH_KERNEL_OK;
  for (size_t i = first; i < end; ++i) {
    const auto iteration = static_cast<int64_t>(trimmed.needed[i]);
    if (planned.context.scratch != nullptr) {
      // The kernel adds its worker's share: that of this thread comes out.
      const auto shift = static_cast<uint64_t>(worker - iteration) * scratch_bytes_per_worker_;
      context.scratch = reinterpret_cast<uint8_t*>(
          reinterpret_cast<uintptr_t>(planned.context.scratch) + static_cast<uintptr_t>(shift));
    }
    const int32_t got = planned.kernel(&context, static_cast<int32_t>(iteration),
                                       static_cast<int32_t>(trimmed.iterations));
    if (code == BURNISH_KERNEL_OK) code = got;
  }
  return code;
}

// To where steps read them.
void Session::WriteSizes() {
  for (size_t i = 0; i < extents_.size(); ++i) {
    if (!is_given_[i]) continue;
    std::memcpy(Address(manifest().run_sizes.sizes[i].place), &extents_[i], sizeof(extents_[i]));
  }
}

void Session::WriteStrides(size_t input, const std::vector<int64_t>& shape) {
  // CheckManifest: aligned to its numbers.
  auto* const numbers = reinterpret_cast<int64_t*>(Address(strides_of_[input]->place));
  FillStrides(shape, LastSizedAxis(manifest().run_sizes, input), {numbers, shape.size() + 1});
}

RuntimeStatus Session::ReadExtents() {
  const std::vector<RunSize>& sizes = manifest().run_sizes.sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (is_given_[i]) continue;
    int64_t extent = 0;
    std::memcpy(&extent, Address(sizes[i].place), sizeof(extent));
    // Shapes are bounded by it, and the bundle may be a stranger's.
    if (extent < sizes[i].least || extent > sizes[i].greatest) {
      return RuntimeStatus(RuntimeCode::kInternal, "size \"" + sizes[i].name + "\" is " +
                                                       std::to_string(extent) + ", want " +
                                                       std::to_string(sizes[i].least) + " to " +
                                                       std::to_string(sizes[i].greatest));
    }
    extents_[i] = extent;
  }
  return RuntimeStatus();
}

RuntimeStatus Session::CheckBinding(Region region, size_t index, const void* memory,
                                    uint64_t size_bytes) const {
  const std::vector<ModelTensor>& all =
      region == Region::kInput ? manifest().inputs : manifest().outputs;
  if (index >= all.size()) {
    return NoSuch(region == Region::kInput ? "input" : "output", index, all.size());
  }
  if (memory == nullptr) return RuntimeStatus();
  const TensorInfo& tensor = all[index].tensor;
  RUNTIME_RETURN_IF_ERROR(CheckDenseSize(tensor, size_bytes));
  const uint32_t alignment =
      (region == Region::kInput ? input_alignment_ : output_alignment_)[index];
  if (alignment == 0) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                         "\"" + tensor.name + "\" cannot be bound: the model stores it with gaps");
  }
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                         "the memory bound to \"" + tensor.name + "\" must be aligned to " +
                             std::to_string(alignment) + " bytes");
  }
  return RuntimeStatus();
}

RuntimeStatus Session::BindInput(size_t index, const void* memory, uint64_t size_bytes) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  RUNTIME_RETURN_IF_ERROR(CheckBinding(Region::kInput, index, memory, size_bytes));
  // No step writes inputs: CheckManifest.
  inputs_.bound[index] = static_cast<uint8_t*>(const_cast<void*>(memory));
  ResolveSlots();
  return RuntimeStatus();
}

RuntimeStatus Session::BindOutput(size_t index, void* memory, uint64_t size_bytes) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  RUNTIME_RETURN_IF_ERROR(CheckBinding(Region::kOutput, index, memory, size_bytes));
  outputs_.bound[index] = static_cast<uint8_t*>(memory);
  ResolveSlots();
  return RuntimeStatus();
}

RuntimeStatus Session::Run() {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  RUNTIME_RETURN_IF_ERROR(Walk(plans_[0].size(), nullptr));
  return ReadExtents();
}

RuntimeStatus Session::RunProfiled(std::span<int64_t> step_ns) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (step_ns.size() != plans_[0].size()) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got room for " + std::to_string(step_ns.size()) + " steps, want " +
                             std::to_string(plans_[0].size()));
  }
  RUNTIME_RETURN_IF_ERROR(Walk(plans_[0].size(), step_ns.data()));
  return ReadExtents();
}

RuntimeStatus Session::RunObserved(const StepObserver& after) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (!manifest().control.empty()) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition, "the model has control flow");
  }
  RUNTIME_RETURN_IF_ERROR(Walk(plans_[0].size(), nullptr, after));
  return ReadExtents();
}

bool Session::MayBind(Region region, size_t index, const CallTensor& tensor) const {
  const uint32_t alignment =
      (region == Region::kInput ? input_alignment_ : output_alignment_)[index];
  return tensor.is_dense && tensor.data != nullptr && alignment != 0 &&
         reinterpret_cast<uintptr_t>(tensor.data) % alignment == 0;
}

RuntimeStatus Session::RunTensors(std::span<const CallTensor> inputs,
                                  std::span<const CallTensor> outputs, std::span<int64_t> step_ns,
                                  std::span<int64_t> extents) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (inputs.size() != inputs_.own.size() || outputs.size() != outputs_.own.size() ||
      (!step_ns.empty() && step_ns.size() != plans_[0].size()) ||
      (!extents.empty() && extents.size() != extents_.size())) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got a number of tensors or steps that is not the model's");
  }
  if (!manifest().run_sizes.inputs.empty()) {
    RUNTIME_RETURN_IF_ERROR(CheckSizes(extents));
    Session* variant = nullptr;
    if (step_ns.empty()) {
      RUNTIME_ASSIGN_OR_RETURN(variant, VariantFor(extents));
    }
    if (variant != nullptr) {
      // Strides are of memory for the greatest shape, so that dense ones are not dense here.
      std::vector<CallTensor> given(outputs.begin(), outputs.end());
      for (CallTensor& output : given) output.is_dense = output.is_dense && !output.has_strides;
      RuntimeStatus status = variant->RunTensors(inputs, given, {}, extents);
      std::copy(extents.begin(), extents.end(), extents_.begin());
      is_trimmed_ = false;
      return status;
    }
    RUNTIME_RETURN_IF_ERROR(TakeSizes(extents));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool may_bind = MayBind(Region::kInput, i, inputs[i]);
    if (may_bind && !manifest().run_sizes.inputs.empty()) {
      const std::vector<int64_t> shape = ShapeOfInput(i);
      if (strides_of_[i] != nullptr) {
        // Of nothing, there is no row that could be read instead of those behind the last.
        may_bind = std::find(shape.begin(), shape.end(), 0) == shape.end();
        if (may_bind) WriteStrides(i, shape);
      } else {
        // Steps read as far as the bound, so what has less than that is not read in place.
        may_bind = shape == manifest().inputs[i].tensor.shape;
      }
    }
    if (may_bind) {
      inputs_.of_call[i] = inputs[i].data;
      continue;
    }
    CopyIn(i, inputs[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    // An input that was copied may be overwritten; one that is read in place may not.
    bool is_read = false;
    for (size_t k = 0; k < inputs.size(); ++k) {
      is_read |= inputs_.of_call[k] == inputs[k].data && Overlap(inputs[k], outputs[i]);
    }
    outputs_.of_call[i] =
        !is_read && MayBind(Region::kOutput, i, outputs[i]) ? outputs[i].data : outputs_.own[i];
  }
  ResolveSlots();
  RuntimeStatus status = Walk(plans_[0].size(), step_ns.empty() ? nullptr : step_ns.data());
  if (status.ok()) status = ReadExtents();
  for (size_t i = 0; i < outputs.size() && status.ok(); ++i) GiveOutput(i, outputs[i]);
  std::copy(extents_.begin(), extents_.begin() + static_cast<int64_t>(extents.size()),
            extents.begin());
  EndCall();
  return status;
}

void Session::CopyIn(size_t index, const CallTensor& given) {
  const TensorInfo& tensor = manifest().inputs[index].tensor;
  const std::vector<int64_t> shape = ShapeOfInput(index);
  inputs_.of_call[index] = inputs_.own[index];
  CopyStrided(ElementBytes(tensor.type), shape, given.data, given.strides.data(),
              inputs_.own[index] + tensor.offset_bytes, tensor.strides.data());
}

// From where the run wrote it to where the caller wants it.
void Session::GiveOutput(size_t index, const CallTensor& given) const {
  if (given.data == nullptr) return;
  const TensorInfo& tensor = manifest().outputs[index].tensor;
  const int element_bytes = ElementBytes(tensor.type);
  const uint8_t* const own = outputs_.own[index];
  const bool is_there = outputs_.of_call[index] == given.data;
  if (manifest().run_sizes.empty()) {
    if (is_there) return;
    CopyStrided(element_bytes, tensor.shape, own + tensor.offset_bytes, tensor.strides.data(),
                given.data, given.strides.data());
    return;
  }
  TensorInfo in_run = tensor;
  in_run.shape = ShapeOfOutput(index);
  if (is_there) {
    if (!given.has_strides) {
      MoveTogether(element_bytes, tensor.shape, in_run.shape, given.data);
    }
  } else if (given.has_strides) {
    CopyStrided(element_bytes, in_run.shape, own + tensor.offset_bytes, tensor.strides.data(),
                given.data, given.strides.data());
  } else {
    CopyFromStorage(in_run, own, given.data);
  }
}

// Forgets the caller's memory.
void Session::EndCall() {
  for (size_t i = 0; i < inputs_.of_call.size(); ++i) {
    // What is set or copied lies as the bound has it.
    if (strides_of_[i] != nullptr && inputs_.of_call[i] != nullptr) {
      WriteStrides(i, manifest().inputs[i].tensor.shape);
    }
    inputs_.of_call[i] = nullptr;
  }
  std::fill(outputs_.of_call.begin(), outputs_.of_call.end(), nullptr);
  ResolveSlots();
}

RuntimeStatus Session::DebugOutput(size_t step, size_t output, std::span<uint8_t> dense) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (step >= plans_[0].size()) return NoSuch("step", step, plans_[0].size());
  const std::vector<StepOutput>& outputs = manifest().steps[step].outputs;
  if (output >= outputs.size()) return NoSuch("step output", output, outputs.size());
  const StepOutput& wanted = outputs[output];
  RUNTIME_RETURN_IF_ERROR(CheckDenseSize(wanted.tensor, dense.size()));
  RUNTIME_RETURN_IF_ERROR(Walk(step, nullptr));
  CopyFromStorage(wanted.tensor,
                  static_cast<const uint8_t*>(plans_[0][step].buffers[wanted.buffer]),
                  dense.data());
  return RuntimeStatus();
}

void Session::SetLoopLimit(uint64_t iterations) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  loop_limit_ = iterations;
}

RuntimeStatus Session::WalkControl(size_t last_step, int64_t* step_ns) {
  WalkFailure failure;
  bool reached = false;
  const ControlWalk::Run run{.manifest = &manifest(),
                             .plan = &control_,
                             .barrier = &pool_->barrier(),
                             .failure = &failure,
                             .loop_limit = loop_limit_,
                             .last_step = static_cast<uint32_t>(last_step),
                             .step_ns = step_ns,
                             .address = [this](const Place& place) { return Address(place); }};
  RUNTIME_RETURN_IF_ERROR(pool_->RunOnThoseThatCome([&](int worker, int worker_count) {
    ControlWalk walk(run, plans_[worker], walker_tables_[worker], worker, worker_count);
    walk.Walk();
    if (worker == 0) reached = walk.reached();
  }));
  RUNTIME_RETURN_IF_ERROR(failure.ToStatus(manifest()));
  if (last_step < plans_[0].size() && !reached) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition, "step " + std::to_string(last_step) +
                                                               " \"" +
                                                               manifest().steps[last_step].name +
                                                               "\" does not run with these inputs");
  }
  return RuntimeStatus();
}

RuntimeStatus Session::Walk(size_t last_step, int64_t* step_ns, const StepObserver& after) {
  WriteSizes();
  if (!manifest().control.empty()) return WalkControl(last_step, step_ns);
  const std::vector<PlannedStep>& plan = plans_[0];
  const size_t step_count = std::min(last_step + 1, plan.size());
  FirstFailure failure;
  RUNTIME_RETURN_IF_ERROR(pool_->RunOnThoseThatCome([&](int worker, int worker_count) {
    SpinBarrier& barrier = pool_->barrier();
    const bool keeps_time = step_ns != nullptr && worker == 0;
    int64_t last_ns = 0;
    if (step_ns != nullptr) barrier.Wait();  // Waking up is not part of the first step.
    if (keeps_time) last_ns = MonotonicNs();
    for (size_t i = 0; i < step_count; ++i) {
      const int32_t code = RunStep(i, worker, worker_count);
      if (code != BURNISH_KERNEL_OK) failure.Record(static_cast<uint32_t>(i), code);
      barrier.Wait();
      // After the barrier all workers see the same failure, so that all leave after the same step
      // and none is left waiting.
      if (failure.IsAtOrBefore(static_cast<uint32_t>(i))) return;
      if (after != nullptr && i + 1 < step_count) {
        if (worker == 0) after(i, plan[i].buffers);
        barrier.Wait();
      }
      if (keeps_time) {
        const int64_t now_ns = MonotonicNs();
        step_ns[i] = now_ns - last_ns;
        last_ns = now_ns;
      }
    }
  }));
  if (!failure.any()) return RuntimeStatus();
  return KernelError("step " + std::to_string(failure.step()) + " \"" +
                         manifest().steps[failure.step()].name + "\"",
                     failure.code());
}

}  // namespace burnish
