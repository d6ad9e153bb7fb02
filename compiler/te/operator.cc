#include "compiler/te/operator.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish {
namespace {

std::vector<OperatorDef> MakeTable() {
  std::vector<OperatorDef> table;
  for (const auto& family :
       {ops::ConvOperators(), ops::ConvTransposeOperators(), ops::PoolOperators(),
        ops::MatmulOperators(), ops::NormalizationOperators(), ops::SoftmaxOperators(),
        ops::ElementwiseOperators(), ops::UnaryOperators(), ops::ReduceOperators(),
        ops::TransformOperators(), ops::GatherOperators(), ops::ResizeOperators(),
        ops::QuantizeOperators(), ops::HostOperators()}) {
    table.insert(table.end(), family.begin(), family.end());
  }
  const auto by_name = [](const OperatorDef& a, const OperatorDef& b) { return a.name < b.name; };
  std::sort(table.begin(), table.end(), by_name);
  for (size_t i = 1; i < table.size(); ++i) CHECK(table[i - 1].name != table[i].name);
  return table;
}

// Control flow: its operators' rows say how passes treat such nodes, and their meaning is in
// compiler/graph/control.h, because it is that of their bodies.
absl::StatusOr<std::vector<TensorType>> InferNothing(const Attributes&,
                                                     absl::Span<const TensorType>) {
  return absl::InvalidArgumentError("control flow has bodies, and they have the types");
}

std::vector<Tensor> DefineNothing(TeBuilder&, const Attributes&, absl::Span<const Tensor>) {
  CHECK(false) << "control flow is no kernel";
  return {};
}

int64_t CountNothing(const Attributes&, absl::Span<const TensorType>) { return 0; }

const OperatorDef* FindControl(absl::string_view name) {
  const auto row = [](const char* op) {
    return OperatorDef{.name = op,
                       .fusion = FusionKind::kOpaque,
                       .layout = LayoutRule::kFixed,
                       .traits = {},
                       .infer = &InferNothing,
                       .define = &DefineNothing,
                       .flop_count = &CountNothing};
  };
  static const auto* const rows = new std::vector<OperatorDef>{row("if"), row("loop")};
  for (const OperatorDef& op : *rows) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

const std::vector<OperatorDef>& Table() {
  static const auto* const table = new std::vector<OperatorDef>(MakeTable());
  return *table;
}

}  // namespace

int64_t CountFlops(const Program& program) { return ops::CountOperations(program); }

const OperatorDef* FindOperator(absl::string_view name) {
  const auto& table = Table();
  const auto it =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const OperatorDef& op, absl::string_view key) { return op.name < key; });
  return it != table.end() && it->name == name ? &*it : FindControl(name);
}

std::vector<const OperatorDef*> AllOperators() {
  std::vector<const OperatorDef*> all;
  for (const OperatorDef& op : Table()) all.push_back(&op);
  return all;
}

}  // namespace burnish
