// The tensors that a caller gives to one run, checked against the model's.
#ifndef COMPILER_RUNTIME_CALL_TENSOR_H_
#define COMPILER_RUNTIME_CALL_TENSOR_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {

// As the caller describes it: nothing of this is believed before CheckCallTensor.
struct GivenTensor {
  uint8_t* data = nullptr;
  ElementType type = ElementType::kF32;
  int32_t rank = 0;
  const int64_t* shape = nullptr;    // nullptr: as the model has it.
  const int64_t* strides = nullptr;  // In elements, any sign. nullptr: dense row-major.
  // Of the memory from `data` on. nullopt: whatever shape and strides say.
  std::optional<uint64_t> size_bytes = std::nullopt;
};

// Memory of the caller for an input or output of the model.
struct CallTensor {
  uint8_t* data = nullptr;                     // Element 0. nullptr: an output nobody wants.
  std::array<int64_t, kRankMax> strides = {};  // In elements, one per axis.
  bool is_dense = false;                       // Row-major without gaps.
  bool has_strides = false;  // As the caller gave them; else elements follow one another.
  const uint8_t *begin = nullptr, *end = nullptr;  // The bytes of all its elements; equal: none.
};

bool Overlap(const CallTensor& a, const CallTensor& b);

// kInvalidArgument, in `what`'s name ("input \"x\""): another type or shape than the model's,
// memory that is missing or too small, or, with `is_written`, strides by which two elements may lie
// in one place.
RuntimeOr<CallTensor> CheckCallTensor(const std::string& what, const TensorInfo& model,
                                      const GivenTensor& given, bool is_written);

// "f32[2,500]".
std::string TypeText(ElementType type, const int64_t* shape, size_t rank);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_CALL_TENSOR_H_
