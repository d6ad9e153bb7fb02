#include "compiler/schedule/rewrite.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace burnish {

absl::Status WantNames(const Step& step, int inputs, int outputs) {
  const auto wrong = [](int want, size_t got) {
    return want < 0 ? got == 0 : static_cast<size_t>(want) != got;
  };
  if (wrong(inputs, step.inputs.size()) || wrong(outputs, step.outputs.size())) {
    const auto count = [](int n) { return n < 0 ? std::string("some") : absl::StrCat(n); };
    return Refuse("got ", absl::StrCat(step.inputs.size()), " names and ",
                  absl::StrCat(step.outputs.size()), " results, want ", count(inputs), " and ",
                  count(outputs));
  }
  return absl::OkStatus();
}

absl::StatusOr<BlockId> FindBlockArg(const Program& program, const std::string& name) {
  const BlockId block = FindBlock(program, name);
  if (block < 0 || NodeOf(program, block) < 0) return Refuse("no block '", name, "'");
  return block;
}

absl::StatusOr<BufferId> FindBufferArg(const Program& program, const std::string& name) {
  const BufferId buffer = FindBuffer(program, name);
  if (buffer < 0) return Refuse("no buffer '", name, "'");
  return buffer;
}

absl::StatusOr<VarId> FindVarArg(const Program& program, const std::string& name) {
  const VarId var = FindVar(program, name);
  if (var < 0) return Refuse("no variable '", name, "', or several");
  return var;
}

absl::StatusOr<NodeId> FindLoopArg(const Program& program, const std::string& name) {
  ASSIGN_OR_RETURN(const VarId var, FindVarArg(program, name));
  const NodeId loop = LoopOf(program, var);
  if (loop < 0) return Refuse("'", name, "' is no loop any more");
  for (NodeId around : LoopsAround(program, loop)) {
    // An instruction's nest is matched once. A change inside of it would leave the name of an
    // instruction over other loops.
    if (program.nodes[around].loop_kind == LoopKind::kTensorized) {
      return Refuse("loop ", name, " is part of instruction ", program.nodes[around].intrinsic);
    }
  }
  return loop;
}

absl::Status WantNewVar(const Program& program, const std::string& name) {
  for (const Var& var : program.vars) {
    if (var.name == name) return Refuse("there is a variable '", name, "' already");
  }
  return absl::OkStatus();
}

absl::Status WantNewBuffer(const Program& program, const std::string& name) {
  if (FindBuffer(program, name) >= 0) return Refuse("there is a buffer '", name, "' already");
  return absl::OkStatus();
}

std::vector<BlockId> BlocksUnder(const Program& program, NodeId node) {
  std::vector<BlockId> blocks;
  for (NodeId id : Subtree(program, node)) {
    if (program.nodes[id].kind == NodeKind::kBlock) blocks.push_back(program.nodes[id].block);
  }
  return blocks;
}

NodeId NestOf(const Program& program, NodeId node) {
  while (program.nodes[node].parent != program.root &&
         program.nodes[node].parent != program.pack_root) {
    node = program.nodes[node].parent;
  }
  return node;
}

VarRanges RangesOf(const Program& program) {
  // Kept: MaxExtent may enumerate the iterations of several loops, and one primitive asks for the
  // same variables many times.
  auto extents = std::make_shared<std::map<VarId, int64_t>>();
  return [&program, extents](VarId var) -> std::optional<Range> {
    const auto it = extents->find(var);
    if (it != extents->end()) return Range{0, it->second - 1};
    const int64_t extent = MaxExtent(program, var);
    extents->emplace(var, extent);
    return Range{0, extent - 1};
  };
}

std::vector<Expr> LoadsOf(const Block& block, BufferId buffer) {
  std::vector<Expr> loads;
  for (const Expr& e : {block.init, block.step, block.finish}) {
    RewriteExpr(e, [&](const Expr& node) -> Expr {
      if (node->kind == ExprKind::kLoad && node->id == buffer) loads.push_back(node);
      return nullptr;
    });
  }
  return loads;
}

