#include "compiler/ir/guard_loops.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/choose_once.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/cut_loops.h"
#include "compiler/ir/guard_producers.h"
#include "compiler/ir/guard_rows.h"
#include "compiler/ir/loop_isolation.h"
#include "compiler/ir/lowered.h"
#include "compiler/ir/neutral_loops.h"

namespace burnish {
namespace {

// Of a program: a byte each in the arena, and some work of the session when sizes change.
constexpr int64_t kFlagsMax = 1 << 16;
// An iteration with less than a cache line of results is done sooner than it is asked about.
constexpr int64_t kBodyMin = 16;
// Of more tiles, the rows that nobody reads in the last are not worth the code of copies: a 32nd of
// the work where a call takes all.
constexpr int64_t kTilesMax = 16;
// Shares of a tile that have a copy each. Of one tile or two, each number of rows of the usual
// tiles, with the whole among them; of more, quarters, which compile in less time: with eighths
// everywhere a decoder's range took 3.9 to 4.6 of one size's time, and its calls 1.16 to 1.18 of
// the static bundle's, with quarters 3.4 and 1.19 (Zen 4).
constexpr int64_t kFewTiles = 2, kPartsOfFew = 8, kPartsOfMany = 4;

class Guarder {
 public:
  Guarder(const GuardRequest& request, Program& program)
      : axes_(request.axes), rests_(request.rests), program_(program), isolation_(program) {}

