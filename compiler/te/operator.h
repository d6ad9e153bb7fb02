// The operator library: one OperatorDef for each operator of the model graph.
#ifndef COMPILER_TE_OPERATOR_H_
#define COMPILER_TE_OPERATOR_H_

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/te/builder.h"

namespace burnish {

using AttributeValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

// Attributes of a graph node, by name, in order. Getters return the default where a name is absent
// and CHECK the type: the frontend has validated attributes against the operator's rule.
class Attributes {
 public:
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
  std::map<std::string, AttributeValue> values_;
};

// How an operator may join others in one task (Chen et al., "TVM", OSDI 2018, section 3).
enum class FusionKind : uint8_t {
  kElementwise,  // One output element from the same element of each input (after broadcasting).
  kInjective,    // One output element from one element of each input: transpose, slice, pad ..
  kReduction,    // Anchor of a task: conv2d, matmul, pooling; takes elementwise consumers.
  kOpaque,       // A task by itself: softmax, normalisations with several blocks.
};

struct OperatorDef {
  std::string name;  // Of Graph nodes: "conv", "add", ..
  FusionKind fusion;
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

// Null where there is no such operator.
const OperatorDef* FindOperator(absl::string_view name);
// Every operator, sorted by name.
std::vector<const OperatorDef*> AllOperators();

}  // namespace burnish

#endif  // COMPILER_TE_OPERATOR_H_
