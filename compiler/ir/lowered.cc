#include "compiler/ir/lowered.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish {

void VisitLoads(const Node& node, const std::function<void(const ExprNode&)>& visit) {
  const auto loads = [&](const Expr& e) {
    if (e == nullptr) return;
    VisitExpr(e, [&](const ExprNode& each) {
      if (each.kind == ExprKind::kLoad) visit(each);
    });
  };
  if (node.kind == NodeKind::kPrefetch) return;
  loads(node.cond);
  loads(node.value);
  for (const Expr& index : node.indices) loads(index);
}

void EditExprs(Node& node, const std::function<void(Expr&)>& edit) {
  for (Expr& index : node.indices) edit(index);
  if (node.value != nullptr) edit(node.value);
  if (node.cond != nullptr) edit(node.cond);
}

BufferId AddInputTable(absl::string_view name, DType dtype, int64_t count, Program& lowered) {
  std::string unique(name);
  while (FindBuffer(lowered, unique) >= 0) absl::StrAppend(&unique, "_");
  return AddBuffer(lowered, {.name = std::move(unique),
                             .dtype = dtype,
                             .shape = {count},
                             .role = BufferRole::kInput,
                             .scope = Scope::kGlobal,
                             .storage = DenseStorage({count})});
}

}  // namespace burnish