std::vector<BlockId> ReadersOf(const Program& program, BufferId buffer) {
  std::vector<BlockId> readers;
  for (size_t i = 0; i < program.blocks.size(); ++i) {
    if (!LoadsOf(program.blocks[i], buffer).empty()) readers.push_back(static_cast<BlockId>(i));
  }
  return readers;
}

bool IsDistinctWithin(const Program& program, VarId var, NodeId within) {
  const Expr map = ExpandDefs(program, VarRef(var));
  std::vector<std::pair<int64_t, int64_t>>
      steps;  // Of a loop that runs, and how often it takes it.
  for (VarId part : FreeVars(map)) {
    const NodeId loop = LoopOf(program, part);
    if (loop < 0 || !IsInside(program, loop, within)) continue;
    const int64_t times = MaxExtent(program, part) - 1;
    if (times == 0) continue;
    // Errs on the side of no: a loop inside of a quotient may not change it.
    const int64_t step = ToLinear(map, RangesOf(program)).StepOf(part).value_or(0);
    if (step == 0) return false;
    steps.emplace_back(std::abs(step), times);
  }
  // As digits of a number: a step leads beyond all that those smaller than it reach together.
  std::sort(steps.begin(), steps.end());
  int64_t reached = 0;
  for (const auto& [step, times] : steps) {
    if (step <= reached) return false;
    reached += step * times;
  }
  return true;
}

absl::StatusOr<std::vector<int64_t>> NewExtentValues(const Program& program, VarId var) {
  int64_t budget = kExtentPointsMax;
  std::optional<std::vector<int64_t>> values = FindExtentValues(program, var, budget);
  if (values.has_value()) return *std::move(values);
  return Refuse("the extent of ", program.vars[var].name, " depends on too many iterations");
}

absl::Status CheckExtentsBy(const Program& program, absl::Span<const VarId> made) {
  const auto last = static_cast<VarId>(program.vars.size());
  for (VarId var = 0; var < last; ++var) {
    const bool is_made = std::find(made.begin(), made.end(), var) != made.end();
    if (is_made || IsConstInt(program.vars[var].extent)) continue;
    const Expr extent = ExpandDefs(program, program.vars[var].extent);
    const bool depends = std::any_of(made.begin(), made.end(),
                                     [&](VarId loop) { return MentionsVar(extent, loop); });
    if (depends) RETURN_IF_ERROR(NewExtentValues(program, var).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<Expr> Tabulate(const Program& program, const Expr& e,
                              const std::function<int64_t(int64_t)>& f) {
  if (IsConstInt(e)) return Int(f(e->int_value));
  const Expr expanded = ExpandDefs(program, e);
  const std::vector<VarId> vars = FreeVars(expanded);
  auto table = std::make_shared<ConstTable>();
  std::vector<Expr> indices;
  for (VarId var : vars) {
    table->shape.push_back(MaxExtent(program, var));
    indices.push_back(VarRef(var));
  }
  // Entries that no iteration looks up have the first value that one does.
  std::vector<std::optional<double>> entries(ElementCount(table->shape));
  std::optional<double> first;
  // 65,536 entries bound the table, which becomes part of the program and of the machine code's
  // data.
  const bool enumerated = ForEachIteration(program, expanded, 65536, [&](const auto& value) {
    int64_t flat = 0;
    for (size_t d = 0; d < vars.size(); ++d) flat = flat * table->shape[d] + value(vars[d]);
    entries[flat] = static_cast<double>(f(EvalInt(expanded, value)));
    if (!first.has_value()) first = entries[flat];
  });
  if (!enumerated || !first.has_value()) {
    return Refuse("the extent depends on too many iterations for a table");
  }
  for (const auto& entry : entries) table->values.push_back(entry.value_or(*first));
  if (std::all_of(table->values.begin(), table->values.end(),
                  // One value is no table: balanced tiles that divide evenly need none.
                  [&](double v) { return v == table->values[0]; })) {
    return Int(static_cast<int64_t>(table->values[0]));
  }
  return TableLoad(std::move(table), std::move(indices));
}

void RemoveBlock(Program& program, BlockId block) {
  Detach(program, NodeOf(program, block));
  Prune(program);
}

}  // namespace burnish
