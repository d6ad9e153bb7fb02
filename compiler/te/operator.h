// The operator library: one OperatorDef for each operator of the model graph.
#ifndef COMPILER_TE_OPERATOR_H_
#define COMPILER_TE_OPERATOR_H_

#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/te/builder.h"
#include "compiler/te/op_id.h"

namespace burnish {

using AttributeValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

// What an operator's own functions asked of its attributes: the one list of what it has, for
// frontends whose attributes come from outside under the operator's own names.
struct AttributeReads {
  std::set<std::string> names;
  std::string mistyped;  // The first attribute that was there with another type; empty: none.
};

// Attributes of a graph node, by name, in order. Getters return the default where a name is absent
// and CHECK the type: the frontend has validated attributes against the operator's rule.
class Attributes {
 public:
  // From now on getters write down in `reads` what they are asked for, and return the default for
  // an attribute of another type. Copies do so, too: null ends it. `reads` outlives that.
  void LogReads(AttributeReads* reads) { reads_ = reads; }

  void Set(std::string name, AttributeValue value) { values_[std::move(name)] = std::move(value); }
  bool Has(const std::string& name) const { return values_.count(name) > 0; }
  int64_t Int(const std::string& name, int64_t fallback) const;
  double Float(const std::string& name, double fallback) const;
  std::string String(const std::string& name, std::string fallback) const;
  std::vector<int64_t> Ints(const std::string& name, std::vector<int64_t> fallback) const;
  std::vector<double> Floats(const std::string& name, std::vector<double> fallback) const;
  const std::map<std::string, AttributeValue>& values() const { return values_; }
  friend bool operator==(const Attributes& a, const Attributes& b) {
    return a.values_ == b.values_;
  }

 private:
  template <typename T>
  T Get(const std::string& name, T fallback) const;

  std::map<std::string, AttributeValue> values_;
  AttributeReads* reads_ = nullptr;
};

// How an operator may join others in one task (Chen et al., "TVM", OSDI 2018, section 3).
enum class FusionKind : uint8_t {
  kElementwise,  // One output element from the same element of each input (after broadcasting).
  kInjective,    // One output element from one element of each input: transpose, slice, pad ..
  kReduction,    // Anchor of a task: conv2d, matmul, pooling; takes elementwise consumers.
  kOpaque,       // A task by itself: softmax, normalisations with several blocks.
  kHost,         // No task: a function of the runtime (host_operator.h), without `define`.
};

// How an operator works on inputs whose dimensions come in another order. Every row of the library
// states its rule. There is no default, because the rule that is always right, kFixed, costs a
// transposition before and behind the operator in each image model.
enum class LayoutRule : uint8_t {
  // The operator needs the order of the model: products, reshape, gather.
  kFixed,
  // The result has the order of the inputs, if the attributes that speak of dimensions have it too.
  // All inputs are broadcast to the rank of the result first. The rule does not hold where the
  // result has another rank than the inputs (a reduction with keepdims=0).
  kAnyOrder,
  // Input 0 and the result are N,C,spatial.., or N,spatial..,C with the attribute channels_last=1.
  // The other inputs (weights, statistics) have one layout.
  kByChannel,
  // As kByChannel. With channels last the operator reads and writes whole vectors of channels,
  // which
  // is worth a transposition of its input: convolutions and pools.
  kChannelsLast,
};

// An attribute that speaks of the dimensions of input 0.
struct DimensionAttribute {
  enum class Kind : uint8_t {
    kAxis,    // An integer: a dimension, a negative one counted from the last.
    kAxes,    // A list of such.
    kValues,  // A list with a value for each dimension.
    kPairs,   // A list with a value for each dimension, then another for each: begins, ends.
  };
  const char* name;
  Kind kind;
  int64_t fallback = 0;  // Of kAxis: the dimension that is meant where the attribute is absent.
};

// What movement without arithmetic costs. Fusion asks whether the reader of the result shall read
// through the operator instead.
enum class Movement : uint8_t {
  kNone,      // The operator computes, or its addresses are data (gather) or tables (resize).
  kView,      // Elements may stay where they are: storage assignment makes most of it free.
  kIndexed,   // The reader finds an element at another address.
  kSelected,  // As kIndexed, with a condition for each element: pad.
};

// What only some operators have.
struct OperatorTraits {
  std::vector<DimensionAttribute> dimension_attributes;
  Movement movement = Movement::kNone;
  // Of kReduction: each element of the input is a term of one result only, so that computing the
  // input inside of the reduction repeats nothing. In windows and products it is a term of many.
  bool reads_once = false;
};

struct OperatorDef {
  OpId id;
  FusionKind fusion;
  LayoutRule layout;
  OperatorTraits traits;
  std::string name() const { return std::string(OpName(id)); }
  // Types of the outputs. INVALID_ARGUMENT in words a model's author understands: got, want.
  absl::StatusOr<std::vector<TensorType>> (*infer)(const Attributes&, absl::Span<const TensorType>);
  // Adds the operator's blocks. Called only with inputs that `infer` accepted.
  std::vector<Tensor> (*define)(TeBuilder&, const Attributes&, absl::Span<const Tensor>);
  // Arithmetic operations of the definition, a multiply-add counting 2, a function such as exp 1;
  // 0 for data movement.
  int64_t (*flop_count)(const Attributes&, absl::Span<const TensorType>);
};

// Arithmetic operations of a whole definition, counted as in `flop_count`; its schedule does not
// matter.
int64_t CountFlops(const Program& program);

// The row of an operator. Control flow has rows, too; what it computes, its bodies say.
const OperatorDef& OperatorOf(OpId id);
// Null where there is no such operator.
const OperatorDef* FindOperator(absl::string_view name);
// Every operator of tensors, sorted by name.
std::vector<const OperatorDef*> AllOperators();

}  // namespace burnish

#endif  // COMPILER_TE_OPERATOR_H_
