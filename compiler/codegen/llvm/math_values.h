// What transcendental functions are emitted of: numbers like the operand, and the steps that
// several functions share. Internal to math_emitter.
#ifndef COMPILER_CODEGEN_LLVM_MATH_VALUES_H_
#define COMPILER_CODEGEN_LLVM_MATH_VALUES_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "compiler/codegen/llvm/math_emitter.h"

namespace llvm {
class Function;
class Type;
}  // namespace llvm

namespace burnish {

// Values of one floating-point type, all scalar or all vectors of one length.
class MathValues {
 public:
  // `type`: float, double, or a vector of them.
  MathValues(llvm::IRBuilderBase& builder, const MathUnits& units, llvm::Type* type);

 protected:
  using Value = llvm::Value;

  llvm::Type* Like(llvm::Type* scalar) const;  // As many lanes.
  llvm::Type* Int32() const;
  llvm::Type* Bits() const;  // Integers of the values' own width.
  Value* Number(double value) const;
  static Value* Int(llvm::Type* type, int64_t value);
  Value* Add(Value* a, Value* b);
  Value* Sub(Value* a, Value* b);
  Value* Mul(Value* a, Value* b);
  Value* Abs(Value* a);
  // A NaN in x stays one.
  Value* AtMost(Value* x, double limit);
  Value* AtLeast(Value* x, double limit);

  // The nearest integer as a float and as i32, |x| < 2^22 (doubles: 2^31). By adding a number whose
  // last bit counts ones: no conversion, which NaN would make undefined.
  std::pair<Value*, Value*> RoundToInt(Value* x);
  Value* PowerOfTwo(Value* n);                       // Of an i32 in the exponent's range.
  Value* Scale(Value* x, Value* rounded, Value* n);  // x * 2^n; `rounded` is n as a float.
  // x to the power y, where `power` is |x| to the power y for |x| that is no zero and y that is
  // finite: the sign, and the cases that C lists.
  Value* PowerCases(Value* x, Value* y, Value* power);

  // `slow()` in lanes where `condition` is set, by a jump around it; `otherwise` elsewhere.
  std::vector<Value*> WhereAny(Value* condition, const std::vector<Value*>& otherwise,
                               const std::function<std::vector<Value*>()>& slow);
  // A function of one number lane after lane, out of line: it stands in code that is seldom run,
  // and there may be much of that. Where it gives a struct, the result is one of vectors.
  Value* CallByLane(llvm::Function* function, Value* x);

  llvm::IRBuilderBase& b_;
  const MathUnits units_;
  llvm::Type* const type_;
  const bool is_f64_;
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_MATH_VALUES_H_
