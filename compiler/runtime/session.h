// Runs a model: its own activations, the model's shared weights, and a pool of threads that it may
// share with other sessions.
#ifndef COMPILER_RUNTIME_SESSION_H_
#define COMPILER_RUNTIME_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compiler/runtime/call_tensor.h"
#include "compiler/runtime/control_walk.h"
#include "compiler/runtime/fork_registration.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/session_memory.h"
#include "compiler/runtime/session_sizes.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/runtime/trimmed_steps.h"

namespace burnish {

// Thread-safe: calls on one session wait for each other, runs on one pool too. For inferences at
// the same time, give each thread a session of its own with a pool of its own.
//
// Dense bytes below are row-major without gaps: TensorInfo::dense_bytes() of them.
class Session {
 public:
  // Also makes the fills of the manifest. kResourceExhausted: no memory.
  static RuntimeOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Model> model,
                                                    std::shared_ptr<ThreadPool> pool);

  const BundleManifest& manifest() const { return model_->manifest(); }
  const std::shared_ptr<const Model>& model() const { return model_; }
  const std::shared_ptr<ThreadPool>& pool() const { return pool_; }

  // Copies. kInvalidArgument: another size than dense_bytes(), of an input: in its shape by the
  // sizes that are set, of an output: in its shape of the last run; kFailedPrecondition: SetInput
  // on a bound input (write to the bound memory instead). GetOutput before the first Run gives
  // zeros.
  RuntimeStatus SetInput(size_t index, std::span<const uint8_t> dense);
  RuntimeStatus GetOutput(size_t index, std::span<uint8_t> dense);
  // The output's shape in the last run, where the data decides about its extents; before the first
  // run the least that it may be. `index` must be one of the model's.
  std::vector<int64_t> OutputShape(size_t index);

  // What inputs give of the manifest's run sizes, one each, for the next SetInput and Run; others
  // are passed over. The greatest before the first call. kInvalidArgument: outside of its range.
  RuntimeStatus SetSizes(std::span<const int64_t> extents);
  // An input's shape by the sizes that are set. `index` must be one of the model's.
  std::vector<int64_t> InputShape(size_t index);

  // From now on, runs read (write) the caller's memory, of dense_bytes(); it must live until the
  // next bind or the session's end. nullptr: back to the session's own memory. kFailedPrecondition
  // when the model stores the tensor otherwise than densely (see TensorInfo::IsDense), or the
  // memory is not aligned as its kernels want (RegionAlignment, at most 4096).
  RuntimeStatus BindInput(size_t index, const void* memory, uint64_t size_bytes);
  RuntimeStatus BindOutput(size_t index, void* memory, uint64_t size_bytes);

  // One inference, by the smallest of the model's variants that serves the sizes that are set. When
  // a step's kernel returns an error, all further steps are skipped and the error names the step;
  // the outputs are then unspecified.
  RuntimeStatus Run();

  // One inference, with the nanoseconds of each step (its barrier included) as the pool's first
  // thread sees them; of a step in a loop: of all its iterations. `step_ns`: one per step.
  RuntimeStatus RunProfiled(std::span<int64_t> step_ns);

  // One inference with `after(step, buffers)` behind each step but the last, on one thread, while
  // the others wait: what it changes in the step's memory, the next steps read. `buffers`: those of
  // ModelStep::buffers. kFailedPrecondition: a model with control flow, whose steps have no order.
  using StepObserver = std::function<void(size_t step, std::span<void* const> buffers)>;
  RuntimeStatus RunObserved(const StepObserver& after);

  // One inference on the caller's tensors, all of the model's inputs and outputs in order, each
  // checked by CheckCallTensor against the model's; keeps none of them. Reads and writes them in
  // place where the model stores them densely and their address is aligned as its kernels want, and
  // copies else. An output may share memory with inputs: it is written as if all of them had been
  // read before; not with another output. `step_ns`: empty, or as for RunProfiled. `extents`:
  // empty where no input has a size to give, or one for each of the manifest's run sizes: has those
  // that inputs give, and is set to this run's. They stay as by SetSizes. Without `step_ns`, which
  // is by the model's own steps, the smallest of its variants that serves the sizes runs.
  //
  // An output whose extents the data decides lies densely in this run's shape from its first
  // element on, or by the strides that the caller gave.
  //
  // What SetInput set and GetOutput would give is unspecified afterwards.
  RuntimeStatus RunTensors(std::span<const CallTensor> inputs, std::span<const CallTensor> outputs,
                           std::span<int64_t> step_ns, std::span<int64_t> extents = {});

