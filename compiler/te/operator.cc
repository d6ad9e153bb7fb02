#include "compiler/te/operator.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish {
namespace {

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

std::vector<OperatorDef> ControlOperators() {
  const auto row = [](OpId id) {
    return OperatorDef{.id = id,
                       .fusion = FusionKind::kOpaque,
                       .layout = LayoutRule::kFixed,
                       .traits = {},
                       .infer = &InferNothing,
                       .define = &DefineNothing,
                       .flop_count = &CountNothing};
  };
  return {row(OpId::kIf), row(OpId::kLoop)};
}

std::vector<OperatorDef> MakeTable() {
  std::vector<OperatorDef> table;
  for (const auto& family :
       {ops::ConvOperators(), ops::ConvTransposeOperators(), ops::PoolOperators(),
        ops::MatmulOperators(), ops::NormalizationOperators(), ops::SoftmaxOperators(),
        ops::ElementwiseOperators(), ops::UnaryOperators(), ops::ReduceOperators(),
        ops::TransformOperators(), ops::GatherOperators(), ops::ResizeOperators(),
        ops::QuantizeOperators(), ops::HostOperators(), ControlOperators()}) {
    table.insert(table.end(), family.begin(), family.end());
  }
  const auto by_id = [](const OperatorDef& a, const OperatorDef& b) { return a.id < b.id; };
  std::sort(table.begin(), table.end(), by_id);
  for (size_t i = 0; i < table.size(); ++i) CHECK_EQ(table[i].id, static_cast<OpId>(i));
  CHECK_EQ(table.size(), kOpCount);
  return table;
}

const std::vector<OperatorDef>& Table() {
  static const auto* const table = new std::vector<OperatorDef>(MakeTable());
  return *table;
}

}  // namespace

int64_t CountFlops(const Program& program) { return ops::CountOperations(program); }

const OperatorDef& OperatorOf(OpId id) { return Table()[static_cast<size_t>(id)]; }

const OperatorDef* FindOperator(absl::string_view name) {
  const std::optional<OpId> id = FindOpId(name);
  return id.has_value() ? &OperatorOf(*id) : nullptr;
}

std::vector<const OperatorDef*> AllOperators() {
  std::vector<const OperatorDef*> all;
  for (const OperatorDef& op : Table()) {
    if (op.id != OpId::kIf && op.id != OpId::kLoop) all.push_back(&op);
  }
  return all;
}

}  // namespace burnish
