// For tests: every operator of the library with arguments, and the results that ONNX Runtime gave.
#ifndef COMPILER_TE_OPERATOR_CASES_H_
#define COMPILER_TE_OPERATOR_CASES_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/program.h"
#include "compiler/te/operator.h"

namespace burnish {

struct OperatorCase {
  std::string name;  // Unique.
  const OperatorDef* op;
  Attributes attributes;
  std::vector<TensorValue> inputs;
  std::vector<TensorValue> outputs;
};

// The cases of testdata/operators.jsonl (written by make_golden.py), which the test has in `data`.
// At least one for each operator.
std::vector<OperatorCase> ReadOperatorCases();

std::vector<TensorType> TypesOf(const std::vector<TensorValue>& values);

// A program of this operator alone. Parameters X0, X1, .., outputs Z0, Z1, ..
Program DefineOperator(const OperatorDef& op, const Attributes& attributes,
                       absl::Span<const TensorType> inputs);

}  // namespace burnish

#endif  // COMPILER_TE_OPERATOR_CASES_H_
