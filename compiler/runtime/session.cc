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
RuntimeOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Model> model,
                                                    std::shared_ptr<ThreadPool> pool) {
  RUNTIME_ASSIGN_OR_RETURN(SessionMemory memory,
                           SessionMemory::Allocate(*model, pool->thread_count()));
  std::unique_ptr<Session> session(
      new Session(std::move(model), std::move(pool), std::move(memory)));
  session->MakePlan();
  // Once: the plan of memory lets nothing else lie where a border is, so that it stays for all
  // inferences.
  for (const Fill& fill : session->manifest().fills) session->ApplyFill(fill);
  for (const InputDefault& value : session->manifest().input_defaults) {
    RUNTIME_RETURN_IF_ERROR(session->SetInput(value.input, value.bytes()));
  }
  session->fork_registration_.emplace(
      [](void* object) { static_cast<Session*>(object)->AfterForkInChild(); }, session.get());
  return session;
}

PlannedStep Session::PlanStep(const ModelStep& step) const {
  const FunctionInfo& function = manifest().kernels[step.kernel].compute;
  const SessionMemory::Scratch& own = memory_.scratch();
  uint8_t* scratch = function.scratch_bytes_per_worker > 0 ? own.of_workers : nullptr;
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
              .scratch_bytes_per_worker = own.bytes_per_worker,
              .shared_scratch = function.shared_scratch_bytes > 0 ? own.shared : nullptr,
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
  for (size_t i = 0; i < manifest().steps.size(); ++i) {
    const std::vector<Place>& places = manifest().steps[i].buffers;
    for (size_t k = 0; k < places.size(); ++k) {
      if (places[k].region == Region::kInput || places[k].region == Region::kOutput) {
        slots_.push_back({i, k});
      }
    }
  }
  ResolveBuffers();
  trimmed_.Trim(sizes_.extents());
  is_trimmed_ = true;
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

void Session::ResolveBuffers() {
  for (std::vector<PlannedStep>& plan : plans_) {
    for (size_t i = 0; i < plan.size(); ++i) {
      const std::vector<Place>& places = manifest().steps[i].buffers;
      for (size_t k = 0; k < places.size(); ++k) plan[i].buffers[k] = memory_.Address(places[k]);
    }
  }
}

void Session::ResolveSlots() {
  for (const Slot& slot : slots_) {
    uint8_t* const address = memory_.Address(manifest().steps[slot.step].buffers[slot.buffer]);
    for (std::vector<PlannedStep>& plan : plans_) plan[slot.step].buffers[slot.buffer] = address;
  }
}

void Session::ApplyFill(const Fill& fill) {
  uint8_t* run = memory_.Address(fill.place);
  for (uint64_t repeat = 0; repeat < fill.repeat_count; ++repeat) {
    for (uint64_t offset = 0; offset < fill.size_bytes; offset += fill.element_bytes) {
      std::memcpy(run + offset, &fill.element_bits, fill.element_bytes);  // Little-endian host.
    }
    if (repeat + 1 < fill.repeat_count) run += fill.repeat_stride_bytes;
  }
}

RuntimeStatus Session::SetInput(size_t index, std::span<const uint8_t> dense) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  const size_t count = memory_.count(Region::kInput);
  if (index >= count) return NoSuch("input", index, count);
  TensorInfo tensor = manifest().inputs[index].tensor;
  tensor.shape = sizes_.ShapeOfInput(index);
  RUNTIME_RETURN_IF_ERROR(CheckDenseSize(tensor, dense.size()));
  if (memory_.is_bound(Region::kInput, index)) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                         "input \"" + tensor.name + "\" is bound to the caller's memory");
  }
  CopyIntoStorage(tensor, dense.data(), memory_.own(Region::kInput, index));
  return RuntimeStatus();
}

RuntimeStatus Session::GetOutput(size_t index, std::span<uint8_t> dense) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  const size_t count = memory_.count(Region::kOutput);
  if (index >= count) return NoSuch("output", index, count);
  TensorInfo tensor = manifest().outputs[index].tensor;
  tensor.shape = sizes_.ShapeOfOutput(index);
  RUNTIME_RETURN_IF_ERROR(CheckDenseSize(tensor, dense.size()));
  CopyFromStorage(tensor, memory_.Address({Region::kOutput, static_cast<uint32_t>(index), 0}),
                  dense.data());
  return RuntimeStatus();
}

std::vector<int64_t> Session::OutputShape(size_t index) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  return sizes_.ShapeOfOutput(index);
}

std::vector<int64_t> Session::InputShape(size_t index) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  return sizes_.ShapeOfInput(index);
}

RuntimeStatus Session::SetSizes(std::span<const int64_t> extents) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  return TakeSizes(extents);
}

RuntimeStatus Session::TakeSizes(std::span<const int64_t> extents) {
  RUNTIME_RETURN_IF_ERROR(sizes_.Check(extents));
  if (sizes_.Take(extents)) is_trimmed_ = false;
  return RuntimeStatus();
}

