#include "tuner/cost_model/nest_walk.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "compiler/ir/access.h"
#include "compiler/ir/count_points.h"
#include "compiler/ir/expr_kinds.h"
#include "compiler/ir/simplify.h"
#include "compiler/target/instruction.h"
#include "tuner/cost_model/address_walk.h"
#include "tuner/cost_model/loop_digits.h"

namespace burnish {
namespace {

// Points of a condition's variables that are all looked at; of more there is a sample. A dilated
// convolution over 40x40 pixels, whose borders are left out by conditions of 4,800 points, was
// taken for a quarter of its work when such conditions counted as half true.
constexpr int64_t kSharePointsMax = 4096;
constexpr int kShareSample = 512;

bool IsBodyLoop(const Node& node) {
  return node.kind == NodeKind::kLoop &&
         (node.loop_kind == LoopKind::kUnrolled || node.loop_kind == LoopKind::kVectorized ||
          node.loop_kind == LoopKind::kTensorized);
}

// Bytes of the widest element that a lane holds of a value: of what is loaded, and of what is
// computed from it. Indices of loads take no lane.
int64_t WidestBytes(const ExprNode& e) {
  if (e.kind == ExprKind::kLoad) return SizeBytes(e.dtype);
  int64_t widest = 0;
  for (const Expr& operand : e.operands) widest = std::max(widest, WidestBytes(*operand));
  return widest == 0 ? 0 : std::max(widest, SizeBytes(e.dtype));
}

// Null: it costs nothing.
int OpCounts::* CountOf(CostClass cost) {
  switch (cost) {
    case CostClass::kFree:
      return nullptr;
    case CostClass::kAdd:
      return &OpCounts::add;
    case CostClass::kMultiply:
      return &OpCounts::multiply;
    case CostClass::kMinMax:
      return &OpCounts::min_max;
    case CostClass::kNegate:
      return &OpCounts::negate;
    case CostClass::kSelect:
      return &OpCounts::select;
    case CostClass::kCast:
      return &OpCounts::cast;
    case CostClass::kDivide:
      return &OpCounts::divide;
    case CostClass::kPower:
      return &OpCounts::power;
    case CostClass::kFunction:
      return &OpCounts::transcendental;
    case CostClass::kInteger:
      return &OpCounts::integer;
    case CostClass::kCompare:
      return &OpCounts::compare;
  }
  return nullptr;
}

void CountOp(const ExprNode& e, OpCounts& ops) {
  CostClass cost = InfoOf(e.kind).cost;
  // 64-bit integers are what indices are computed in; elements of that type are rare.
  const bool whole = e.dtype == DType::kI64 || e.dtype == DType::kBool;
  const bool of_any_type =
      cost == CostClass::kFree || cost == CostClass::kFunction || cost == CostClass::kCompare;
  if (whole && !of_any_type) cost = CostClass::kInteger;
  if (int OpCounts::* const count = CountOf(cost)) ++(ops.*count);
}

bool HasLoad(const ExprNode& e) {
  return e.kind == ExprKind::kLoad ||
         std::any_of(e.operands.begin(), e.operands.end(),
                     [](const Expr& operand) { return HasLoad(*operand); });
}

class Walker {
 public:
  Walker(const Program& program, const IsaModel& isa, int threads)
      : program_(program), isa_(isa), threads_(threads), addresses_(extents_, units_) {
    // Of loops, which are all that is mentioned; others may be left over from lowering.
    extents_.resize(program.vars.size(), 0);
    means_.resize(program.vars.size(), 0);
    begins_.resize(program.vars.size(), 0);
    prefetched_.resize(program.buffers.size(), false);
    for (const Node& node : program.nodes) {
      if (node.kind == NodeKind::kPrefetch) prefetched_[node.buffer] = true;
      if (node.kind != NodeKind::kLoop || extents_[node.var] != 0) continue;
      extents_[node.var] = MaxExtent(program, node.var);
      if (node.loop_kind == LoopKind::kParallel) parallel_.push_back(node.var);
    }
    units_ = DigitUnits(program, extents_);
    // Lanes and what is written out have one order, whose places are looked at one by one.
    for (const Node& node : program.nodes) {
      if (IsBodyLoop(node)) units_[node.var] = {1};
    }
    SetWorker(threads - 1);
    workers_differ_ = threads > 1 && !parallel_.empty() &&
                      std::any_of(program.nodes.begin(), program.nodes.end(),
                                  [&](const Node& node) { return IsUneven(node); });
  }

