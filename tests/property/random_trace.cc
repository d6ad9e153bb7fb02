#include "tests/property/random_trace.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/rng.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/schedule/primitive.h"

namespace burnish {
namespace {

// Copies of a body that unrolled loops around it may make: compile time.
constexpr int64_t kMaxCopies = 48;

class Proposer {
 public:
  Proposer(const Program& program, Rng& rng) : p_(program), rng_(rng) {
    for (NodeId root : {p_.root, p_.pack_root}) {
      if (root < 0) continue;
      for (NodeId id : Subtree(p_, root)) {
        if (p_.nodes[id].kind == NodeKind::kLoop) loops_.push_back(id);
        if (p_.nodes[id].kind == NodeKind::kStage) stages_.push_back(id);
        if (p_.nodes[id].kind == NodeKind::kBlock) blocks_.push_back(id);
      }
    }
  }

  // A step, or one without a primitive where there was nothing to propose.
  Step Propose() {
    switch (rng_.Below(19)) {
      case 0:
      case 1:
      case 2:
        return Split();
      case 3:
        return Fuse();
      case 4:
      case 5:
        return Reorder();
      case 6:
        return Stage();
      case 7:
        return ComputeAt();
      case 8:
        return Inline();
      case 9:
        return Rfactor();
      case 10:
        return Relayout();
      case 11:
        return Border();
      case 12:
        return Precompute();
      case 13:
        return Parallel();
      case 14:
      case 15:
        return Vectorize();
      case 16:
        return Unroll();
      case 17:
        return Winograd();
      default:
        return Prefetch();
    }
  }

  // What makes a register stage lowerable: the first loop of a window that is still serial.
  Step FinishStage() {
    for (NodeId stage : stages_) {
      if (p_.buffers[p_.nodes[stage].buffer].scope != Scope::kRegister) continue;
      for (NodeId id = NodeOf(p_, p_.nodes[stage].block); id != stage; id = p_.nodes[id].parent) {
        const Node& node = p_.nodes[id];
        if (node.kind != NodeKind::kLoop || node.loop_kind != LoopKind::kSerial) continue;
        if (p_.vars[node.var].reduce) continue;
        if (Flip(2)) return Make("vectorize", {Name(id)}, {}, {{"lanes", Lanes()}});
        return Make("unroll", {Name(id)}, {});
      }
    }
    return {};
  }

  // Of a convolution, mostly: a block that sums over three axes.
  Step Winograd() {
    std::vector<BlockId> convolutions;
    for (NodeId leaf : blocks_) {
      const Block& block = p_.blocks[p_.nodes[leaf].block];
      bool scheduled = false;
      for (VarId axis : block.spatial) scheduled = scheduled || p_.vars[axis].def != nullptr;
      const bool like = block.spatial.size() == 4 && block.reduction.size() == 3 && !scheduled;
      if (like || Flip(40)) convolutions.push_back(p_.nodes[leaf].block);
    }
    if (convolutions.empty()) return {};
    std::vector<std::string> names;
    for (const char* name : {"wu", "wv", "ww", "wm", "wt"}) names.push_back(NewBuffer(name));
    return Make("winograd", {p_.blocks[Pick(convolutions)].name}, names,
                {{"m", int64_t{Flip(3) ? 4 : 2}}});
  }

 private:
  using Arguments = std::vector<Argument>;

  static Step Make(const char* primitive, std::vector<std::string> inputs,
                   std::vector<std::string> outputs, Arguments arguments = {}) {
    return {.primitive = FindPrimitive(primitive, 1),
            .inputs = std::move(inputs),
            .outputs = std::move(outputs),
            .arguments = std::move(arguments)};
  }

