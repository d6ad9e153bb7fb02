#include "tuner/sketch/rules/rule_test_util.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/numerics.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/target/device_model.h"
#include "compiler/te/canonicalize.h"
#include "gtest/gtest.h"
#include "tuner/sketch/sketch_text.h"

namespace burnish {
namespace {

// Of a draft, that are computed: first ones have small tiles, so that ends of every kind are there.
constexpr int64_t kPointsPerDraft = 3;

Program Canonical(TeBuilder& te) {
  absl::StatusOr<Program> parsed = ParseProgram(PrintWorkload(Canonicalize(te.Build())));
  CHECK_OK(parsed);
  return *std::move(parsed);
}

DeviceModel DeviceOf(absl::string_view target) {
  const absl::StatusOr<Target> parsed = ParseTarget(target);
  CHECK_OK(parsed);
  return DeviceModelOf(*parsed);
}

}  // namespace

Program WorkloadOf(const TaskCase& task) {
  TeBuilder te(task.name);
  Attributes attributes;
  for (const auto& [key, value] : task.attributes) attributes.Set(key, value);
  std::vector<Tensor> tensors;
  std::vector<TensorType> types;
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    types.push_back({task.types.empty() ? task.dtype : task.types[i], task.inputs[i]});
    tensors.push_back(
        te.Parameter(absl::StrCat("p", i), types.back(),
                     i == 0 || task.all_inputs ? BufferRole::kInput : BufferRole::kConstant));
  }
  const OperatorDef* op = FindOperator(task.op);
  CHECK(op != nullptr) << task.op;
  const absl::StatusOr<std::vector<TensorType>> results = op->infer(attributes, types);
  CHECK_OK(results);
  std::vector<Tensor> outputs = op->define(te, attributes, tensors);
  if (task.relu) outputs = FindOperator("relu")->define(te, {}, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    te.Output(absl::StrCat("o", i), outputs[i], (*results)[i].dtype);
  }
  return Canonical(te);
}