  // Of the worker that has the most to do. Shares of a parallel loop differ by an iteration, of
  // which the last worker has one more, and where iterations are not alike the first may have the
  // longer ones.
  WalkNest Walk(NodeId id) {
    WalkNest last = WalkOne(id);
    if (!workers_differ_ || !last.parallel) return last;
    SetWorker(0);
    WalkNest first = WalkOne(id);
    SetWorker(threads_ - 1);
    return WorkOf(first) > WorkOf(last) ? std::move(first) : std::move(last);
  }

 private:
  // Instructions, to compare workers by.
  static double WorkOf(const WalkNest& nest) {
    double work = 0;
    for (const WalkStore& store : nest.stores) work += store.executions * store.instances;
    return work;
  }

  // Whether iterations of a parallel loop are not alike.
  bool IsUneven(const Node& node) const {
    if (node.kind != NodeKind::kIf && node.kind != NodeKind::kLoop) return false;
    const Expr& decides = node.kind == NodeKind::kIf ? node.cond : program_.vars[node.var].extent;
    const std::vector<VarId> vars = FreeVars(ExpandDefs(program_, decides));
    return std::any_of(vars.begin(), vars.end(), [&](VarId var) { return IsParallel(var); });
  }

  bool IsParallel(VarId var) const {
    return std::find(parallel_.begin(), parallel_.end(), var) != parallel_.end();
  }

  // Whose iterations of parallel loops are walked: w * E / W up to (w + 1) * E / W
  // (compiler/codegen/llvm/kernel_emitter.cc).
  void SetWorker(int worker) {
    for (const VarId var : parallel_) {
      begins_[var] = worker * extents_[var] / threads_;
      means_[var] = std::max<double>(
          1, static_cast<double>((worker + 1) * extents_[var] / threads_ - begins_[var]));
    }
    for (const Node& node : program_.nodes) {
      if (node.kind == NodeKind::kLoop && !IsParallel(node.var)) {
        means_[node.var] = MeanExtent(node.var);
      }
    }
  }

  WalkNest WalkOne(NodeId id) {
    nest_ = {};
    const Node& node = program_.nodes[id];
    nest_.parallel = node.kind == NodeKind::kLoop && node.loop_kind == LoopKind::kParallel;
    nest_.workers = nest_.parallel ? threads_ : 1;
    if (nest_.parallel) nest_.parallel_extent = extents_[node.var];
    nest_.items = Items({id}, 1);
    CHECK(loops_.empty());
    return std::move(nest_);
  }

  double Trips(VarId var) const { return means_[var]; }

  // Of a loop whose extent is not the same everywhere: exactly where few variables decide, else the
  // greatest.
  double MeanExtent(VarId var) const {
    const auto greatest = static_cast<double>(extents_[var]);
    if (IsConstInt(program_.vars[var].extent)) return greatest;
    const Expr extent = ExpandDefs(program_, program_.vars[var].extent);
    const std::vector<VarId> vars = FreeVars(extent);
    double sum = 0;
    int64_t count = 0;
    const bool visited = ForEachIteration(program_, extent, kSharePointsMax,
                                          [&](const std::function<int64_t(VarId)>& value) {
                                            if (!IsOfWorker(vars, value)) return;
                                            sum += static_cast<double>(EvalInt(extent, value));
                                            ++count;
                                          });
    return visited && count > 0 ? sum / static_cast<double>(count) : greatest;
  }

  // Whether the worker comes to such values of loops.
  bool IsOfWorker(const std::vector<VarId>& vars,
                  const std::function<int64_t(VarId)>& value) const {
    return std::all_of(vars.begin(), vars.end(), [&](VarId var) {
      return !IsParallel(var) || (value(var) >= begins_[var] &&
                                  static_cast<double>(value(var) - begins_[var]) < means_[var]);
    });
  }