RuntimeOr<Session*> Session::VariantFor(std::span<const int64_t> extents) {
  const std::vector<std::shared_ptr<const Model>>& models = model_->variants();
  variants_.resize(models.size());
  for (size_t v = 0; v < models.size(); ++v) {
    if (!sizes_.AreServedBy(models[v]->manifest().run_sizes.sizes, extents)) continue;
    if (variants_[v] == nullptr) {
      RUNTIME_ASSIGN_OR_RETURN(variants_[v], Create(models[v], pool_));
    }
    variants_[v]->SetLoopLimit(loop_limit_);
    return variants_[v].get();
  }
  return static_cast<Session*>(nullptr);
}

void Session::WriteStrides(size_t input, const std::vector<int64_t>& shape) {
  // CheckManifest: aligned to its numbers.
  auto* const numbers = reinterpret_cast<int64_t*>(memory_.Address(strides_of_[input]->place));
  FillStrides(shape, LastSizedAxis(manifest().run_sizes, input), {numbers, shape.size() + 1});
}

RuntimeStatus Session::BindInput(size_t index, const void* memory, uint64_t size_bytes) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  // No step writes inputs: CheckManifest.
  RUNTIME_RETURN_IF_ERROR(
      memory_.Bind(Region::kInput, index, const_cast<void*>(memory), size_bytes));
  ResolveSlots();
  return RuntimeStatus();
}

RuntimeStatus Session::BindOutput(size_t index, void* memory, uint64_t size_bytes) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  RUNTIME_RETURN_IF_ERROR(memory_.Bind(Region::kOutput, index, memory, size_bytes));
  ResolveSlots();
  return RuntimeStatus();
}

RuntimeStatus Session::Run() {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (manifest().run_sizes.inputs.empty()) return WalkAll(nullptr);
  std::vector<int64_t> extents = sizes_.extents();
  RUNTIME_ASSIGN_OR_RETURN(Session* const variant, VariantFor(extents));
  if (variant == nullptr) return WalkAll(nullptr);
  std::vector<CallTensor> inputs, outputs;
  for (size_t i = 0; i < memory_.count(Region::kInput); ++i) {
    inputs.push_back(OfThis(Region::kInput, i));
  }
  for (size_t i = 0; i < memory_.count(Region::kOutput); ++i) {
    outputs.push_back(OfThis(Region::kOutput, i));
  }
  return RunVariant(*variant, inputs, std::move(outputs), extents);
}

CallTensor Session::OfThis(Region region, size_t index) const {
  const bool is_input = region == Region::kInput;
  const ModelTensor& stored = is_input ? manifest().inputs[index] : manifest().outputs[index];
  const TensorInfo& tensor = stored.tensor;
  // Without its first rows alone a tensor is as dense as with all of them.
  bool stays_dense = tensor.IsDense();
  if (is_input) {
    stays_dense = stays_dense && LastSizedAxis(manifest().run_sizes, index) <= 0;
  } else {
    for (const BoundedAxis& axis : manifest().run_sizes.axes) {
      stays_dense = stays_dense && (axis.tensor != index || axis.axis == 0);
    }
  }
  uint8_t* const memory = memory_.Address({region, static_cast<uint32_t>(index), 0});
  CallTensor given{.data = memory + tensor.offset_bytes,
                   .is_dense = stays_dense,
                   .has_strides = !stays_dense,
                   .begin = memory,
                   .end = memory + stored.storage_bytes};
  std::copy(tensor.strides.begin(), tensor.strides.end(), given.strides.begin());
  return given;
}

RuntimeStatus Session::RunVariant(Session& variant, std::span<const CallTensor> inputs,
                                  std::vector<CallTensor> outputs, std::span<int64_t> extents) {
  RuntimeStatus status = variant.RunTensors(inputs, outputs, {}, extents);
  sizes_.TakeAll(extents);
  is_trimmed_ = false;
  return status;
}

RuntimeStatus Session::RunProfiled(std::span<int64_t> step_ns) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (step_ns.size() != plans_[0].size()) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got room for " + std::to_string(step_ns.size()) + " steps, want " +
                             std::to_string(plans_[0].size()));
  }
  return WalkAll(step_ns.data());
}

RuntimeStatus Session::RunObserved(const StepObserver& after) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (!manifest().control.empty()) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition, "the model has control flow");
  }
  return WalkAll(nullptr, after);
}