  bool Flip(uint64_t one_in) { return rng_.Below(one_in) == 0; }
  template <typename T>
  const T& Pick(const std::vector<T>& list) {
    return list[rng_.Below(list.size())];
  }
  std::string Name(NodeId loop) const { return p_.vars[p_.nodes[loop].var].name; }
  std::string New(const char* base) { return UniqueVarName(p_, base); }
  int64_t Lanes() {
    static constexpr int kLanes[] = {2, 4, 8, 16};
    return Flip(12) ? 3 : kLanes[rng_.Below(4)];
  }
  // Mostly a loop that is not annotated yet.
  NodeId AnyLoop() {
    std::vector<NodeId> serial;
    for (NodeId loop : loops_) {
      if (p_.nodes[loop].loop_kind == LoopKind::kSerial) serial.push_back(loop);
    }
    return serial.empty() || Flip(20) ? Pick(loops_) : Pick(serial);
  }
  std::vector<NodeId> SerialChain(NodeId from) {
    std::vector<NodeId> chain = {from};
    while (p_.nodes[chain.back()].children.size() == 1) {
      const NodeId next = p_.nodes[chain.back()].children[0];
      if (p_.nodes[next].kind != NodeKind::kLoop) break;
      chain.push_back(next);
    }
    return chain;
  }

  Step Split() {
    if (loops_.empty()) return {};
    NodeId loop = AnyLoop();
    if (MaxExtent(p_, p_.nodes[loop].var) < 3) loop = AnyLoop();
    static constexpr const char* kTails[] = {"ragged", "guard", "pad", "shift"};
    static constexpr int kSizes[] = {2, 3, 4, 5, 6, 8, 16};
    Arguments arguments;
    const int64_t amount = Flip(20) ? 0 : kSizes[rng_.Below(std::size(kSizes))];
    switch (rng_.Below(4)) {
      case 0:
        arguments = {{"max", amount}};
        break;
      case 1:
        arguments = {
            {"parts", rng_.Between(1, std::min<int64_t>(5, MaxExtent(p_, p_.nodes[loop].var)))}};
        break;
      default:
        arguments = {{"size", amount}};
        if (!Flip(3)) arguments.push_back({"tail", kTails[rng_.Below(4)]});
    }
    return Make("split", {Name(loop)}, {New("o"), New("i")}, arguments);
  }

  Step Fuse() {
    if (loops_.empty()) return {};
    const std::vector<NodeId> chain = SerialChain(AnyLoop());
    if (chain.size() < 2 && !Flip(4)) return {};
    std::vector<std::string> names;
    const size_t count = std::min<size_t>(chain.size(), rng_.Between(2, 3));
    for (size_t i = 0; i < count; ++i) names.push_back(Name(chain[i]));
    if (Flip(12)) std::reverse(names.begin(), names.end());
    return Make("fuse", names, {New("f")});
  }

  Step Reorder() {
    if (loops_.empty()) return {};
    std::vector<NodeId> chain = SerialChain(AnyLoop());
    while (chain.size() > 5) chain.erase(chain.begin() + rng_.Below(chain.size()));
    if (chain.size() < 2 && !Flip(6)) return {};
    if (Flip(15)) chain.push_back(Pick(loops_));
    for (size_t i = chain.size(); i > 1; --i) std::swap(chain[i - 1], chain[rng_.Below(i)]);
    std::vector<std::string> names;
    for (NodeId loop : chain) names.push_back(Name(loop));
    return Make("reorder", names, {});
  }

  // Loops around a block that a window of it may be kept in, the innermost first.
  Step Stage() {
    std::vector<NodeId> reducing;
    for (NodeId leaf : blocks_) {
      if (!p_.blocks[p_.nodes[leaf].block].reduction.empty()) reducing.push_back(leaf);
    }
    if (reducing.empty() && !Flip(8)) return {};
    const NodeId leaf = reducing.empty() ? Pick(blocks_) : Pick(reducing);
    const std::vector<NodeId> around = LoopsAround(p_, leaf);
    if (around.empty()) return {};
    const bool registers = !Flip(3);
    NodeId inside = Pick(around);
    if (registers) {
      // As far in as it goes: the window is unrolled.
      std::vector<NodeId> outside_reduction;
      for (NodeId loop : around) {
        if (p_.vars[p_.nodes[loop].var].reduce) break;
        outside_reduction.push_back(loop);
      }
      if (!outside_reduction.empty() && !Flip(4)) inside = outside_reduction.back();
    }
    return Make("stage", {p_.blocks[p_.nodes[leaf].block].name}, {NewBuffer("w")},
                {{"inside", Name(inside)}, {"scope", registers ? "register" : "scratch"}});
  }