  // The loops that one of the program stands for, outermost first, with `trips` in all.
  void PushDigits(VarId var, LoopKind kind, double trips) {
    const std::vector<int64_t>& units = units_[var];
    const size_t begin = loops_.size();
    double rest = trips, whole = static_cast<double>(extents_[var]);
    for (size_t d = 0; d < units.size(); ++d) {
      const bool last = d + 1 == units.size();
      const double extent =
          last ? whole : static_cast<double>(units[d + 1]) / static_cast<double>(units[d]);
      // A worker's share is of neighbours: the outermost digits are dealt out.
      const double here = last ? rest : std::min(extent, rest);
      loops_.push_back({.var = var,
                        .kind = kind,
                        .extent = static_cast<int64_t>(std::ceil(extent)),
                        .trips = here,
                        .unit = units[d],
                        .is_dealt = kind == LoopKind::kParallel && here < extent});
      rest = std::max(1.0, rest / extent);
      whole = std::max(1.0, whole / extent);
    }
    std::reverse(loops_.begin() + static_cast<std::ptrdiff_t>(begin), loops_.end());
  }

  // `times`: how often the items run in all, on one worker.
  std::vector<WalkItem> Items(const std::vector<NodeId>& ids, double times) {
    std::vector<WalkItem> items;
    std::vector<NodeId> body;
    const auto flush = [&] {
      if (body.empty()) return;
      WalkItem& item = items.emplace_back();
      const size_t depth = loops_.size();
      for (NodeId id : body) Collect(id, times, depth, item.body);
      body.clear();
    };
    for (NodeId id : ids) {
      const Node& node = program_.nodes[id];
      // Neighbouring straight-line children are one body: they share loads and registers.
      if (IsBodyLoop(node) || node.kind == NodeKind::kStore) {
        body.push_back(id);
        continue;
      }
      flush();
      AddItem(node, times, items);
    }
    flush();
    return items;
  }

  void AddItem(const Node& node, double times, std::vector<WalkItem>& items) {
    if (node.kind == NodeKind::kSeq) {
      for (WalkItem& item : Items(node.children, times)) items.push_back(std::move(item));
      return;
    }
    // What waiting costs is no work of a nest.
    if (node.kind == NodeKind::kBarrier) return;
    WalkItem item;
    if (node.kind == NodeKind::kIf) {
      item.kind = WalkKind::kIf;
      item.share = Share(node.cond);
      item.items = ItemsOfArm(node.children[0], times, item.share);
      if (node.children.size() > 1) {
        item.otherwise = ItemsOfArm(node.children[1], times, 1 - item.share);
      }
    } else if (node.kind == NodeKind::kLoop) {
      item.kind = WalkKind::kLoop;
      item.trips = Trips(node.var);
      const size_t depth = loops_.size();
      PushDigits(node.var, node.loop_kind, item.trips);
      item.items = Items(node.children, times * item.trips);
      loops_.resize(depth);
    } else {
      CHECK(node.kind == NodeKind::kPrefetch);
      item.kind = WalkKind::kPrefetch;
      nest_.prefetch_count += times;
    }
    items.push_back(std::move(item));
  }

  std::vector<WalkItem> ItemsOfArm(NodeId id, double times, double share) {
    const int around = arm_;
    arm_ = arm_count_++;
    conditions_.push_back({loops_.size(), share});
    std::vector<WalkItem> items = Items({id}, times * share);
    conditions_.pop_back();
    arm_ = around;
    return items;
  }

  // How often a condition holds for the worker: exactly where few variables decide.
  double Share(const Expr& cond) {
    if (HasLoad(*cond)) return 0.5;
    bool runs = true;
    const auto range = [&](VarId var) {
      const int64_t trips = IsParallel(var) ? static_cast<int64_t>(means_[var]) : extents_[var];
      runs = runs && trips > 0;
      return std::optional(Range{begins_[var], begins_[var] + std::max<int64_t>(trips, 1) - 1});
    };
    const std::optional<double> share = ShareOfPoints(cond, range, kSharePointsMax);
    if (!runs) return 0.5;
    return share.has_value() ? *share : ShareOfSample(cond, range, kShareSample);
  }

