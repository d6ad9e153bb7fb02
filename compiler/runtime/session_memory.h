// Where a session's tensors lie: in memory of its own, in what callers have bound, or in the
// caller's tensors of the call that is under way. Internal to Session.
#ifndef COMPILER_RUNTIME_SESSION_MEMORY_H_
#define COMPILER_RUNTIME_SESSION_MEMORY_H_

#include <cstdint>
#include <vector>

#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/call_tensor.h"
#include "compiler/runtime/huge_page_arena.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

class SessionMemory {
 public:
  // What kernels use beside tensors; null where there is none.
  struct Scratch {
    uint8_t* of_workers = nullptr;
    uint64_t bytes_per_worker = 0;
    uint8_t* shared = nullptr;
  };

  // All of a session's own, for so many workers; `model` must live as long as this.
  // kResourceExhausted: no memory.
  static RuntimeOr<SessionMemory> Allocate(const Model& model, int worker_count);

  // Null for a walker's place, until its loop runs.
  uint8_t* Address(const Place& place) const;
  const Scratch& scratch() const { return scratch_; }

  // Below, `region` is kInput or kOutput, and `index` one of the model's.
  size_t count(Region region) const { return Of(region).own.size(); }
  uint8_t* own(Region region, size_t index) const { return Of(region).own[index]; }
  bool is_bound(Region region, size_t index) const { return Of(region).bound[index] != nullptr; }
  uint8_t* of_call(Region region, size_t index) const { return Of(region).of_call[index]; }

  // As Session::BindInput and BindOutput say. Null: none.
  RuntimeStatus Bind(Region region, size_t index, void* memory, uint64_t size_bytes);
  // Whether kernels can work on this memory of the caller.
  bool CanTake(Region region, size_t index, const CallTensor& tensor) const;
  void SetOfCall(Region region, size_t index, uint8_t* memory);
  // Forgets the caller's tensors.
  void EndCall();

 private:
  // By number of the input (output).
  struct Tensors {
    std::vector<uint8_t*> of_call, bound, own;
    std::vector<uint32_t> alignment;  // As the kernels want it; 0: stored with gaps.
  };

  const Tensors& Of(Region region) const { return region == Region::kInput ? inputs_ : outputs_; }
  Tensors& Of(Region region) { return region == Region::kInput ? inputs_ : outputs_; }
  const std::vector<ModelTensor>& TensorsOf(Region region) const;
  std::vector<uint32_t> AlignmentsOf(Region region) const;
  RuntimeStatus CheckBinding(Region region, size_t index, const void* memory,
                             uint64_t size_bytes) const;

  const Model* model_ = nullptr;
  HugePageArena memory_;
  uint8_t* arena_ = nullptr;
  Scratch scratch_;
  Tensors inputs_, outputs_;
};

// kInvalidArgument: not dense_bytes() of the tensor.
RuntimeStatus CheckDenseSize(const TensorInfo& tensor, uint64_t size_bytes);
// kOutOfRange: "got WHAT INDEX, want less than COUNT".
RuntimeStatus NoSuch(const char* what, size_t index, size_t count);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SESSION_MEMORY_H_
