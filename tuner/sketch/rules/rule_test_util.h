// For tests of sketch rules: a task in, the sketches that a rule writes for it as text out.
#ifndef TUNER_SKETCH_RULES_RULE_TEST_UTIL_H_
#define TUNER_SKETCH_RULES_RULE_TEST_UTIL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/program.h"
#include "compiler/te/operator.h"
#include "tuner/sketch/rule.h"

namespace burnish {

using Ints = std::vector<int64_t>;

// One operator of the library, as a task.
struct TaskCase {
  std::string name;
  std::string op;
  std::vector<Ints> inputs;  // The first is an input, the others constants.
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  bool relu = false;
  bool all_inputs = false;  // The others are inputs too.
  DType dtype = DType::kF32;
  std::vector<DType> types = {};  // Of each input, where they differ.
};

// The workload program of a case, through its text, as a builder sees it.
Program WorkloadOf(const TaskCase& task);
// Tasks of every rule but Winograd's, in other element types than f32, at odd shapes.
std::vector<TaskCase> TypedTasks();
// Y[m,n] = sum over k of i32(X[m,k]) * i32(W[n,k]), X and W of bytes: the product that quantized
// models have. No operator of the library is defined so; fusion of casts makes it.
Program WidenedProduct(int64_t rows, int64_t depth, int64_t columns);
// Each row of bytes without its maximum: a chain over rows of integers.
Program RowDistances(int64_t rows, int64_t columns);
// softmax(Q K' + mask) V for heads that lie side by side, as one task.
Program AttentionWorkload(int64_t rows, int64_t keys, int64_t heads, int64_t size,
                          DType dtype = DType::kF32);

// One random value for each parameter, normally distributed, an integer from -128 to 127 or from 0
// to 255, or a truth value; the same for the same program.
std::vector<TensorValue> ArgumentsOf(const Program& program);
// That the trace applies to the workload, verifies, lowers, and computes what the definition
// computes: integers exactly, floats in double but for the order of sums.
void ExpectComputes(const Program& workload, const Trace& trace, const std::string& what);

// What the rule of this name writes for the program, block by block; of a program rule, for the
// whole. `target`: such as "cpu:arch=znver4,threads=2".
std::vector<Draft> DraftsOf(absl::string_view rule, const Program& program,
                            absl::string_view target);
std::vector<Draft> DraftsOf(absl::string_view rule, const Program& program,
                            const DeviceModel& device);
// Their sketches as text (sketch_text.h), each of which computes the definition at its first
// points.
std::string TestedDrafts(absl::string_view rule, const Program& program, absl::string_view target);
std::string TestedDrafts(absl::string_view rule, const Program& program, const DeviceModel& device);
std::vector<std::string> NamesOf(const std::vector<Draft>& drafts);

}  // namespace burnish

#endif  // TUNER_SKETCH_RULES_RULE_TEST_UTIL_H_