  bool IsGuarded(NodeId loop) const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const GuardedLoop& guarded) { return guarded.loop == loop; });
  }

  GuardedLoops Run() {
    if (axes_.empty() && rests_.empty()) return {};
    if (!FindOutput() || HasBoundLoops() || !ReadsBackItsOwn()) return {};
    for (const NodeId id : Subtree(program_, program_.root)) {
      if (program_.nodes[id].kind == NodeKind::kLoop) Consider(id);
    }
    AddTiles();
    ConsiderNeutral();
    ConsiderConstant();
    if (flags_ == 0) return {};
    // From the last loop to the first: a loop may leave values to one that leaves values itself.
    const std::vector<NodeId> order = Subtree(program_, program_.root);
    for (size_t i = order.size(); i-- > 0;) {
      if (program_.nodes[order[i]].kind == NodeKind::kLoop) ConsiderProducer(order, i);
    }
    found_.live = AddInputTable("live", DType::kBool, flags_, program_);
    for (FilledLoop& filled : filled_) {
      filled.stores = StoreOf(filled.constant.value, filled.constant.loop, output_, program_);
    }
    // Inner loops first, since tiles are copied with what guards the loops in them.
    for (size_t i = order.size(); i-- > 0;) {
      for (const TiledLoop& tiled : tiled_) {
        if (tiled.loop == order[i]) Tile(tiled);
      }
      for (const FilledLoop& filled : filled_) {
        if (filled.constant.loop == order[i]) Fill(filled);
      }
      for (size_t g = 0; g < loops_.size(); ++g) {
        if (loops_[g].loop == order[i]) Guard(loops_[g], found_.guards[g].first);
      }
    }
    ChooseOnce(program_.root, program_);
    for (const TiledLoop& tiled : tiled_) {
      for (const ShorterBody& shorter : tiled.shorter) found_.guards.push_back(shorter.behind);
    }
    for (const FilledLoop& filled : filled_) found_.guards.push_back(filled.guard);
    return std::move(found_);
  }

 private:
  // A copy of a loop's body for the first rows of its tiles.
  struct ShorterBody {
    int64_t count = 0;  // Of rows.
    LoopGuard behind;   // Whether a run wants one behind them.
  };
  struct TiledLoop {
    NodeId loop = -1;
    TileRows rows;
    std::vector<VarId> vars;           // Of the flags, from the outermost.
    std::vector<ShorterBody> shorter;  // Ascending.
  };
  struct GuardedLoop {
    NodeId loop;
    std::vector<VarId> vars;  // From the outermost.
  };
  // A loop that stores a number where its flags are not set.
  struct FilledLoop {
    ConstantLoop constant;
    std::vector<VarId> vars;  // From the outermost.
    LoopGuard guard;
    NodeId stores = -1;  // Of the number, as the loop's body was before anything was guarded.
  };
  struct Indices {
    size_t axis, count;
    std::vector<Expr> stored;
  };

  bool FindOutput() {
    for (size_t b = 0; b < program_.buffers.size(); ++b) {
      if (program_.buffers[b].role != BufferRole::kOutput) continue;
      if (output_ >= 0) return false;
      output_ = static_cast<BufferId>(b);
    }
    return output_ >= 0;
  }

  bool HasBoundLoops() const {
    return std::any_of(program_.nodes.begin(), program_.nodes.end(), [](const Node& node) {
      return node.kind == NodeKind::kLoop && node.loop_kind == LoopKind::kBound;
    });
  }

  void Consider(NodeId loop) {
    const Node& node = program_.nodes[loop];
    if (!IsLong(loop)) return;
    std::set<VarId> depends;
    std::vector<Indices> indices;
    const auto consider = [&](size_t axis, size_t count) {
      std::vector<Expr> stored = StoredIndices(loop, axis, count);
      std::set<VarId> vars = VarsAround(loop, stored);
      if (vars.count(node.var) == 0) return;
      depends.insert(vars.begin(), vars.end());
      indices.push_back({.axis = axis, .count = count, .stored = std::move(stored)});
    };
    for (size_t i = 0; i < axes_.size(); ++i) {
      const auto axis = static_cast<size_t>(axes_[i]);
      consider(axis, 1);
      if (i + 1 < axes_.size() && axes_[i + 1] == axes_[i] + 1) consider(axis, 2);
    }
    if (indices.empty() || !isolation_.IsIsolated(loop, output_)) return;
    GuardedLoop guarded{.loop = loop, .vars = {}};
    LoopGuard guard{.first = flags_, .count = 1, .written = {}};
    for (const NodeId around : LoopsAround(program_, loop)) {
      const VarId var = program_.nodes[around].var;
      if (depends.count(var) == 0) continue;
      guarded.vars.push_back(var);
      guard.count *= MaxExtent(program_, var);
      if (guard.count > kFlagsMax - flags_) return;
    }
    for (const Indices& each : indices) {
      std::optional<std::vector<Range>> ranges = Written(guarded.vars, each.stored);
      if (!ranges.has_value()) continue;
      const bool differs = std::any_of(ranges->begin(), ranges->end(), [&](const Range& range) {
        return range.min != ranges->front().min;
      });
      if (!differs) continue;
      guard.written.push_back(
          {.axis = each.axis, .count = each.count, .ranges = *std::move(ranges)});
    }
    if (guard.written.empty()) return;
    flags_ += guard.count;
    found_.guards.push_back(std::move(guard));
    loops_.push_back(std::move(guarded));
  }

  // Tiles of rows: which flags say that nothing behind the first rows is read. In the innermost
  // loops that are guarded for the output; elsewhere in whichever loop is the outermost around
  // them, as where a tile has all rows that there are.
  void AddTiles() {
    const std::vector<GuardedLoop> guarded = loops_;
    const auto is_around_guarded = [&](NodeId loop) {
      return std::any_of(guarded.begin(), guarded.end(), [&](const GuardedLoop& other) {
        return other.loop != loop && IsInside(program_, other.loop, loop);
      });
    };
    for (size_t i = 0; i < guarded.size(); ++i) {
      if (is_around_guarded(guarded[i].loop)) continue;
      const std::vector<LoopGuard::Written> written = found_.guards[i].written;
      const bool has_rows = std::any_of(written.begin(), written.end(), [&](const auto& each) {
        return AddTilesOf(guarded[i].loop, guarded[i].vars, each);
      });
      if (!has_rows) AddTilesOfAll(guarded[i].loop);
    }
    for (const NodeId id : Subtree(program_, program_.root)) {
      const bool is_loop = program_.nodes[id].kind == NodeKind::kLoop && HasIterations(id);
      if (!is_loop || IsGuarded(id) || is_around_guarded(id) || !GuardedAround(id).empty())
        continue;
      const bool is_done = std::any_of(tiled_.begin(), tiled_.end(), [&](const TiledLoop& other) {
        return IsInside(program_, id, other.loop);
      });
      if (!is_done) AddTilesOfAll(id);
    }
  }

  // Of axes of which each iteration has all.
  void AddTilesOfAll(NodeId loop) {
    const auto add = [&](size_t axis, size_t count) {
      std::optional<std::vector<Range>> all = Written({}, StoredIndices(loop, axis, count));
      return all.has_value() &&
             AddTilesOf(loop, {}, {.axis = axis, .count = count, .ranges = *std::move(all)});
    };
    for (size_t i = 0; i < axes_.size(); ++i) {
      const auto axis = static_cast<size_t>(axes_[i]);
      if (add(axis, 1)) return;
      if (i + 1 < axes_.size() && axes_[i + 1] == axes_[i] + 1 && add(axis, 2)) return;
    }
  }

  // Whether there are rows. `written`: by combination of `vars`.
  bool AddTilesOf(NodeId loop, const std::vector<VarId>& vars, const LoopGuard::Written& written) {
    std::optional<TileRows> rows = FindTileRows(
        program_, loop, output_, StoredIndices(loop, written.axis, written.count), IsPrivateTo());
    if (!rows.has_value()) return false;
    int64_t extent = 1;
    for (size_t d = written.axis; d < written.axis + written.count; ++d) {
      extent *= program_.buffers[output_].shape[d];
    }
    if (extent > kTilesMax * rows->most) return true;
    TiledLoop tiled{.loop = loop, .rows = *std::move(rows), .vars = vars, .shorter = {}};
    const auto count = static_cast<int64_t>(written.ranges.size());
    const int64_t parts = extent <= kFewTiles * tiled.rows.most ? kPartsOfFew : kPartsOfMany;
    for (const int64_t shorter : ShorterTiles(tiled.rows, parts)) {
      if (count > kFlagsMax - flags_) break;
      LoopGuard behind = {.first = flags_, .count = count, .written = {written}};
      for (Range& range : behind.written[0].ranges) range.min += shorter;
      flags_ += count;
      tiled.shorter.push_back({.count = shorter, .behind = std::move(behind)});
    }
    tiled_.push_back(std::move(tiled));
    return true;
  }

  // Windows move with what is written: of those that are read at all few taps lie behind.
  bool MovesOutput(const std::vector<Expr>& positions) const {
    std::set<VarId> moves;
    for (const NodeId id : Subtree(program_, program_.root)) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::kStore || node.buffer != output_) continue;
      for (const Expr& index : node.indices) {
        for (const VarId var : FreeVars(index)) moves.insert(var);
      }
    }
    return std::any_of(positions.begin(), positions.end(), [&](const Expr& position) {
      const auto vars = FreeVars(position);
      return std::any_of(vars.begin(), vars.end(), [&](VarId var) { return moves.count(var) > 0; });
    });
  }

  IsPrivate IsPrivateTo() const {
    return
        [this](NodeId loop, BufferId buffer) { return isolation_.IsOfOneIteration(loop, buffer); };
  }

  // Flags of whether any of the positions, which `vars` move, is before the extent. Nullopt: the
  // loop does not move them, or they go into a border, or are too many.
  std::optional<LoopGuard> GuardBefore(int extent, const std::vector<Expr>& positions, NodeId loop,
                                       std::vector<VarId>& vars) {
    const std::set<VarId> depends = VarsAround(loop, positions);
    if (depends.count(program_.nodes[loop].var) == 0) return std::nullopt;
    for (const NodeId around : LoopsAround(program_, loop)) {
      const VarId var = program_.nodes[around].var;
      if (depends.count(var) > 0) vars.push_back(var);
    }
    std::optional<std::vector<Range>> read = Written(vars, positions);
    if (!read.has_value() || static_cast<int64_t>(read->size()) > kFlagsMax - flags_ ||
        std::any_of(read->begin(), read->end(), [](const Range& range) { return range.min < 0; })) {
      return std::nullopt;
    }
    const size_t rank = program_.buffers[output_].shape.size();
    LoopGuard guard{
        .first = flags_,
        .count = static_cast<int64_t>(read->size()),
        .written = {{.axis = rank + static_cast<size_t>(extent), .ranges = *std::move(read)}}};
    flags_ += guard.count;
    return guard;
  }

  // Reductions that need go no further than what they read holds.
  void ConsiderNeutral() {
    for (const NeutralLoop& neutral : NeutralLoops(program_, rests_, IsPrivateTo())) {
      if (!DoesEnough(neutral.loop) || IsGuarded(neutral.loop) || MovesOutput(neutral.positions)) {
        continue;
      }
      GuardedLoop guarded{.loop = neutral.loop, .vars = {}};
      std::optional<LoopGuard> guard =
          GuardBefore(neutral.extent, neutral.positions, neutral.loop, guarded.vars);
      if (!guard.has_value()) continue;
      found_.guards.push_back(*std::move(guard));
      loops_.push_back(std::move(guarded));
    }
  }

  // Loops that store what a mask leaves, as before a mean, whose kernel reads that too.
  void ConsiderConstant() {
    for (const ConstantLoop& constant : ConstantLoops(program_, output_, rests_, IsPrivateTo())) {
      if (!IsLong(constant.loop)) continue;
      FilledLoop filled{.constant = constant, .vars = {}, .guard = {}, .stores = -1};
      std::optional<LoopGuard> guard =
          GuardBefore(constant.extent, constant.positions, constant.loop, filled.vars);
      if (!guard.has_value()) continue;
      filled.guard = *std::move(guard);
      filled_.push_back(std::move(filled));
    }
  }

  // A loop that leaves temporaries to guarded loops behind it: an iteration is needed where one
  // that reads of it is.
  void ConsiderProducer(const std::vector<NodeId>& order, size_t position) {
    const NodeId loop = order[position];
    if (!IsLong(loop) || IsConditional(loop)) return;
    const std::vector<NodeId> inside = Subtree(program_, loop);
    std::set<BufferId> left;
    for (const NodeId id : inside) {
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::kBarrier) return;
      if (node.kind != NodeKind::kStore || isolation_.IsOfOneIteration(loop, node.buffer)) continue;
      if (program_.buffers[node.buffer].role != BufferRole::kTemp ||
          isolation_.InRegisters(node.buffer) || !isolation_.WritesWhatItReads(loop, node.buffer)) {
        return;
      }
      left.insert(node.buffer);
    }
    std::vector<TemporaryAccess> stores;
    for (const NodeId id : inside) {
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::kStore && left.count(node.buffer) > 0) {
        stores.push_back({.buffer = node.buffer, .indices = node.indices});
      }
    }
    std::vector<GuardedLoad> loads;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i >= position && i < position + inside.size()) continue;
      const Node& node = program_.nodes[order[i]];
      bool is_known = true;
      const auto add = [&](BufferId buffer, const std::vector<Expr>& indices) {
        if (left.count(buffer) == 0) return;
        GuardedLoad load{.load = {.buffer = buffer, .indices = indices}, .flags = {}};
        for (const size_t around : GuardedAround(order[i])) {
          load.flags.push_back({.guard = &found_.guards[around], .vars = &loops_[around].vars});
        }
        // What is before it reads what an earlier iteration of a loop around both has left.
        is_known = is_known && !load.flags.empty() && i > position;
        if (is_known) loads.push_back(std::move(load));
      };
      VisitLoads(node, [&](const ExprNode& load) { add(load.id, load.operands); });
      if (node.kind == NodeKind::kStore && node.combiner != Combiner::kAssign) {
        add(node.buffer, node.indices);
      }
      if (!is_known) return;
    }
    if (loads.empty()) return;
    AddProducer(loop, stores, loads);
  }

  void AddProducer(NodeId loop, const std::vector<TemporaryAccess>& stores,
                   const std::vector<GuardedLoad>& loads) {
    std::set<VarId> moves;
    for (const TemporaryAccess& store : stores) moves.merge(VarsAround(loop, store.indices));
    const VarId own = program_.nodes[loop].var;
    if (moves.count(own) == 0) return;
    GuardedLoop guarded{.loop = loop, .vars = {}};
    LoopGuard guard{.first = flags_, .count = 1, .written = {}};
    std::vector<VarId> fresh;
    for (const NodeId around : LoopsAround(program_, loop)) {
      const VarId var = program_.nodes[around].var;
      const bool is_asked = std::any_of(loads.begin(), loads.end(), [&](const GuardedLoad& load) {
        return std::any_of(load.flags.begin(), load.flags.end(), [&](const auto& flags) {
          return std::count(flags.vars->begin(), flags.vars->end(), var) > 0;
        });
      });
      if (moves.count(var) == 0 && !is_asked) continue;
      guarded.vars.push_back(var);
      // All of the temporary is written in each of its iterations, before it is read.
      if (moves.count(var) == 0) fresh.push_back(var);
      guard.count *= MaxExtent(program_, var);
      if (guard.count > kFlagsMax - flags_) return;
    }
    guard.written = NeededFor(program_, guarded.vars, fresh, stores, loads);
    const int64_t extent = MaxExtent(program_, own);
    std::erase_if(guard.written, [&](const LoopGuard::Written& written) {
      for (int64_t i = 1; i < guard.count; ++i) {
        if (i % extent != 0 && written.ranges[i].min != written.ranges[i - 1].min) return false;
      }
      return true;
    });
    if (guard.written.empty()) return;
    flags_ += guard.count;
    found_.guards.push_back(std::move(guard));
    loops_.push_back(std::move(guarded));
  }

  bool HasIterations(NodeId loop) const {
    const LoopKind kind = program_.nodes[loop].loop_kind;
    return kind == LoopKind::kSerial || kind == LoopKind::kParallel;
  }

  // Whether its iterations are worth a question.
  bool DoesEnough(NodeId loop) const {
    return MaxExtent(program_, program_.nodes[loop].var) >= 2 &&
           StoredInIteration(program_, loop, kBodyMin) >= kBodyMin;
  }

  bool IsLong(NodeId loop) const { return HasIterations(loop) && DoesEnough(loop); }

  // Whether something outside decides if it runs, so that what was written before may be read.
  bool IsConditional(NodeId loop) const {
    std::set<VarId> around;
    for (NodeId at = program_.nodes[loop].parent; at != program_.root;
         at = program_.nodes[at].parent) {
      if (program_.nodes[at].kind == NodeKind::kIf) return true;
      if (program_.nodes[at].kind == NodeKind::kLoop) around.insert(program_.nodes[at].var);
    }
    for (const NodeId id : Subtree(program_, loop)) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::kIf) continue;
      for (const VarId var : FreeVars(node.cond)) {
        if (around.count(var) > 0) return true;
      }
    }
    return false;
  }

  // From the innermost.
  std::vector<size_t> GuardedAround(NodeId node) const {
    std::vector<size_t> around;
    const std::vector<NodeId> loops = LoopsAround(program_, node);
    for (size_t i = loops.size(); i-- > 0;) {
      for (size_t g = 0; g < loops_.size(); ++g) {
        if (loops_[g].loop == loops[i]) around.push_back(g);
      }
    }
    return around;
  }

  // Different indices by which the output is stored along `count` axes from `axis` on, which are
  // one in memory.
  std::vector<Expr> StoredIndices(NodeId loop, size_t axis, size_t count) const {
    const VarRanges ranges = [this](VarId var) -> std::optional<Range> {
      return Range{0, MaxExtent(program_, var) - 1};
    };
    std::vector<Expr> indices;
    for (const NodeId id : Subtree(program_, loop)) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::kStore || node.buffer != output_) continue;
      Expr index = node.indices[axis];
      for (size_t d = axis + 1; d < axis + count; ++d) {
        index = std::move(index) * program_.buffers[output_].shape[d] + node.indices[d];
      }
      if (count > 1) index = Simplify(index, ranges);
      const bool is_known = std::any_of(indices.begin(), indices.end(), [&](const Expr& known) {
        return StructurallyEqual(known, index);
      });
      if (!is_known) indices.push_back(std::move(index));
    }
    return indices;
  }

  // Variables of the loop and those around it, of which the expressions are made.
  std::set<VarId> VarsAround(NodeId loop, const std::vector<Expr>& expressions) const {
    std::set<VarId> around, found;
    for (const NodeId id : LoopsAround(program_, loop)) around.insert(program_.nodes[id].var);
    for (const Expr& e : expressions) {
      for (const VarId var : FreeVars(e)) {
        if (around.count(var) > 0) found.insert(var);
      }
    }
    return found;
  }

  // By combination of `vars`.
  std::optional<std::vector<Range>> Written(const std::vector<VarId>& vars,
                                            const std::vector<Expr>& indices) const {
    std::vector<int64_t> extents;
    for (const VarId var : vars) extents.push_back(MaxExtent(program_, var));
    std::vector<Range> written;
    bool known = true;
    EnumerateBox(extents, kFlagsMax, [&](const std::vector<int64_t>& values) {
      const VarRanges ranges = [&](VarId var) -> std::optional<Range> {
        const auto at = std::find(vars.begin(), vars.end(), var);
        if (at != vars.end()) return Range{values[at - vars.begin()], values[at - vars.begin()]};
        return Range{0, MaxExtent(program_, var) - 1};
      };
      std::optional<Range> all;
      for (const Expr& index : indices) {
        const std::optional<Range> range = known ? RangeOf(index, ranges) : std::nullopt;
        known = range.has_value();
        if (!known) return;
        if (!all.has_value()) all = range;
        all = Range{std::min(all->min, range->min), std::max(all->max, range->max)};
      }
      written.push_back(*all);
    });
    if (!known || written.empty()) return std::nullopt;
    return written;
  }

  // Partial sums lie in the output between steps of a reduction. Whoever loads it does so in a loop
  // that stores at the same indices, so that an element which a call reads depends on no other.
  bool ReadsBackItsOwn() const {
    bool own = true;
    for (const NodeId id : Subtree(program_, program_.root)) {
      VisitLoads(program_.nodes[id], [&](const ExprNode& load) {
        own = own && (load.id != output_ || IsStoredBeside(id, load.operands));
      });
    }
    return own;
  }

  bool IsStoredBeside(NodeId leaf, const std::vector<Expr>& indices) const {
    const std::vector<NodeId> loops = LoopsAround(program_, leaf);
    const auto chooses = [&](NodeId loop) {
      return program_.nodes[loop].loop_kind == LoopKind::kSerial &&
             std::any_of(axes_.begin(), axes_.end(), [&](int axis) {
               return MentionsVar(indices[axis], program_.nodes[loop].var);
             });
    };
    const auto innermost = std::find_if(loops.rbegin(), loops.rend(), chooses);
    if (innermost == loops.rend()) return false;
    const std::vector<NodeId> inside = Subtree(program_, *innermost);
    return std::any_of(inside.begin(), inside.end(), [&](NodeId id) {
      const Node& node = program_.nodes[id];
      return node.kind == NodeKind::kStore && node.buffer == output_ &&
             std::all_of(axes_.begin(), axes_.end(), [&](int axis) {
               return StructurallyEqual(node.indices[axis], indices[axis]);
             });
    });
  }

  // `first`: of flags that stand as the variables do.
  Expr FlagOf(const std::vector<VarId>& vars, int64_t first) const {
    Expr flag = Int(0);
    for (const VarId var : vars) {
      flag = std::move(flag) * MaxExtent(program_, var) + VarRef(var);
    }
    return Load(found_.live, DType::kBool, {std::move(flag) + first});
  }

  // A kSeq with what the loop had as its children.
  NodeId TakeBody(NodeId loop) {
    const NodeId body = AddNode(program_, {.kind = NodeKind::kSeq});
    for (const NodeId child : std::exchange(program_.nodes[loop].children, {})) {
      AppendChild(program_, body, child);
    }
    return body;
  }

  void Tile(const TiledLoop& tiled) {
    NodeId body = TakeBody(tiled.loop);
    const std::vector<NodeId> children = program_.nodes[body].children;
    // From the shortest: the first that has all that is read.
    for (size_t i = tiled.shorter.size(); i-- > 0;) {
      const ShorterBody& shorter = tiled.shorter[i];
      const NodeId choice = AddNode(
          program_, {.kind = NodeKind::kIf, .cond = FlagOf(tiled.vars, shorter.behind.first)});
      const NodeId copy = CopyOfRows(children, tiled.rows, shorter.count, program_);
      AppendChild(program_, choice, body);
      AppendChild(program_, choice, copy);
      body = AddNode(program_, {.kind = NodeKind::kSeq});
      AppendChild(program_, body, choice);
    }
    for (const NodeId child : program_.nodes[body].children) {
      AppendChild(program_, tiled.loop, child);
    }
  }

  void Fill(const FilledLoop& filled) {
    const NodeId loop = filled.constant.loop;
    const NodeId body = TakeBody(loop);
    const NodeId choice =
        AddNode(program_, {.kind = NodeKind::kIf, .cond = FlagOf(filled.vars, filled.guard.first)});
    AppendChild(program_, choice, body);
    AppendChild(program_, choice, filled.stores);
    AppendChild(program_, loop, choice);
  }

  void Guard(const GuardedLoop& guarded, int64_t first) {
    const NodeId body = TakeBody(guarded.loop);
    const NodeId test =
        AddNode(program_, {.kind = NodeKind::kIf, .cond = FlagOf(guarded.vars, first)});
    AppendChild(program_, test, body);
    AppendChild(program_, guarded.loop, test);
  }

  const std::vector<int>& axes_;
  const std::vector<KnownRest>& rests_;
  Program& program_;
  const LoopIsolation isolation_;
  BufferId output_ = -1;
  int64_t flags_ = 0;
  GuardedLoops found_;
  std::vector<GuardedLoop> loops_;  // One a guard.
  std::vector<TiledLoop> tiled_;
  std::vector<FilledLoop> filled_;
};

}  // namespace