  void Collect(NodeId id, double times, size_t depth, WalkBody& body) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::kLoop) {
      const size_t around = loops_.size();
      PushDigits(node.var, node.loop_kind, Trips(node.var));
      const bool is_nest = node.loop_kind == LoopKind::kTensorized;
      if (is_nest) intrinsic_ = node.intrinsic;
      if (IsBodyLoop(node) || !intrinsic_.empty()) {
        for (NodeId child : node.children) Collect(child, times, depth, body);
        if (is_nest) intrinsic_.clear();
      } else {
        body.inner.push_back({Trips(node.var), Items(node.children, times * Trips(node.var))});
      }
      loops_.resize(around);
      return;
    }
    if (node.kind == NodeKind::kStore) {
      AddStore(id, times, depth, body);
      return;
    }
    if (node.kind == NodeKind::kIf) body.branch_count += 1;
    for (NodeId child : node.children) Collect(child, times, depth, body);
  }

  void AddStore(NodeId id, double times, size_t depth, WalkBody& body) {
    const Node& node = program_.nodes[id];
    WalkStore store{.node = id, .loops = loops_, .body_depth = depth, .executions = times};
    SetVector(node, store);
    if (!store.intrinsic.empty() && TouchesTile(node)) {
      store.tile_rows = loops_[static_cast<size_t>(store.vector_loop)].extent;
    }
    for (size_t i = depth; i < loops_.size(); ++i) store.instances *= Width(store, i);
    store.combines = node.combiner != Combiner::kAssign;
    store.is_product = node.value->kind == ExprKind::kMul;
    if (store.combines) {
      const double share = NonzeroShare(*node.value);
      store.instances *= share;
      store.reduced *= share;
    }
    store.access_begin = nest_.accesses.size();
    CollectLoads(*node.value, store);
    store.buffer = node.buffer;
    const Buffer& buffer = program_.buffers[node.buffer];
    store.to_register = IsInRegisters(buffer);
    if (store.to_register) {
      for (size_t i = depth; i < loops_.size(); ++i) {
        const bool indexes =
            std::any_of(node.indices.begin(), node.indices.end(),
                        [&](const Expr& index) { return MentionsVar(index, loops_[i].var); });
        (indexes ? store.window : store.reduced) *= Width(store, i);
      }
    } else {
      if (store.combines) AddAccess(node.buffer, node.indices, store, /*is_store=*/false);
      AddAccess(node.buffer, node.indices, store, /*is_store=*/true);
    }
    store.access_end = nest_.accesses.size();
    body.stores.push_back(nest_.stores.size());
    nest_.stores.push_back(std::move(store));
  }

  // The loop whose iterations are the lanes of a vector, or of an instruction with a nest.
  void SetVector(const Node& node, WalkStore& store) const {
    for (size_t i = store.body_depth; i < loops_.size() && store.vector_loop < 0; ++i) {
      const LoopKind kind = loops_[i].kind;
      if (kind != LoopKind::kVectorized && kind != LoopKind::kTensorized) continue;
      store.vector_loop = static_cast<int>(i);
      if (kind == LoopKind::kTensorized) store.intrinsic = intrinsic_;
    }
    store.dtype = program_.buffers[node.buffer].dtype;
    const int64_t widest = std::max(SizeBytes(store.dtype), WidestBytes(*node.value));
    store.lanes = isa_.vector_bytes / widest;
  }

  // Of the terms of a sum, those that straight-line code keeps: factors from a constant table are
  // known there, and a term with a zero is none.
  static double NonzeroShare(const ExprNode& e) {
    if (e.kind == ExprKind::kMul)
      return NonzeroShare(*e.operands[0]) * NonzeroShare(*e.operands[1]);
    if (e.kind != ExprKind::kTable || !IsFloat(e.dtype)) return 1;
    const std::vector<double>& values = e.table->values;
    const auto zeros = std::count(values.begin(), values.end(), 0.0);
    return 1 - static_cast<double>(zeros) / static_cast<double>(values.size());
  }

  static bool IsInRegisters(const Buffer& buffer) {
    return buffer.role == BufferRole::kTemp &&
           (buffer.scope == Scope::kRegister || buffer.scope == Scope::kTile);
  }

  bool TouchesTile(const Node& leaf) const {
    bool touches = program_.buffers[leaf.buffer].scope == Scope::kTile;
    VisitExpr(leaf.value, [&](const ExprNode& e) {
      touches =
          touches || (e.kind == ExprKind::kLoad && program_.buffers[e.id].scope == Scope::kTile);
    });
    return touches;
  }

