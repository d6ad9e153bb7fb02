// relayout@1 W->Wp dims=(op,ky,q,oi): the one reader of W reads it from Wp, laid out in the order
// of the named variables (loops, or variables that loops were made of); a new block copies W into
// Wp. Elements that ragged or guarded tiles do not have are zero.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {
namespace {

// `e` over the variables in `stop` only; null where another loop variable is left.
Expr ExpandTo(const Program& program, const Expr& e, const std::vector<VarId>& stop) {
  bool escaped = false;
  std::function<Expr(const Expr&)> expand = [&](const Expr& x) {
    return SubstituteVars(x, [&](VarId var) -> Expr {
      if (std::find(stop.begin(), stop.end(), var) != stop.end()) return nullptr;
      if (program.vars[var].def == nullptr) {
        // A loop of one iteration needs no dimension.
        if (IsInt(program.vars[var].extent, 1)) return Int(0);
        escaped = true;
        return nullptr;
      }
      return expand(program.vars[var].def);
    });
  };
  Expr expanded = expand(e);
  return escaped ? nullptr : expanded;
}

}  // namespace

absl::Status ApplyRelayout(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 1));
  ASSIGN_OR_RETURN(const BufferId source, FindBufferArg(program, step.inputs[0]));
  RETURN_IF_ERROR(WantNewBuffer(program, step.outputs[0]));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, step.GetWords("dims"));
  const std::vector<BlockId> readers = ReadersOf(program, source);
  // Each reader has loops of its own: the order of one is not the order of another.
  if (readers.size() != 1) return Refuse("want exactly one block that reads ", step.inputs[0]);
  Block& reader = program.blocks[readers[0]];
  const std::vector<Expr> loads = LoadsOf(reader, source);
  for (const Expr& load : loads) {
    if (!StructurallyEqual(load, loads[0])) {
      return Refuse(step.inputs[0], " is read at several places");
    }
  }
  const NodeId before = NestOf(program, NodeOf(program, readers[0]));
  if (program.nodes[before].parent != program.root) {
    return Refuse(reader.name, " is in the pack function: lay out before");
  }
  for (BlockId other : BlocksUnder(program, before)) {
    if (program.blocks[other].output == source) {
      return Refuse(step.inputs[0], " is written in the nest that reads it");
    }
  }
  // The verifier's kRankMax.
  if (names.size() > 24) return Refuse("over 24 dimensions");
  bool outside_steps = false;
  for (const Expr& e : {reader.init, reader.finish}) {
    if (e == nullptr) continue;
    VisitExpr(e, [&](const ExprNode& node) {
      outside_steps = outside_steps || (node.kind == ExprKind::kLoad && node.id == source);
    });
  }
  std::vector<VarId> dims;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const VarId var, FindVarArg(program, name));
    if (std::find(dims.begin(), dims.end(), var) != dims.end()) {
      return Refuse("dimension ", name, " is named twice");
    }
    const std::vector<VarId> made_of = LoopVarsOf(program, var);
    if (made_of.empty()) return Refuse(name, " is constant");
    if (program.vars[var].reduce && outside_steps) {
      return Refuse(step.inputs[0], " is read by init or finish, outside of loop ", name);
    }
    for (VarId loop : made_of) {
      if (!IsInside(program, NodeOf(program, readers[0]), LoopOf(program, loop))) {
        return Refuse(name, " is no variable of ", reader.name);
      }
    }
    dims.push_back(var);
  }

  Block copy{.name = step.outputs[0]};
  Buffer packed{.name = step.outputs[0], .dtype = program.buffers[source].dtype};
  std::vector<Expr> axes;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t extent = MaxExtent(program, dims[d]);
    packed.shape.push_back(extent);
    const VarId axis = AddVar(
        program, {.name = UniqueVarName(program, absl::StrCat(step.outputs[0], ".", names[d])),
                  .extent = Int(extent)});
    copy.spatial.push_back(axis);
    axes.push_back(VarRef(axis));
  }
  // Ragged tiles pad to full ones: of small tensors that may be several times as much, of large
  // ones it is little. Beyond four times a loop is among the dimensions that the index does not
  // depend on. A guess, not tuned.
  if (ElementCount(packed.shape) > 4 * ElementCount(program.buffers[source].shape) + 65536) {
    return Refuse(
        "the new layout is over four times as large: a dimension is no part of the index");
  }
  packed.storage = DenseStorage(packed.shape);
  Expr inside = Bool(true);
  std::vector<Expr> from;
  for (size_t d = 0; d < loads[0]->operands.size(); ++d) {
    bool from_tensor = false;
    VisitExpr(loads[0]->operands[d], [&](const ExprNode& e) {
      from_tensor = from_tensor || e.kind == ExprKind::kLoad || e.kind == ExprKind::kTable;
    });
    if (from_tensor) {
      return Refuse("index ", absl::StrCat(d), " of ", step.inputs[0], " is read from a table");
    }
    const Expr index = ExpandTo(program, loads[0]->operands[d], dims);
    if (index == nullptr) {
      return Refuse("index ", absl::StrCat(d), " of ", step.inputs[0],
                    " needs a variable that is no dimension");
    }
    const Expr at = SubstituteVars(index, [&](VarId var) -> Expr {
      const size_t position = std::find(dims.begin(), dims.end(), var) - dims.begin();
      return position < dims.size() ? axes[position] : nullptr;
    });
    from.push_back(Simplify(at, RangesOf(program)));
    const auto [below, above] = BorderOf(program.buffers[source], static_cast<int>(d));
    inside = And(inside, And(Le(Int(-below), from.back()),
                             Lt(from.back(), Int(program.buffers[source].shape[d] + above))));
  }
  inside = Simplify(inside, RangesOf(program));
  copy.output_indices = axes;
  copy.step =
      Select(inside, Load(source, packed.dtype, from), Identity(Combiner::kSum, packed.dtype));
  copy.output = AddBuffer(program, packed);

  std::vector<Expr> new_indices;
  for (VarId var : dims) {
    // A variable of one value may be in no map that the reader has.
    new_indices.push_back(MaxExtent(program, var) == 1 ? Int(0) : VarRef(var));
  }
  const Expr new_load = Load(copy.output, packed.dtype, new_indices);
  RewriteBlock(reader, [&](const Expr& node) -> Expr {
    return node->kind == ExprKind::kLoad && node->id == source ? new_load : nullptr;
  });
  program.blocks.push_back(copy);
  const NodeId nest = AddDefaultNest(program, static_cast<BlockId>(program.blocks.size()) - 1);
  auto& order = program.nodes[program.root].children;
  order.pop_back();
  order.insert(std::find(order.begin(), order.end(), before), nest);
  return absl::OkStatus();
}

}  // namespace burnish
