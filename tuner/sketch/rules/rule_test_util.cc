#include "tuner/sketch/rules/rule_test_util.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/expr_text.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/te/canonicalize.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// Of a draft, that are computed: first ones have small tiles, so that ends of every kind are there.
constexpr int64_t kPointsPerDraft = 3;

Program Canonical(TeBuilder& te) {
  absl::StatusOr<Program> parsed = ParseProgram(PrintWorkload(Canonicalize(te.Build())));
  CHECK_OK(parsed);
  return *std::move(parsed);
}

std::string ExprOf(const Draft& draft, const Expr& e) {
  return ExprText(e, {.var = [&](VarId decision) {
                    return absl::StrCat("$", draft.schedule.decisions()[decision].name);
                  }});
}

std::string StepOf(const Draft& draft, Step step) {
  for (Argument& argument : step.arguments) {
    const Expr* e = std::get_if<Expr>(&argument.value);
    if (e == nullptr) continue;
    const std::string text = ExprOf(draft, *e);
    argument.value = (*e)->kind == ExprKind::kVar ? text : absl::StrCat("(", text, ")");
  }
  return PrintStep(step);
}

}  // namespace

Program WorkloadOf(const TaskCase& task) {
  TeBuilder te(task.name);
  Attributes attributes;
  for (const auto& [key, value] : task.attributes) attributes.Set(key, value);
  std::vector<Tensor> tensors;
  std::vector<TensorType> types;
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    types.push_back({task.dtype, task.inputs[i]});
    tensors.push_back(
        te.Parameter(absl::StrCat("p", i), types.back(),
                     i == 0 || task.all_inputs ? BufferRole::kInput : BufferRole::kConstant));
  }
  const OperatorDef* op = FindOperator(task.op);
  CHECK(op != nullptr) << task.op;
  CHECK_OK(op->infer(attributes, types));
  std::vector<Tensor> outputs = op->define(te, attributes, tensors);
  if (task.relu) outputs = FindOperator("relu")->define(te, {}, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) te.Output(absl::StrCat("o", i), outputs[i]);
  return Canonical(te);
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

void ExpectComputes(const Program& workload, const Trace& trace, const std::string& what) {
  SCOPED_TRACE(absl::StrCat(what, "\n", PrintTrace(trace)));
  ASSERT_OK_AND_ASSIGN(const Program scheduled, ApplyTrace(trace, workload));
  ASSERT_THAT(Verify(scheduled), IsOk()) << Print(scheduled);
  ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(scheduled));
  const std::vector<TensorValue> arguments = ArgumentsOf(workload);
  ASSERT_OK_AND_ASSIGN(const auto want, Interpret(workload, arguments));
  const auto got = Interpret(lowered, arguments, {.workers = 2});
  ASSERT_THAT(got, IsOk()) << Print(lowered);
  for (size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ((*got)[o].integers, want[o].integers) << "output " << o;
    ASSERT_EQ((*got)[o].floats.size(), want[o].floats.size());
    for (size_t i = 0; i < want[o].floats.size(); ++i) {
      ASSERT_NEAR((*got)[o].floats[i], want[o].floats[i], 1e-9 + 1e-9 * std::abs(want[o].floats[i]))
          << "element " << i << " of output " << o;
    }
  }
}

std::vector<Draft> DraftsOf(absl::string_view rule, const Program& program,
                            absl::string_view target) {
  const absl::StatusOr<Target> parsed = ParseTarget(target);
  CHECK_OK(parsed);
  const IsaModel isa = IsaModelOf(*parsed);
  const RuleContext context{
      .program = program, .isa = isa, .threads = parsed->threads, .options = {.algorithms = true}};
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

std::string DraftText(const Draft& draft) {
  std::string text = absl::StrCat(draft.name, "\n");
  for (const Decision& decision : draft.schedule.decisions()) {
    absl::StrAppend(&text, "  ", decision.name, " = ",
                    decision.kind == DecisionKind::kChoice ? "choice " : "",
                    absl::StrJoin(decision.values, " "), "\n");
  }
  for (const Expr& constraint : draft.schedule.constraints()) {
    absl::StrAppend(&text, "  require ", ExprOf(draft, constraint), "\n");
  }
  for (const OpenStep& open : draft.schedule.steps()) {
    absl::StrAppend(&text, "  ", StepOf(draft, open.step),
                    open.when == nullptr ? "" : absl::StrCat(" when ", ExprOf(draft, open.when)),
                    "\n");
  }
  return text;
}

std::string TestedDrafts(absl::string_view rule, const Program& program, absl::string_view target) {
  std::string text;
  for (const Draft& draft : DraftsOf(rule, program, target)) {
    text += DraftText(draft);
    const Sketch sketch = SketchOf(draft);
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