RuntimeStatus Session::RunTensors(std::span<const CallTensor> inputs,
                                  std::span<const CallTensor> outputs, std::span<int64_t> step_ns,
                                  std::span<int64_t> extents) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (inputs.size() != memory_.count(Region::kInput) ||
      outputs.size() != memory_.count(Region::kOutput) ||
      (!step_ns.empty() && step_ns.size() != plans_[0].size()) ||
      (!extents.empty() && extents.size() != sizes_.extents().size())) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got a number of tensors or steps that is not the model's");
  }
  if (!manifest().run_sizes.inputs.empty()) {
    RUNTIME_RETURN_IF_ERROR(sizes_.Check(extents));
    Session* variant = nullptr;
    if (step_ns.empty()) {
      RUNTIME_ASSIGN_OR_RETURN(variant, VariantFor(extents));
    }
    if (variant != nullptr) {
      // Strides are of memory for the greatest shape, so that dense ones are not dense here.
      std::vector<CallTensor> given(outputs.begin(), outputs.end());
      for (CallTensor& output : given) output.is_dense = output.is_dense && !output.has_strides;
      return RunVariant(*variant, inputs, std::move(given), extents);
    }
    RUNTIME_RETURN_IF_ERROR(TakeSizes(extents));
  }
  for (size_t i = 0; i < inputs.size(); ++i) TakeInput(i, inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) TakeOutput(i, outputs[i], inputs);
  ResolveSlots();
  RuntimeStatus status = WalkAll(step_ns.empty() ? nullptr : step_ns.data());
  for (size_t i = 0; i < outputs.size() && status.ok(); ++i) GiveOutput(i, outputs[i]);
  std::copy_n(sizes_.extents().begin(), extents.size(), extents.begin());
  EndCall();
  return status;
}

void Session::TakeInput(size_t index, const CallTensor& given) {
  bool in_place = memory_.CanTake(Region::kInput, index, given);
  if (in_place && manifest().run_sizes.inputs.empty()) {
    memory_.SetOfCall(Region::kInput, index, given.data);
    return;
  }
  const TensorInfo& tensor = manifest().inputs[index].tensor;
  const std::vector<int64_t> shape = sizes_.ShapeOfInput(index);
  if (in_place && strides_of_[index] != nullptr) {
    // Of nothing, there is no row that could be read instead of those behind the last.
    in_place = std::find(shape.begin(), shape.end(), 0) == shape.end();
    if (in_place) WriteStrides(index, shape);
  } else if (in_place) {
    // Steps read as far as the bound, so what has less than that is not read in place.
    in_place = shape == tensor.shape;
  }
  uint8_t* const own = memory_.own(Region::kInput, index);
  memory_.SetOfCall(Region::kInput, index, in_place ? given.data : own);
  if (in_place) return;
  CopyStrided(ElementBytes(tensor.type), shape, given.data, given.strides.data(),
              own + tensor.offset_bytes, tensor.strides.data());
}

void Session::TakeOutput(size_t index, const CallTensor& given,
                         std::span<const CallTensor> inputs) {
  // An input that was copied may be overwritten; one that is read in place may not.
  bool is_read = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    is_read |= memory_.of_call(Region::kInput, i) == inputs[i].data && Overlap(inputs[i], given);
  }
  const bool in_place = !is_read && memory_.CanTake(Region::kOutput, index, given);
  memory_.SetOfCall(Region::kOutput, index,
                    in_place ? given.data : memory_.own(Region::kOutput, index));
}

// From where the run wrote it to where the caller wants it.
void Session::GiveOutput(size_t index, const CallTensor& given) const {
  if (given.data == nullptr) return;
  const TensorInfo& tensor = manifest().outputs[index].tensor;
  const int element_bytes = ElementBytes(tensor.type);
  const uint8_t* const own = memory_.own(Region::kOutput, index);
  const bool is_there = memory_.of_call(Region::kOutput, index) == given.data;
  if (manifest().run_sizes.empty()) {
    if (is_there) return;
    CopyStrided(element_bytes, tensor.shape, own + tensor.offset_bytes, tensor.strides.data(),
                given.data, given.strides.data());
    return;
  }
  TensorInfo in_run = tensor;
  in_run.shape = sizes_.ShapeOfOutput(index);
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
  for (size_t i = 0; i < strides_of_.size(); ++i) {
    // What is set or copied lies as the bound has it.
    if (strides_of_[i] != nullptr && memory_.of_call(Region::kInput, i) != nullptr) {
      WriteStrides(i, manifest().inputs[i].tensor.shape);
    }
  }
  memory_.EndCall();
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
  const ControlWalk::Run run{
      .manifest = &manifest(),
      .plan = &control_,
      .barrier = &pool_->barrier(),
      .failure = &failure,
      .loop_limit = loop_limit_,
      .last_step = static_cast<uint32_t>(last_step),
      .step_ns = step_ns,
      .address = [this](const Place& place) { return memory_.Address(place); }};
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

RuntimeStatus Session::WalkAll(int64_t* step_ns, const StepObserver& after) {
  RUNTIME_RETURN_IF_ERROR(Walk(plans_[0].size(), step_ns, after));
  return sizes_.Read(memory_);
}

RuntimeStatus Session::Walk(size_t last_step, int64_t* step_ns, const StepObserver& after) {
  if (!is_trimmed_) trimmed_.Trim(sizes_.extents());
  is_trimmed_ = true;
  sizes_.Write(memory_);
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
      const int32_t code = trimmed_.Run(i, plan[i], worker, worker_count);
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
