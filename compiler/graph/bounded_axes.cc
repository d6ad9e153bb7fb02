#include "compiler/graph/bounded_axes.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/graph/graph_interpreter.h"

namespace burnish {
namespace {

// Walks the blocks of an operator's definition, each behind those whose results it reads.
class Carrier {
 public:
  Carrier(const Program& program, const std::vector<AxisExtents>& inputs) : program_(program) {
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      if (buffer.role != BufferRole::kInput && buffer.role != BufferRole::kConstant) continue;
      const int input = std::stoi(buffer.name.substr(2));  // "in3": DefineNode.
      input_of_[static_cast<BufferId>(b)] = static_cast<size_t>(input);
      extents_[static_cast<BufferId>(b)] = inputs[input];
    }
  }

  absl::StatusOr<CarriedExtents> Run() {
    for (const Block& block : program_.blocks) RETURN_IF_ERROR(CarryBlock(block));
    for (size_t b = 0; b < program_.buffers.size(); ++b) {
      if (program_.buffers[b].role != BufferRole::kOutput) continue;
      carried_.outputs.push_back(extents_[static_cast<BufferId>(b)]);
    }
    return std::move(carried_);
  }

 private:
  absl::Status CarryBlock(const Block& block) {
    // By the variable of an output's axis: what operands that are indexed by it have.
    std::map<VarId, ValueId> found;
    absl::Status status;
    const auto visit = [&](const ExprNode& e) {
      if (!status.ok()) return;
      if (e.kind == ExprKind::kLoad) status = CarryLoad(block, e, found);
      if (status.ok() && e.kind == ExprKind::kBoundsCheck) status = Harmless(e.operands[0], 0);
      const bool divides =
          e.kind == ExprKind::kDiv || e.kind == ExprKind::kFloorDiv || e.kind == ExprKind::kMod;
      if (status.ok() && divides && !IsFloat(e.dtype)) status = Harmless(e.operands[1], 1);
    };
    for (const Expr& e : {block.init, block.step, block.finish}) {
      if (e != nullptr) VisitExpr(e, visit);
    }
    RETURN_IF_ERROR(status);
    AxisExtents& extents = extents_[block.output];
    extents.assign(block.output_indices.size(), kFullAxis);
    for (size_t d = 0; d < extents.size(); ++d) {
      const Expr& index = block.output_indices[d];
      if (index->kind != ExprKind::kVar) continue;
      if (const auto axis = found.find(index->id); axis != found.end()) extents[d] = axis->second;
    }
    return absl::OkStatus();
  }

  absl::Status CarryLoad(const Block& block, const ExprNode& load,
                         std::map<VarId, ValueId>& found) {
    const Buffer& buffer = program_.buffers[load.id];
    const AxisExtents& extents = extents_[load.id];
    for (size_t d = 0; d < load.operands.size(); ++d) {
      const ValueId extent = d < extents.size() ? extents[d] : kFullAxis;
      const Expr& index = load.operands[d];
      const bool is_axis =
          index->kind == ExprKind::kVar && IsInt(program_.vars[index->id].extent, buffer.shape[d]);
      const bool is_spatial =
          is_axis && std::count(block.spatial.begin(), block.spatial.end(), index->id) > 0;
      if (!is_spatial) {
        if (extent == kFullAxis) continue;
        return absl::UnimplementedError(
            absl::StrCat(is_axis ? "would reduce over dimension "
                                 : "does not go element by element along dimension ",
                         d, Of(load.id), ", whose extent only a run knows"));
      }
      const auto [known, is_new] = found.try_emplace(index->id, extent);
      if (is_new || known->second == extent) continue;
      return absl::UnimplementedError(
          absl::StrCat("dimension ", d, Of(load.id),
                       " and the same dimension of another input have extents that only a run "
                       "knows, or only one has"));
    }
    return absl::OkStatus();
  }

  std::string Of(BufferId buffer) const {
    const auto input = input_of_.find(buffer);
    return input == input_of_.end() ? "" : absl::StrCat(" of input ", input->second);
  }

  // An operand that makes a kernel fail must not come out of what does not hold.
  absl::Status Harmless(const Expr& operand, int64_t value) {
    absl::Status status;
    VisitExpr(operand, [&](const ExprNode& e) {
      if (e.kind != ExprKind::kLoad || !IsBounded(extents_[e.id])) return;
      const auto input = input_of_.find(e.id);
      const Expr& plain = operand->kind == ExprKind::kCast ? operand->operands[0] : operand;
      if (input == input_of_.end() || plain->kind != ExprKind::kLoad) {
        status =
            absl::UnimplementedError("computes indices or divisors of what may not hold in a run");
        return;
      }
      carried_.fills.push_back({.input = input->second, .value = value});
    });
    return status;
  }

  const Program& program_;
  std::map<BufferId, size_t> input_of_;
  std::map<BufferId, AxisExtents> extents_;
  CarriedExtents carried_;
};

}  // namespace

bool IsBounded(const AxisExtents& extents) {
  return std::any_of(extents.begin(), extents.end(),
                     [](ValueId extent) { return extent != kFullAxis; });
}

absl::StatusOr<CarriedExtents> CarryExtents(const Graph& graph, const GraphNode& node,
                                            const std::vector<AxisExtents>& inputs) {
  const OperatorDef& def = OperatorOf(node.op);
  if (def.fusion == FusionKind::kHost || !node.bodies.empty()) {
    const auto first = std::find_if(inputs.begin(), inputs.end(), IsBounded);
    return absl::UnimplementedError(absl::StrCat(
        "takes no input of which a run fills a part, as input ", first - inputs.begin(), " is"));
  }
  ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                   def.infer(node.attributes, InputTypes(graph, node)));
  GraphNode with_outputs = node;
  with_outputs.outputs.assign(types.size(), -1);
  const Program program = DefineNode(graph, with_outputs);
  return Carrier(program, inputs).Run();
}

}  // namespace burnish