  // Of loops whose count or end only a run knows: a run in which one of them goes on after so many
  // iterations ends with kResourceExhausted and the loop's name.
  void SetLoopLimit(uint64_t iterations);
  static constexpr uint64_t kDefaultLoopLimit = 1'000'000;

  // Runs up to and including `step` and copies its output number `output` (ModelStep::outputs). Of
  // a step in a loop: in its first iteration. kFailedPrecondition: with these inputs the step does
  // not run.
  // Memory of later steps may hold anything meanwhile; a following Run is right again.
  RuntimeStatus DebugOutput(size_t step, size_t output, std::span<uint8_t> dense);

 private:
  Session(std::shared_ptr<const Model> model, std::shared_ptr<ThreadPool> pool,
          SessionMemory memory)
      : model_(std::move(model)),
        pool_(std::move(pool)),
        memory_(std::move(memory)),
        sizes_(manifest()),
        trimmed_(manifest(), memory_) {}
  void MakePlan();
  void EndCall();
  void AfterForkInChild();
  PlannedStep PlanStep(const ModelStep& step) const;
  void ResolveBuffers();
  void ResolveSlots();
  void ApplyFill(const Fill& fill);
  RuntimeStatus TakeSizes(std::span<const int64_t> extents);
  // The session of the smallest variant that serves these sizes, made when it is first wanted;
  // null: this one does.
  RuntimeOr<Session*> VariantFor(std::span<const int64_t> extents);
  // This session's own memory, or what is bound to it, for a variant's run.
  CallTensor OfThis(Region region, size_t index) const;
  RuntimeStatus RunVariant(Session& variant, std::span<const CallTensor> inputs,
                           std::vector<CallTensor> outputs, std::span<int64_t> extents);
  // Of an input that lies densely in this shape, where steps read it by a table.
  void WriteStrides(size_t input, const std::vector<int64_t>& shape);
  // The caller's tensors for a run: in place, or copied.
  void TakeInput(size_t index, const CallTensor& given);
  void TakeOutput(size_t index, const CallTensor& given, std::span<const CallTensor> inputs);
  void GiveOutput(size_t index, const CallTensor& given) const;
  // Up to and including `last_step`, or all where there is no such step; `step_ns` null: does not
  // look at the clock.
  RuntimeStatus Walk(size_t last_step, int64_t* step_ns, const StepObserver& after = nullptr);
  RuntimeStatus WalkControl(size_t last_step, int64_t* step_ns);
  RuntimeStatus WalkAll(int64_t* step_ns, const StepObserver& after = nullptr);

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<ThreadPool> pool_;

  ForkSafeMutex mutex_;  // Guards all below.
  SessionMemory memory_;
  SessionSizes sizes_;
  TrimmedSteps trimmed_;
  bool is_trimmed_ = false;  // As `sizes_` says.
  // By input; null: there is no table, or it is not read in the run's shape.
  std::vector<const InputStrides*> strides_of_;
  std::vector<std::unique_ptr<Session>> variants_;  // By the model's; null until it is wanted.
  // One for all workers; with control one a worker, since workers are in different iterations.
  std::vector<std::vector<PlannedStep>> plans_;
  ControlPlan control_;
  std::vector<WalkerTable> walker_tables_;  // By worker.
  uint64_t loop_limit_ = kDefaultLoopLimit;

  // Where the plan names inputs and outputs: all that binding changes.
  struct Slot {
    size_t step, buffer;
  };
  std::vector<Slot> slots_;

  std::optional<ForkRegistration> fork_registration_;  // Last: goes first.
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SESSION_H_
