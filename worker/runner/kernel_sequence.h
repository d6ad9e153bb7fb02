// Loaded kernels in a model's order, each step timed: what `refine` measures. Part of the runner.
// Free of Abseil.
#ifndef WORKER_RUNNER_KERNEL_SEQUENCE_H_
#define WORKER_RUNNER_KERNEL_SEQUENCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/huge_page_arena.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/kernel_manifest.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/runtime/time_kernel.h"
#include "worker/runner/runner_wire.h"

namespace burnish {

// Memory as a model has it, without its values:
// - Constants of a step are read at that step only, so that they are as cold as there. Candidates
// of
//   a step share the place: what they would have packed there differs in its values alone.
// - Activations go round: a step writes to one of four places; its first input is what the step
//   before wrote, further ones are three and two steps old (a residual is). The first step reads
//   what nobody writes. Where a bundle's memory plan is wider, activations are colder there.
// - Scratch is shared by all.
// Floats are random-normal at first, constants scaled down so that a chain of layers keeps its size
// roughly; what is computed may overflow all the same, which vector arithmetic takes no longer for.
// Integers are valid inputs from the seed, each kernel's own.
class KernelSequence {
 public:
  struct Options {
    uint64_t seed = 0;
    uint64_t memory_bytes_max = 0;     // More is refused with kResourceExhausted.
    std::span<const uint8_t> normals;  // Floats to fill memory with; not empty.
  };

  // `artifacts`: of the network's kernels. `pool` outlives this. Errors: of artifacts that do not
  // fit their workload, and kInvalidArgument for an order that is not one.
  static RuntimeOr<std::unique_ptr<KernelSequence>> Create(
      const NetworkSpec& network, std::vector<std::unique_ptr<Artifact>> artifacts,
      const Options& options, ThreadPool& pool);

  int64_t pass_count() const { return static_cast<int64_t>(calls_.size()) / step_count_; }
  int step_count() const { return step_count_; }

  // Runs one pass of the order. `step_ns`: one a step.
  RuntimeStatus RunPass(int64_t pass, std::span<int64_t> step_ns);

  // Where the buffers of a step lie, in the order of the call.
  std::span<void* const> buffers(int64_t pass, int step) const {
    const BurnishKernelContext& context = calls_[pass * step_count_ + step]->context;
    return {context.buffers, context.buffer_count};
  }

  // Features that the first kernel's code needs.
  const std::vector<std::string>& features() const {
    return kernels_[0].artifact->manifest().features;
  }

 private:
  enum class Place { kActivation, kConstant, kOwn, kSpare };

  struct LoadedKernel {
    std::unique_ptr<Artifact> artifact;
    std::vector<Place> places;         // Of each buffer.
    std::vector<int> parameters;       // Index into the workload's, of kOwn buffers; else -1.
    std::vector<uint64_t> own_offset;  // Of kOwn buffers.

    const FunctionInfo& compute() const { return artifact->manifest().kernels[0].compute; }
  };
  struct Call {
    KernelCall call;
    std::vector<void*> buffers;
  };
  // Offsets into `memory_`.
  struct Layout {
    uint64_t activation_bytes = 0;          // Of one place.
    std::vector<uint64_t> activations;      // kPlaceCount places, then what the first step reads.
    std::vector<uint64_t> constants;        // By step.
    std::vector<uint64_t> constants_bytes;  // By step.
    uint64_t spare = 0, scratch = 0, shared_scratch = 0;
    uint64_t end = 0;
  };

  KernelSequence(const NetworkSpec& network, ThreadPool& pool)
      : network_(network), step_count_(network.step_count), pool_(pool) {}

  RuntimeStatus CheckOrder() const;
  RuntimeStatus Add(const KernelSpec& spec, std::unique_ptr<Artifact> artifact);
  void PlaceBuffers();
  void FillMemory(const Options& options);
  Call Bind(int step, const LoadedKernel& kernel) const;

  uint8_t* At(uint64_t offset) const { return memory_.bytes().data() + offset; }

  const NetworkSpec& network_;
  const int step_count_;
  ThreadPool& pool_;
  std::vector<LoadedKernel> kernels_;
  Layout layout_;
  HugePageArena memory_;
  std::map<std::pair<int, int>, Call> bound_;  // By step and kernel.
  std::vector<KernelCall*> calls_;             // [pass][step]
};

}  // namespace burnish

#endif  // WORKER_RUNNER_KERNEL_SEQUENCE_H_
