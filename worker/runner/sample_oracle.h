// Single elements of a definition's outputs, in double: what a full interpretation would give
// there, at the cost of only what these elements need. Pulls: the value of an element is asked from
// the block that writes it, which asks for what it reads; each element is computed once.
#ifndef WORKER_RUNNER_SAMPLE_ORACLE_H_
#define WORKER_RUNNER_SAMPLE_ORACLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/program.h"
#include "worker/runner/expr_value.h"

namespace burnish {

class SampleOracle {
 public:
  // Of one buffer at most, and of steps in one Value call: a hostile workload is refused.
  static constexpr int64_t kElementsMax = int64_t{1} << 28;
  static constexpr int64_t kStepsMax = int64_t{1} << 32;

  // `program`: a definition (no schedule step applied, constant extents). `arguments`: dense bytes
  // of each input and constant, in order, little-endian; floats become doubles.
  // INVALID_ARGUMENT: sizes do not fit; UNIMPLEMENTED: not a definition; RESOURCE_EXHAUSTED: above
  // the limits.
  static absl::StatusOr<std::unique_ptr<SampleOracle>> Create(
      Program program, const std::vector<std::vector<uint8_t>>& arguments);
  ~SampleOracle();

  const Program& program() const { return program_; }

  // Of the element at `offset`, row-major over the buffer's shape. INTERNAL: nothing writes it, or
  // the program reads outside of a buffer; OUT_OF_RANGE: a failed bounds check; INVALID_ARGUMENT:
  // an integer division by zero.
  absl::StatusOr<ExprValue> Value(BufferId buffer, int64_t offset);

 private:
  struct Cells;
  struct Writer;

  explicit SampleOracle(Program program);
  absl::Status Prepare(const std::vector<std::vector<uint8_t>>& arguments);
  absl::Status PrepareWriter(const Block& block, Writer& writer);
  absl::Status PrepareInverse(Writer& writer);

  // These set status_ and return some value where they fail.
  ExprValue Get(BufferId buffer, int64_t offset);
  ExprValue Compute(BufferId buffer, int64_t offset);
  bool Locate(const Writer& writer, int64_t offset);
  ExprValue RunBlock(Writer& writer);
  ExprValue Eval(const ExprNode& e, const ExprValue& self);
  void FailOn(ValueError error);
  ExprValue EvalUnary(const ExprNode& e, const ExprValue& self);
  ExprValue EvalBinary(const ExprNode& e, const ExprValue& self);
  ExprValue EvalLoad(const ExprNode& e, const ExprValue& self);
  ExprValue EvalTable(const ExprNode& e, const ExprValue& self);
  ExprValue EvalBoundsCheck(const ExprNode& e, const ExprValue& self);
  void Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  const Program program_;
  std::vector<Cells> cells_;     // By BufferId.
  std::vector<Writer> writers_;  // By BlockId.
  std::vector<int64_t> vars_;    // Current values, by VarId.
  int64_t steps_ = 0;
  absl::Status status_;
};

}  // namespace burnish

#endif  // WORKER_RUNNER_SAMPLE_ORACLE_H_