  // Of an instruction on tiles, loads or stores of a line: the rows that it moves.
  double LinesOfTile(const Buffer& buffer, const WalkStore& store, const WalkAccess& access) const {
    double bytes = static_cast<double>(SizeBytes(buffer.dtype));
    for (size_t i = static_cast<size_t>(store.vector_loop); i < access.loops.size(); ++i) {
      if (access.loops[i].moves()) bytes *= access.loops[i].trips;
    }
    return std::ceil(bytes / static_cast<double>(GreatestTiles().row_bytes));
  }

  // Instructions that the body's loop `i` stands for.
  double Width(const WalkStore& store, size_t i) const {
    if (store.tile_rows > 0 && static_cast<int>(i) >= store.vector_loop) return 1;
    if (static_cast<int>(i) == store.vector_loop) {
      return VectorChunks(loops_[i].extent, store.lanes);
    }
    return IsOfInstruction(store, i) ? 1 : loops_[i].trips;
  }

  // Whether loop `i` lies inside the nest that an instruction computes.
  static bool IsOfInstruction(const WalkStore& store, size_t i) {
    return !store.intrinsic.empty() && static_cast<int>(i) > store.vector_loop;
  }

  // Counts the operations and adds the loads of a value, operands first. Whether the value changes
  // in the innermost loop around the body, or inside: what does not, as a row's 1 / sum, is
  // computed before that loop and does not count.
  bool CollectLoads(const ExprNode& e, WalkStore& store) {
    bool changes = e.kind == ExprKind::kVar && IsOfInnermost(e.id, store);
    const size_t begin = nest_.accesses.size();
    for (const Expr& operand : e.operands) changes = CollectLoads(*operand, store) || changes;
    const bool is_access = nest_.accesses.size() > begin;
    // An instruction of its own on operands of fewer bits converts nothing.
    if (e.kind == ExprKind::kCast && e.operands[0]->kind == ExprKind::kLoad && is_access &&
        store.intrinsic.empty()) {
      store.ops.widened += changes;
      if (changes) store.converted_loads += nest_.accesses.back().instructions;
    } else if (changes) {
      CountOp(e, store.ops);
    }
    if (e.kind == ExprKind::kLoad) AddAccess(e.id, e.operands, store, /*is_store=*/false);
    return changes;
  }

  bool IsOfInnermost(VarId var, const WalkStore& store) const {
    const size_t innermost = store.body_depth - std::min<size_t>(store.body_depth, 1);
    return std::any_of(loops_.begin() + static_cast<std::ptrdiff_t>(innermost), loops_.end(),
                       [&](const WalkLoop& loop) { return loop.var == var; });
  }

  // Of an access whose lanes, loop `i`, are no neighbours.
  double GatherInstructions(const Buffer& buffer, const std::vector<Expr>& indices,
                            const WalkAccess& access, const WalkStore& store, size_t i) const {
    const double one_by_one = 1.5 * static_cast<double>(loops_[i].extent);
    if (access.is_store) return one_by_one;
    const int64_t lanes = std::min<int64_t>(store.lanes, loops_[i].extent);
    const double column = addresses_.InstructionsOfColumn(buffer, access, i, lanes);
    if (column > 0) return column * Width(store, i);
    const double vectors = access.loops[i].hidden
                               ? addresses_.RunsOfLanes(buffer, indices, loops_[i], lanes)
                               : static_cast<double>(CountOfSteps(access.loops[i].stride, lanes));
    // Each is a load and a shuffle.
    return vectors > 0 ? 2 * vectors * Width(store, i) : one_by_one;
  }

  // Whether what is asked for ahead is still there when it is read. Weights are asked for while the
  // panel before is read (compiler/schedule/primitives/prefetch.cc): a panel must fit into the
  // cache that it comes to. 25088 x 4096 weights of bfloat16 take 11.4 ms by panels of 96
  // columns, 4.8 MB each, and 9.6 by 16 (two threads of a Granite Rapids, L2 of 2 MiB).
  bool IsInTime(const Buffer& buffer, const WalkAccess& access) const {
    if (!access.is_cold || isa_.l2.size_bytes == 0) return true;
    double bytes = static_cast<double>(SizeBytes(buffer.dtype));
    bool is_panel = true;  // The outermost loop of a worker that moves the access.
    for (const AccessLoop& loop : access.loops) {
      if (loop.is_dealt || !loop.moves()) continue;
      if (!is_panel) bytes *= loop.trips;
      is_panel = false;
    }
    return bytes <= static_cast<double>(isa_.l2.size_bytes);
  }