  std::string NewBuffer(const char* base) {
    std::string name = base;
    for (int i = 0; FindBuffer(p_, name) >= 0 || FindBlock(p_, name) >= 0; ++i) {
      name = absl::StrCat(base, i);
    }
    return name;
  }

  std::vector<BlockId> ReadersOf(BufferId buffer) const {
    std::vector<BlockId> readers;
    for (NodeId leaf : blocks_) {
      const Block& block = p_.blocks[p_.nodes[leaf].block];
      bool reads = false;
      for (const Expr& e : {block.init, block.step, block.finish}) {
        if (e == nullptr) continue;
        VisitExpr(e, [&](const ExprNode& node) {
          reads = reads || (node.kind == ExprKind::kLoad && node.id == buffer);
        });
      }
      if (reads) readers.push_back(p_.nodes[leaf].block);
    }
    return readers;
  }

  // A block whose value another one reads; -1: none.
  BlockId Producer() {
    std::vector<BlockId> producers;
    for (NodeId leaf : blocks_) {
      const BlockId block = p_.nodes[leaf].block;
      if (!ReadersOf(p_.blocks[block].output).empty()) producers.push_back(block);
    }
    if (producers.empty() || Flip(25)) return Flip(8) ? p_.nodes[Pick(blocks_)].block : -1;
    return Pick(producers);
  }

  Step ComputeAt() {
    const BlockId producer = Producer();
    if (producer < 0 || loops_.empty()) return {};
    const std::vector<BlockId> readers = ReadersOf(p_.blocks[producer].output);
    NodeId inside = Pick(loops_);
    if (!readers.empty() && !Flip(10)) {
      const std::vector<NodeId> around = LoopsAround(p_, NodeOf(p_, Pick(readers)));
      if (!around.empty()) inside = Pick(around);
    }
    std::vector<std::string> axes;
    for (size_t d = 0; d < p_.blocks[producer].spatial.size(); ++d) {
      axes.push_back(New(absl::StrCat("c", d, "x").c_str()));
    }
    if (axes.empty()) return {};
    if (Flip(4)) {
      return Make("compute_at", {p_.blocks[producer].name}, axes,
                  {{"inside", Name(inside)}, {"align", Pick(std::vector<int64_t>{1, 4, 16})}});
    }
    return Make("compute_at", {p_.blocks[producer].name}, axes, {{"inside", Name(inside)}});
  }

  Step Inline() {
    const BlockId producer = Producer();
    if (producer < 0) return {};
    if (!p_.blocks[producer].reduction.empty() && !Flip(6)) return {};
    return Make("inline", {p_.blocks[producer].name}, {});
  }

  Step Rfactor() {
    std::vector<NodeId> reducing;
    for (NodeId loop : loops_) {
      if (p_.vars[p_.nodes[loop].var].reduce) reducing.push_back(loop);
    }
    if (reducing.empty()) return {};
    const NodeId loop = Flip(15) ? Pick(loops_) : Pick(reducing);
    for (NodeId leaf : blocks_) {
      if (!IsInside(p_, leaf, loop)) continue;
      return Make("rfactor", {p_.blocks[p_.nodes[leaf].block].name}, {NewBuffer("r")},
                  {{"loop", Name(loop)}});
    }
    return {};
  }