std::vector<TaskCase> TypedTasks() {
  const std::pair<std::string, AttributeValue> last = {"channels_last", int64_t{1}};
  const std::pair<std::string, AttributeValue> padded = {"pads", Ints{1, 1, 1, 1}};
  const std::pair<std::string, AttributeValue> last_axis = {"axes", Ints{1}};
  const std::pair<std::string, AttributeValue> first_axis = {"axes", Ints{0}};
  std::vector<TaskCase> tasks;
  const auto add = [&](std::vector<DType> types, TaskCase task) {
    const std::string name = task.name;
    for (DType dtype : types) {
      task.name = absl::StrCat(name, "_", std::string(DTypeName(dtype)));
      task.dtype = dtype;
      tasks.push_back(task);
    }
  };
  constexpr DType kF64 = DType::kF64, kBf16 = DType::kBf16, kF16 = DType::kF16, kI64 = DType::kI64,
                  kI32 = DType::kI32, kI8 = DType::kI8, kU8 = DType::kU8, kBool = DType::kBool;
  const Ints pair = {1, 0}, turn = {0, 2, 1};
  // Products, with and without taps and groups.
  add({kF64, kBf16}, {"conv", "conv", {{1, 7, 5, 6}, {19, 6, 3, 3}, {19}}, {last, padded}, true});
  add({kF64},
      {"grouped", "conv", {{1, 7, 6, 6}, {32, 3, 3, 3}}, {last, padded, {"group", int64_t{2}}}});
  add({kF64, kBf16}, {"dense", "dense", {{5, 300}, {70, 300}, {70}}, {}, true});
  add({kF64, kBf16, kI64, kI32, kI8, kU8},
      {"matmul", "matmul", {{9, 21}, {21, 35}}, {}, false, true});
  // Whole vectors and pairs: by the instruction for products of bfloat16, and without it.
  add({kBf16}, {"even_conv", "conv", {{1, 7, 5, 16}, {32, 16, 3, 3}, {32}}, {last, padded}, true});
  add({kBf16, kF16}, {"even_dense", "dense", {{3, 32}, {32, 32}, {32}}, {}, true});
  // Products of bytes: their sums are of another type.
  const std::pair<std::string, AttributeValue> pad_value = {"pad_value", int64_t{100}};
  for (const DType left : {kU8, kI8}) {
    const std::vector<DType> types = {left, kI8, kI32};
    add({left}, {.name = "conv_integer",
                 .op = "conv_integer",
                 .inputs = {{1, 7, 5, 16}, {32, 16, 3, 3}, {32}},
                 .attributes = {last, padded, pad_value},
                 .types = types});
    add({left}, {.name = "one_by_one",
                 .op = "conv_integer",
                 .inputs = {{1, 7, 5, 24}, {40, 24, 1, 1}, {40}},
                 .attributes = {last},
                 .types = types});
    add({left}, {.name = "matmul_integer",
                 .op = "matmul_integer",
                 .inputs = {{9, 64}, {64, 48}, {48}},
                 .attributes = {},
                 .types = types});
  }
  // Weights of 8 bits with a scale for each column of a block of rows.
  for (const int64_t rows : {1, 9}) {
    add({kI8}, {.name = absl::StrCat("matmul_blocks", rows),
                .op = "matmul_blocks",
                .inputs = {{rows, 96}, {3, 32, 48}, {3, 48}},
                .attributes = {},
                .types = {DType::kF32, kI8, DType::kF32}});
  }
  // Products that use an element once.
  add({kF64}, {"one_channel", "conv", {{1, 7, 6, 8}, {1, 8, 3, 3}, {1}}, {last, padded}, true});
  add({kF64, kI32}, {"by_vector", "matmul", {{9, 32}, {32, 1}}, {}, false, true});
  add({kF64, kBf16}, {"colours", "conv", {{1, 7, 6, 8}, {3, 8, 3, 3}, {3}}, {last, padded}, true});
  add({kF64, kI8},
      {"by_rows", "matmul", {{9, 70}, {35, 70}}, {{"trans_b", int64_t{1}}}, false, true});
  add({kF64, kI8},
      {"by_parts", "matmul", {{3, 2101}, {4, 2101}}, {{"trans_b", int64_t{1}}}, false, true});
  // Of two inputs, which many rows read again.
  add({kF64, kBf16, kI8}, {"of_inputs", "matmul", {{2, 18, 21}, {2, 21, 35}}, {}, false, true});
  add({kF64, kI8},
      {"of_input_rows", "matmul", {{20, 70}, {35, 70}}, {{"trans_b", int64_t{1}}}, false, true});
  // Windows.
  add({kF64, kBf16}, {"depthwise",
                      "conv",
                      {{1, 8, 7, 20}, {20, 1, 3, 3}},
                      {last, padded, {"group", int64_t{20}}}});
  add({kF64, kBf16, kI32, kI8},
      {"max_pool", "max_pool", {{1, 9, 9, 70}}, {last, padded, {"kernel_shape", Ints{3, 3}}}});
  // Rows.
  add({kF64, kBf16}, {"softmax", "softmax", {{5, 67}}, {{"axis", int64_t{1}}}});
  add({kF64, kBf16}, {"layer_norm", "layer_norm", {{6, 48}, {48}, {48}}, {{"axis", int64_t{-1}}}});
  add({kF64, kBf16, kI64, kI32, kI8, kU8}, {"row_sums", "reduce_sum", {{5, 192}}, {last_axis}});
  add({kI32, kI8, kU8, kBool}, {"row_maxima", "reduce_max", {{5, 192}}, {last_axis}});
  add({kF64, kI32}, {"pixel_sums", "reduce_sum", {{1, 6, 9, 9}}, {{"axes", Ints{2, 3}}}});
  add({kF64, kI8},
      {"full_sum", "reduce_sum", {{3, 401}}, {{"axes", Ints{0, 1}}, {"keepdims", int64_t{0}}}});
  add({kF64, kI8}, {"row_argmax", "argmax", {{5, 64}}, {{"axis", int64_t{1}}}});
  // Columns.
  add({kF64, kBf16}, {"channel_softmax", "softmax", {{1, 5, 3, 37}}, {{"axis", int64_t{1}}}});
  add({kI8}, {"channel_argmax", "argmax", {{1, 5, 3, 37}}, {{"axis", int64_t{1}}}});
  add({kI8, kBool}, {"column_minima", "reduce_min", {{7, 133}}, {first_axis}});
  // Elements.
  add({kF64, kBf16, kI64, kI8, kU8}, {"add", "add", {{4, 150}, {4, 150}}, {}, true, true});
  // Not gelu: no backend has its error function in doubles.
  add({kF64, kBf16}, {"silu", "silu", {{3, 100}}, {}});
  add({kF64, kI32, kI8}, {"less", "less", {{3, 140}, {3, 140}}, {}, false, true});
  add({kBool}, {"and", "and", {{3, 140}, {3, 140}}, {}, false, true});
  add({kI8}, {"widen", "cast", {{3, 140}}, {{"to", std::string("i32")}}});
  add({kI64}, {"narrow", "cast", {{3, 140}}, {{"to", std::string("i8")}}});
  add({kF64, kBf16, kI8},
      {"concat", "concat", {{2, 5, 40}, {2, 7, 40}}, {{"axis", int64_t{1}}}, false, true});
  // Movement.
  add({kF64, kI8, kBool}, {"shuffle", "transpose", {{5, 4, 134}}, {{"perm", turn}}});
  add({kF64, kI64, kI8}, {"three_rows", "transpose", {{3, 200}}, {{"perm", pair}}});
  add({kF64, kBf16, kI8, kU8, kBool}, {"columns", "transpose", {{3, 17, 150}}, {{"perm", turn}}});
  return tasks;
}