absl::Status CheckRequest(const GuardRequest& request, const Program& program) {
  for (const int axis : request.axes) {
    for (const Buffer& buffer : program.buffers) {
      if (buffer.role != BufferRole::kOutput ||
          (axis >= 0 && axis < static_cast<int>(buffer.shape.size()))) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("got axis ", axis, " of output ", buffer.name, ", which has none"));
    }
  }
  const std::vector<BufferId> parameters = ParametersOf(program);
  const auto count = static_cast<int>(parameters.size());
  for (const KnownRest& rest : request.rests) {
    if (rest.parameter < 0 || rest.parameter >= count) {
      return absl::InvalidArgumentError(
          absl::StrCat("got parameter ", rest.parameter, ", of ", count));
    }
    const Buffer& buffer = program.buffers[parameters[rest.parameter]];
    // As many extents as rests at most, so that they number the axes behind the output's.
    const bool is_rest = rest.axis >= 0 && rest.axis < static_cast<int>(buffer.shape.size()) &&
                         rest.extent >= 0 && rest.extent < static_cast<int>(request.rests.size());
    if (is_rest || (rest.axis == -1 && rest.extent == -1)) continue;
    return absl::InvalidArgumentError(absl::StrCat("got axis ", rest.axis, " and extent ",
                                                   rest.extent, " of parameter ", buffer.name));
  }
  return absl::OkStatus();
}

GuardedLoops GuardLoops(const GuardRequest& request, Program& lowered) {
  // Loops of short iterations are cut where that gives a loop that can be asked about.
  std::vector<ShortLoop> cuts;
  if (!request.axes.empty()) cuts = ShortLoops(lowered, kBodyMin);
  while (!cuts.empty()) {
    Program cut = lowered;
    for (const ShortLoop& each : cuts) CutLoop(each, cut);
    Guarder guarder(request, cut);
    GuardedLoops found = guarder.Run();
    const size_t in_vain =
        std::erase_if(cuts, [&](const ShortLoop& each) { return !guarder.IsGuarded(each.loop); });
    if (in_vain > 0) continue;
    lowered = std::move(cut);
    return found;
  }
  return Guarder(request, lowered).Run();
}

}  // namespace burnish