  Step Relayout() {
    std::vector<BufferId> sources;
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const BufferId id = static_cast<BufferId>(i);
      const size_t readers = ReadersOf(id).size();
      if (readers == 1 || (readers > 1 && Flip(4))) sources.push_back(id);
    }
    if (sources.empty()) return {};
    const BufferId source = Pick(sources);
    const Block& reader = p_.blocks[ReadersOf(source)[0]];
    // Variables that the index is made of, at a random level of their maps.
    std::vector<VarId> dims;
    for (const Expr& e : {reader.init, reader.step, reader.finish}) {
      if (e == nullptr) continue;
      VisitExpr(e, [&](const ExprNode& node) {
        if (node.kind != ExprKind::kLoad || node.id != source) return;
        for (const Expr& index : node.operands) AddVars(index, dims);
      });
    }
    if (dims.empty()) return {};
    for (size_t i = dims.size(); i > 1; --i) std::swap(dims[i - 1], dims[rng_.Below(i)]);
    if (Flip(8)) dims.pop_back();
    if (Flip(12)) dims.push_back(static_cast<VarId>(rng_.Below(p_.vars.size())));
    std::vector<std::string> names;
    for (VarId var : dims) names.push_back(p_.vars[var].name);
    if (names.empty()) return {};
    return Make("relayout", {p_.buffers[source].name}, {NewBuffer("L")}, {{"dims", names}});
  }

  void AddVars(const Expr& e, std::vector<VarId>& dims) {
    for (VarId var : FreeVars(e)) {
      if (p_.vars[var].def != nullptr && !Flip(4)) {
        AddVars(p_.vars[var].def, dims);
      } else if (std::find(dims.begin(), dims.end(), var) == dims.end()) {
        dims.push_back(var);
      }
    }
  }

  Step Border() {
    const BlockId producer = Producer();
    if (producer < 0) return {};
    const Block& block = p_.blocks[producer];
    if (block.step->kind != ExprKind::kSelect && !Flip(10)) return {};
    BufferId source = -1;
    VisitExpr(block.step, [&](const ExprNode& node) {
      if (node.kind == ExprKind::kLoad) source = node.id;
    });
    if (source < 0) return {};
    return Make("border", {block.name}, {p_.buffers[source].name});
  }

  Step Precompute() {
    std::vector<std::string> names;
    for (NodeId leaf : blocks_) {
      const Block& block = p_.blocks[p_.nodes[leaf].block];
      bool constant = true;
      for (const Expr& e : {block.init, block.step, block.finish}) {
        if (e == nullptr) continue;
        VisitExpr(e, [&](const ExprNode& node) {
          if (node.kind != ExprKind::kLoad) return;
          const BufferRole role = p_.buffers[node.id].role;
          constant = constant && (role == BufferRole::kConstant || role == BufferRole::kPacked);
        });
      }
      const bool done = p_.buffers[block.output].role == BufferRole::kPacked;
      if ((constant && !done) || Flip(12)) names.push_back(p_.buffers[block.output].name);
    }
    if (names.empty()) return {};
    return Make("precompute", {Pick(names)}, {});
  }

  Step Parallel() {
    std::vector<NodeId> outermost;
    for (NodeId child : p_.nodes[p_.root].children) {
      if (p_.nodes[child].kind == NodeKind::kLoop) outermost.push_back(child);
    }
    if (loops_.empty()) return {};
    const NodeId loop = outermost.empty() || Flip(8) ? Pick(loops_) : Pick(outermost);
    if (p_.nodes[loop].loop_kind != LoopKind::kSerial && !Flip(8)) return {};
    return Make("parallel", {Name(loop)}, {});
  }

  Step Vectorize() {
    if (loops_.empty()) return {};
    // The innermost loops, mostly.
    std::vector<NodeId> inner;
    for (NodeId leaf : blocks_) {
      const std::vector<NodeId> around = LoopsAround(p_, leaf);
      for (size_t i = around.size(); i-- > 0;) {
        if (p_.vars[p_.nodes[around[i]].var].reduce && !Flip(8)) continue;
        inner.push_back(around[i]);
        break;
      }
    }
    const NodeId loop = inner.empty() || Flip(5) ? AnyLoop() : Pick(inner);
    if (p_.nodes[loop].loop_kind != LoopKind::kSerial && !Flip(6)) return {};
    return Make("vectorize", {Name(loop)}, {}, {{"lanes", Lanes()}});
  }

  Step Unroll() {
    if (loops_.empty()) return {};
    const NodeId loop = AnyLoop();
    if (Copies(loop) > kMaxCopies) return {};
    return Make("unroll", {Name(loop)}, {});
  }