Program WidenedProduct(int64_t rows, int64_t depth, int64_t columns) {
  const absl::StatusOr<Program> program = ParseProgram(absl::StrFormat(
      R"(program/1 widened
input X: i8[%1$d, %2$d]
const W: i8[%3$d, %2$d]
output Y: i32[%1$d, %3$d]
block Y(m in %1$d, n in %3$d; k in %2$d) {
  step Y[m, n] += i32(X[m, k]) * i32(W[n, k])
}
)",
      rows, depth, columns));
  CHECK_OK(program);
  return *program;
}

Program RowDistances(int64_t rows, int64_t columns) {
  const absl::StatusOr<Program> program = ParseProgram(absl::StrFormat(
      R"(program/1 distances
input X: i8[%1$d, %2$d]
output Y: i8[%1$d, %2$d]
temp M: i8[%1$d, 1]
block M(r in %1$d, c in 1; k in %2$d) {
  step M[r, c] max= X[r, k]
}
block Y(r in %1$d, k in %2$d) {
  step Y[r, k] = X[r, k] - M[r, 0]
}
)",
      rows, columns));
  CHECK_OK(program);
  return *program;
}

Program AttentionWorkload(int64_t rows, int64_t keys, int64_t heads, int64_t size, DType dtype) {
  TeBuilder te("attention");
  const auto define = [&](const char* op, const std::vector<Tensor>& inputs,
                          std::vector<std::pair<std::string, AttributeValue>> values = {}) {
    Attributes attributes;
    for (const auto& [key, value] : values) attributes.Set(key, value);
    return FindOperator(op)->define(te, attributes, inputs)[0];
  };
  const auto input = [&](const char* name, Ints shape) {
    return te.Parameter(name, {dtype, std::move(shape)}, BufferRole::kInput);
  };
  const std::pair<std::string, AttributeValue> turn = {"perm", Ints{0, 2, 1, 3}};
  const Tensor q = define("transpose", {input("q", {1, rows, heads, size})}, {turn});
  const Tensor k = define("transpose", {input("k", {1, keys, heads, size})}, {turn});
  const Tensor v = define("transpose", {input("v", {1, keys, heads, size})}, {turn});
  const Tensor scores = define("matmul", {q, k}, {{"trans_b", int64_t{1}}});
  const Tensor masked = define("add", {scores, input("mask", {1, 1, 1, keys})});
  const Tensor weights = define("softmax", {masked}, {{"axis", int64_t{3}}});
  te.Output("o", define("transpose", {define("matmul", {weights, v})}, {turn}));
  return Canonical(te);
}

std::vector<TensorValue> ArgumentsOf(const Program& program) {
  std::vector<TensorValue> arguments;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role != BufferRole::kInput && buffer.role != BufferRole::kConstant) continue;
    Rng rng(RngStream{.seed = 3, .purpose = buffer.name});
    TensorValue value{.dtype = buffer.dtype, .shape = buffer.shape};
    for (int64_t i = 0; i < ElementCount(buffer.shape); ++i) {
      if (IsFloat(buffer.dtype)) {
        value.floats.push_back(rng.Normal());
      } else {
        value.integers.push_back(buffer.dtype == DType::kBool ? rng.Between(0, 1)
                                 : buffer.dtype == DType::kU8 ? rng.Between(0, 255)
                                                              : rng.Between(-128, 127));
      }
    }
    arguments.push_back(std::move(value));
  }
  return arguments;
}