  void AddAccess(BufferId id, const std::vector<Expr>& indices, const WalkStore& store,
                 bool is_store) {
    const Buffer& buffer = program_.buffers[id];
    if (IsInRegisters(buffer)) return;
    WalkAccess access{
        .buffer = id,
        .is_store = is_store,
        .is_cold = buffer.role == BufferRole::kPacked || buffer.role == BufferRole::kConstant,
        .executions = store.executions,
        .body_depth = store.body_depth};
    access.loops.reserve(loops_.size());
    for (const WalkLoop& loop : loops_) {
      access.loops.push_back(
          {.var = loop.var, .trips = loop.trips, .unit = loop.unit, .is_dealt = loop.is_dealt});
    }
    access.arm = arm_;
    access.shares.assign(store.body_depth + 1, 1);
    for (const auto& [depth, share] : conditions_) {
      for (size_t i = 0; i <= std::min(depth, store.body_depth); ++i) access.shares[i] *= share;
    }
    addresses_.SetStrides(buffer, indices, access);
    access.is_prefetched = prefetched_[id] && IsInTime(buffer, access);
    double rows = 1;
    bool pointers = false;
    for (size_t i = store.body_depth; i < access.loops.size(); ++i) {
      const AccessLoop& loop = access.loops[i];
      if (!loop.moves() || IsOfInstruction(store, i)) continue;
      if (static_cast<int>(i) == store.vector_loop) {
        // Operands of an instruction lie as it takes them.
        access.has_gather = store.intrinsic.empty() && (loop.hidden || loop.stride != 1);
        access.instructions *= access.has_gather
                                   ? GatherInstructions(buffer, indices, access, store, i)
                                   : Width(store, i);
        continue;
      }
      access.instructions *= loop.trips;
      if (!loop.hidden) continue;
      pointers = true;
      rows *= loop.trips;
    }
    if (store.tile_rows > 0) access.instructions *= LinesOfTile(buffer, store, access);
    if (pointers && !is_store) access.pointers = rows;
    nest_.accesses.push_back(std::move(access));
  }

  const Program& program_;
  const IsaModel& isa_;
  const int threads_;
  std::vector<int64_t> extents_;  // By variable; the greatest.
  std::vector<double> means_;     // The same, on an average of the worker's iterations.
  std::vector<VarId> parallel_;
  std::vector<int64_t> begins_;  // Of parallel loops, where the worker begins; of others 0.
  bool workers_differ_ = false;  // By more than an iteration.
  std::vector<std::vector<int64_t>> units_;  // Of digits, by variable.
  const AddressWalk addresses_;
  std::vector<bool> prefetched_;                       // By buffer.
  std::vector<WalkLoop> loops_;                        // Around where the walk is.
  std::vector<std::pair<size_t, double>> conditions_;  // The loops around one, how often it holds.
  int arm_ = -1, arm_count_ = 0;
  std::string intrinsic_;  // Of the nest that the walk is in; empty: none.
  WalkNest nest_;
};

}  // namespace

double VectorChunks(int64_t extent, int64_t lanes) {
  double chunks = static_cast<double>(extent / lanes);
  for (int64_t rest = extent % lanes; rest > 0; rest &= rest - 1) chunks += 1;
  return chunks;
}

std::vector<WalkNest> WalkNests(const Program& lowered, const IsaModel& isa, int threads) {
  Walker walker(lowered, isa, threads);
  std::vector<WalkNest> nests;
  std::vector<bool> is_split(lowered.buffers.size());  // Written by several workers, each its part.
  for (NodeId id : lowered.nodes[lowered.root].children) {
    WalkNest nest = walker.Walk(id);
    for (WalkAccess& access : nest.accesses) {
      access.is_remote = is_split[access.buffer] && nest.IsShared(access);
    }
    for (const WalkAccess& access : nest.accesses) {
      if (access.is_store && nest.parallel && nest.workers > 1) is_split[access.buffer] = true;
    }
    nests.push_back(std::move(nest));
  }
  return nests;
}

}  // namespace burnish
