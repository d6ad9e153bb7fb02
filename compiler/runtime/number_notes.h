// What a bundle says of its numbers, for people: in what each step computes, and how far its
// outputs are from the same model in f32. Nothing of it decides how the bundle runs.
#ifndef COMPILER_RUNTIME_NUMBER_NOTES_H_
#define COMPILER_RUNTIME_NUMBER_NOTES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {

struct NumberNotes {
  static constexpr double kNotMeasured = -1;

  // By step, what it reads what it works on as: f32, bf16, u8. Empty: not known.
  std::vector<ElementType> step_types;
  // The largest of max|got - want| / max|want| of an output, and of what inputs.
  double error = kNotMeasured;
  std::string measured_on;

  bool empty() const { return step_types.empty() && error == kNotMeasured; }

  friend bool operator==(const NumberNotes&, const NumberNotes&) = default;
};

std::string EncodeNumberNotes(const NumberNotes& notes);
// kDataLoss: not such bytes. Checks no meaning.
RuntimeOr<NumberNotes> DecodeNumberNotes(std::span<const uint8_t> bytes);
// kInvalidArgument unless there is a known type for each step or none, and the error is a number.
RuntimeStatus CheckNumberNotes(const NumberNotes& notes, size_t step_count);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_NUMBER_NOTES_H_