// By how much, of the greatest, values may differ because the schedule itself stores some in fewer
// bits: its algorithm says, and what is then stored as bfloat16 may be a neighbour, 2^-7 away. All
// else is computed in double.
double DifferenceMax(const Program& workload, const Program& scheduled) {
  const Algorithm* const algorithm = FindAlgorithm(scheduled.numerics.algorithm);
  const bool narrows =
      std::any_of(scheduled.buffers.begin(), scheduled.buffers.end(), [&](const Buffer& buffer) {
        return IsStorageFloat(buffer.dtype) && FindBuffer(workload, buffer.name) < 0;
      });
  if (algorithm == nullptr || !narrows) return 0;
  return algorithm->difference_max(scheduled.numerics.parameter) + 1.0 / 128;
}

void ExpectComputes(const Program& workload, const Trace& trace, const std::string& what) {
  SCOPED_TRACE(absl::StrCat(what, "\n", PrintTrace(trace)));
  ASSERT_OK_AND_ASSIGN(const Program scheduled, ApplyTrace(trace, workload));
  ASSERT_THAT(Verify(scheduled), IsOk()) << Print(scheduled);
  ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(scheduled));
  const std::vector<TensorValue> arguments = ArgumentsOf(workload);
  ASSERT_OK_AND_ASSIGN(const auto want, Interpret(workload, arguments));
  const auto got = Interpret(lowered, arguments, {.workers = 2});
  ASSERT_THAT(got, IsOk()) << Print(lowered);
  const double difference_max = DifferenceMax(workload, scheduled);
  for (size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ((*got)[o].integers, want[o].integers) << "output " << o;
    ASSERT_EQ((*got)[o].floats.size(), want[o].floats.size());
    double greatest = 0;
    for (const double value : want[o].floats) greatest = std::max(greatest, std::abs(value));
    for (size_t i = 0; i < want[o].floats.size(); ++i) {
      const double rounding = 1e-9 + 1e-9 * std::abs(want[o].floats[i]);
      ASSERT_NEAR((*got)[o].floats[i], want[o].floats[i], rounding + difference_max * greatest)
          << "element " << i << " of output " << o;
    }
  }
}

std::vector<Draft> DraftsOf(absl::string_view rule, const Program& program,
                            absl::string_view target) {
  return DraftsOf(rule, program, DeviceOf(target));
}

std::vector<Draft> DraftsOf(absl::string_view rule, const Program& program,
                            const DeviceModel& device) {
  const RuleContext context{.program = program, .device = device, .options = {.algorithms = true}};
  std::vector<Draft> drafts;
  for (const SketchRule& candidate : SketchRules()) {
    if (candidate.name != rule) continue;
    if (candidate.kind == RuleKind::kProgram) return candidate.apply(context, -1);
    for (BlockId id = 0; id < static_cast<BlockId>(program.blocks.size()); ++id) {
      for (Draft& draft : candidate.apply(context, id)) drafts.push_back(std::move(draft));
    }
  }
  return drafts;
}

std::string TestedDrafts(absl::string_view rule, const Program& program, absl::string_view target) {
  return TestedDrafts(rule, program, DeviceOf(target));
}

std::string TestedDrafts(absl::string_view rule, const Program& program,
                         const DeviceModel& device) {
  std::string text;
  for (const Draft& draft : DraftsOf(rule, program, device)) {
    const Sketch sketch = SketchOf(draft);
    text += ToText(sketch);
    const std::vector<Point> points = EnumeratePoints(sketch, kPointsPerDraft);
    EXPECT_FALSE(points.empty()) << draft.name;
    for (const Point& point : points) {
      ExpectComputes(program, StepsAt(sketch.steps, point), draft.name);
    }
  }
  return text;
}

std::vector<std::string> NamesOf(const std::vector<Draft>& drafts) {
  std::vector<std::string> names;
  for (const Draft& draft : drafts) names.push_back(draft.name);
  return names;
}

}  // namespace burnish
