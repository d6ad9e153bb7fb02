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
        ops::TransformOperators(), ops::GatherOperators(), ops::ResizeOperators()}) {
    table.insert(table.end(), family.begin(), family.end());
  }
  const auto by_name = [](const OperatorDef& a, const OperatorDef& b) { return a.name < b.name; };
  std::sort(table.begin(), table.end(), by_name);
  for (size_t i = 1; i < table.size(); ++i) CHECK(table[i - 1].name != table[i].name);
  return table;
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
  return it != table.end() && it->name == name ? &*it : nullptr;
}

std::vector<const OperatorDef*> AllOperators() {
  std::vector<const OperatorDef*> all;
  for (const OperatorDef& op : Table()) all.push_back(&op);
  return all;
}

}  // namespace burnish