  // Of the innermost body under or around `loop`, once it is unrolled.
  int64_t Copies(NodeId loop) const {
    int64_t most = 1;
    for (NodeId leaf : Subtree(p_, loop)) {
      int64_t copies = MaxExtent(p_, p_.nodes[loop].var);
      for (NodeId around : LoopsAround(p_, leaf)) {
        const Node& node = p_.nodes[around];
        if (node.loop_kind == LoopKind::kUnrolled) copies *= MaxExtent(p_, node.var);
      }
      most = std::max(most, copies);
    }
    return most;
  }

  Step Prefetch() {
    if (loops_.empty()) return {};
    const Node& leaf = p_.nodes[Pick(blocks_)];
    const Block& block = p_.blocks[leaf.block];
    std::vector<BufferId> touched = {block.output};
    VisitExpr(block.step, [&](const ExprNode& node) {
      if (node.kind == ExprKind::kLoad) touched.push_back(node.id);
    });
    const std::vector<NodeId> around = LoopsAround(p_, NodeOf(p_, leaf.block));
    if (around.empty()) return {};
    const std::string buffer = p_.buffers[Pick(touched)].name;
    const std::string to = Flip(12) ? "L9" : Flip(2) ? "L1" : "L2";
    const size_t at = rng_.Below(around.size());
    if (Flip(2) || at == 0) {
      return Make("prefetch", {buffer}, {}, {{"this", Name(around[at])}, {"to", to}});
    }
    return Make("prefetch", {buffer}, {},
                {{"next", Name(around[rng_.Below(at)])}, {"at", Name(around[at])}, {"to", to}});
  }

  const Program& p_;
  Rng& rng_;
  std::vector<NodeId> loops_, stages_, blocks_;
};

}  // namespace

RandomTrace MakeRandomTrace(const Program& program, uint64_t seed) {
  Rng rng(RngStream{.seed = seed, .purpose = "random trace"});
  RandomTrace result{.scheduled = program};
  const size_t wanted = rng.Between(8, 22);
  const auto propose = [&](const Step& step) {
    if (step.primitive == nullptr) return;
    ++result.proposal_count;
    Program next = result.scheduled;
    absl::Status status = ApplyStep(step, next);
    if (status.ok()) {
      status = Verify(next);
      if (!status.ok()) {
        result.broken.push_back(absl::StrCat(PrintTrace(result.trace), PrintStep(step), "\n",
                                             status.message(), "\n", Print(next)));
      }
    }
    if (!status.ok()) {
      ++result.refusal_count;
      result.refusals.push_back(absl::StrCat(step.primitive->name, ": ", status.message()));
      return;
    }
    result.scheduled = std::move(next);
    result.trace.push_back(step);
  };
  // Winograd comes before everything else or not at all.
  if (rng.Below(8) != 0) propose(Proposer(result.scheduled, rng).Winograd());
  for (int attempt = 0; attempt < 150 && result.trace.size() < wanted; ++attempt) {
    propose(Proposer(result.scheduled, rng).Propose());
  }
  for (int attempt = 0; attempt < 12; ++attempt) {
    propose(Proposer(result.scheduled, rng).FinishStage());
  }
  // A hint, at the end and without a choice: the traces of seeds stay.
  for (const Buffer& buffer : program.buffers) {
    if (seed % 4 == 0 && buffer.role == BufferRole::kOutput) {
      propose({.primitive = FindPrimitive("stream", 1), .inputs = {buffer.name}});
    }
  }
  // What cannot be lowered is taken back from the end.
  while (true) {
    auto lowered = Lower(result.scheduled);
    if (lowered.ok()) {
      result.lowered = *std::move(lowered);
      return result;
    }
    ++result.refusal_count;
    ++result.proposal_count;
    result.refusals.push_back(absl::StrCat("lower: ", lowered.status().message()));
    CHECK(!result.trace.empty());
    result.trace.pop_back();
    auto shorter = ApplyTrace(result.trace, program);
    CHECK_OK(shorter);
    result.scheduled = *std::move(shorter);
  }
}

}  // namespace burnish
