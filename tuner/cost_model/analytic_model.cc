// Compute: for each straight-line body (unrolled and vectorized loops), cycles of arithmetic, of
// loads and stores after common addresses are shared, of the dependence chain, and of spills.
// Memory: for each access and each cache level, the bytes that must come in from the next level,
// from the working sets of the loops around (as in Low et al., "Analytical modeling is enough for
// high-performance BLIS", TOMS 2016, section 4, without associativity). The two overlap but for a
// part that depends on whether the program prefetches.
#include "tuner/cost_model/analytic_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

// Bytes a cycle and core that a level delivers to the one above it, of recent x86-64 servers; DRAM
// is shared by the cores.
constexpr double kL2Bytes = 28, kL3Bytes = 12, kDramBytes = 7, kDramBytesAll = 12;
constexpr double kCyclesPerSecond = 3.2e9;
constexpr double kBarrierCycles = 1500;  // Waking the workers for a phase and joining them.
constexpr double kLoopCycles = 0.5, kLoopStartCycles = 5;
// Of a general-purpose file of 16: what addresses of broadcast rows may use without spilling.
constexpr int kPointerRegisters = 11;

struct LoopLevel {
  VarId var = -1;
  double trips = 1;
};

struct Access {
  BufferId buffer = -1;
  LinearForm address;  // In elements.
  double executions = 1;
  std::vector<LoopLevel> loops;  // All around it, unrolled ones too, outermost first.
  bool cold = false;             // Weights: not in any cache when the call starts.
  bool prefetched = false;
};

class Model {
 public:
  Model(const Program& program, const IsaModel& isa, int threads)
      : program_(program),
        isa_(isa),
        threads_(threads),
        ranges_([this](VarId var) { return std::optional<Range>(Range{0, extents_[var] - 1}); }) {
    for (size_t v = 0; v < program.vars.size(); ++v) {
      extents_.push_back(MaxExtent(program, static_cast<VarId>(v)));
    }
    for (const Node& node : program.nodes) {
      if (node.kind == NodeKind::kPrefetch) prefetched_.insert(node.buffer);
    }
  }

  double Seconds() {
    double cycles = 0;
    for (NodeId nest : program_.nodes[program_.root].children) cycles += NestCycles(nest);
    return std::max(cycles, 1.0) / kCyclesPerSecond;
  }

 private:
  double NestCycles(NodeId nest) {
    accesses_.clear();
    loops_.clear();
    const bool parallel = program_.nodes[nest].kind == NodeKind::kLoop &&
                          program_.nodes[nest].loop_kind == LoopKind::kParallel;
    workers_ = parallel ? threads_ : 1;
    const double compute = Cycles(nest, 1);
    const double memory = MemoryCycles();
    return std::max(compute, memory) + 0.1 * std::min(compute, memory) + exposed_cycles_ +
           (threads_ > 1 ? kBarrierCycles : 0);
  }

  double Trips(VarId var) const { return static_cast<double>(extents_[var]); }

  static bool IsBodyLoop(const Node& node) {
    return node.kind == NodeKind::kLoop &&
           (node.loop_kind == LoopKind::kUnrolled || node.loop_kind == LoopKind::kVectorized);
  }

  // Cycles of one execution of `id` on one worker; `times`: how often it runs in all.
  double Cycles(NodeId id, double times) {
    const Node& node = program_.nodes[id];
    switch (node.kind) {
      case NodeKind::kSeq:
        return ChildrenCycles(node, times);
      case NodeKind::kIf: {
        const double share = Share(node.cond);
        double cycles = 1 + share * Cycles(node.children[0], times * share);
        if (node.children.size() > 1) {
          cycles += (1 - share) * Cycles(node.children[1], times * (1 - share));
        }
        return cycles;
      }
      case NodeKind::kLoop: {
        if (IsBodyLoop(node)) return BodyCycles({id}, times);
        double trips = Trips(node.var);
        if (node.loop_kind == LoopKind::kParallel) trips = std::ceil(trips / threads_);
        loops_.push_back({node.var, trips});
        const double body = ChildrenCycles(node, times * trips);
        loops_.pop_back();
        return kLoopStartCycles + trips * (body + kLoopCycles);
      }
      case NodeKind::kStore:
        return BodyCycles({id}, times);
      default:
        return 0.5;  // A prefetch: an address and an instruction.
    }
  }

  // Neighbouring straight-line children are one body: they share loads and registers.
  double ChildrenCycles(const Node& node, double times) {
    double cycles = 0;
    std::vector<NodeId> body;
    const auto flush = [&] {
      if (!body.empty()) cycles += BodyCycles(body, times);
      body.clear();
    };
    for (NodeId child : node.children) {
      const Node& n = program_.nodes[child];
      if (IsBodyLoop(n) || n.kind == NodeKind::kStore) {
        body.push_back(child);
      } else {
        flush();
        cycles += Cycles(child, times);
      }
    }
    flush();
    return cycles;
  }

  // How often a condition holds: exactly where few variables decide, else half the time.
  double Share(const Expr& cond) {
    const std::vector<VarId> vars = FreeVars(cond);
    bool loads = false;
    VisitExpr(cond, [&](const ExprNode& e) { loads = loads || e.kind == ExprKind::kLoad; });
    if (loads) return 0.5;
    std::vector<int64_t> extents;
    for (VarId var : vars) extents.push_back(extents_[var]);
    int64_t holds = 0, all = 0;
    const bool enumerated = EnumerateBox(extents, 4096, [&](const std::vector<int64_t>& point) {
      const auto value = [&](VarId var) {
        return point[std::lower_bound(vars.begin(), vars.end(), var) - vars.begin()];
      };
      holds += EvalInt(cond, value) != 0;
      ++all;
    });
    if (!enumerated || all == 0) return 0.5;
    return static_cast<double>(holds) / static_cast<double>(all);
  }

  struct Body {
    double arithmetic = 0, loads = 0, stores = 0, branches = 0, chain = 0;
    double accumulators = 0;
    double pointers = 0;
    std::set<std::pair<BufferId, std::string>> seen;
  };

  double BodyCycles(const std::vector<NodeId>& roots, double times) {
    Body body;
    const size_t depth = loops_.size();
    for (NodeId root : roots) Collect(root, times, depth, body);
    double cycles = std::max({body.arithmetic, body.loads / isa_.loads_per_cycle,
                              body.stores / std::max(isa_.stores_per_cycle, 1), body.chain});
    const double registers = body.accumulators + 2;
    if (registers > isa_.vector_register_count) {
      cycles += 2 * (registers - isa_.vector_register_count);
    }
    if (body.pointers > kPointerRegisters) cycles += body.pointers - kPointerRegisters;
    // Nothing keeps both FMA ports and the front end busy all the time.
    return cycles * 1.02 + body.branches;
  }

  void Collect(NodeId id, double times, size_t depth, Body& body) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::kLoop) {
      loops_.push_back({node.var, Trips(node.var)});
      if (IsBodyLoop(node)) {
        for (NodeId child : node.children) Collect(child, times, depth, body);
      } else {
        // A loop inside a vector: its own cost, once a chunk.
        double inner = 0;
        for (NodeId child : node.children) inner += Cycles(child, times * Trips(node.var));
        body.branches += Trips(node.var) * (inner + kLoopCycles);
      }
      loops_.pop_back();
      return;
    }
    if (node.kind == NodeKind::kIf) {
      body.branches += 1;
      for (NodeId child : node.children) Collect(child, times, depth, body);
      return;
    }
    if (node.kind == NodeKind::kSeq) {
      for (NodeId child : node.children) Collect(child, times, depth, body);
      return;
    }
    if (node.kind == NodeKind::kStore) CollectStore(node, times, depth, body);
  }

  VarId VectorVar(size_t depth) const {
    for (size_t i = depth; i < loops_.size(); ++i) {
      for (const Node& node : program_.nodes) {
        if (node.kind == NodeKind::kLoop && node.var == loops_[i].var &&
            node.loop_kind == LoopKind::kVectorized) {
          return loops_[i].var;
        }
      }
    }
    return -1;
  }

  // Vector instructions for `extent` elements: whole vectors, then narrower ones.
  double Chunks(int64_t extent) const {
    const int64_t lanes = isa_.float_lanes();
    double chunks = static_cast<double>(extent / lanes);
    for (int64_t rest = extent % lanes; rest > 0; rest &= rest - 1) chunks += 1;
    return chunks;
  }

  void CollectStore(const Node& node, double times, size_t depth, Body& body) {
    const VarId vector = VectorVar(depth);
    double instances = 1;
    for (size_t i = depth; i < loops_.size(); ++i) {
      instances *= loops_[i].var == vector ? Chunks(extents_[vector]) : loops_[i].trips;
    }
    double operations = 0, slow = 0;
    VisitExpr(node.value, [&](const ExprNode& e) {
      if (!IsFloat(e.dtype) && !e.operands.empty() && e.kind != ExprKind::kLoad) return;
      switch (e.kind) {
        case ExprKind::kAdd:
        case ExprKind::kSub:
        case ExprKind::kMul:
        case ExprKind::kMin:
        case ExprKind::kMax:
        case ExprKind::kNeg:
        case ExprKind::kAbs:
        case ExprKind::kSelect:
        case ExprKind::kCast:
          operations += 1;
          break;
        case ExprKind::kDiv:
        case ExprKind::kSqrt:
          slow += 5;
          break;
        case ExprKind::kExp:
        case ExprKind::kTanh:
        case ExprKind::kLog:
        case ExprKind::kErf:
        case ExprKind::kSin:
        case ExprKind::kCos:
          slow += 14;
          break;
        case ExprKind::kPow:
          slow += 40;
          break;
        default:
          break;
      }
    });
    // Multiply and add are one instruction.
    if (node.combiner != Combiner::kAssign && node.value->kind != ExprKind::kMul) operations += 1;
    body.arithmetic += instances * (operations / isa_.fma_per_cycle + slow);
    VisitExpr(node.value, [&](const ExprNode& e) {
      if (e.kind == ExprKind::kLoad) CollectAccess(e.id, e.operands, times, depth, vector, body);
    });
    if (program_.buffers[node.buffer].scope == Scope::kRegister &&
        program_.buffers[node.buffer].role == BufferRole::kTemp) {
      double window = 1;
      double reduced = 1;
      for (size_t i = depth; i < loops_.size(); ++i) {
        const double width = loops_[i].var == vector ? Chunks(extents_[vector]) : loops_[i].trips;
        bool indexes = false;
        for (const Expr& index : node.indices) {
          indexes = indexes || MentionsVar(index, loops_[i].var);
        }
        (indexes ? window : reduced) *= width;
      }
      body.accumulators = std::max(body.accumulators, window);
      if (node.combiner != Combiner::kAssign) {
        body.chain = std::max(body.chain, reduced * isa_.fma_latency_cycles);
      }
      return;
    }
    if (node.combiner != Combiner::kAssign) {
      body.chain += isa_.fma_latency_cycles + 4;  // Through memory.
      CollectAccess(node.buffer, node.indices, times, depth, vector, body);
    }
    CollectAccess(node.buffer, node.indices, times, depth, vector, body, /*store=*/true);
  }

  void CollectAccess(BufferId id, const std::vector<Expr>& indices, double times, size_t depth,
                     VarId vector, Body& body, bool store = false) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.role == BufferRole::kTemp && buffer.scope == Scope::kRegister) return;
    Expr address = Int(0);
    for (size_t d = 0; d < indices.size(); ++d) {
      address = address + indices[d] * buffer.storage.strides[d];
    }
    Access access{.buffer = id, .address = ToLinear(address, ranges_), .executions = times};
    access.loops = loops_;
    access.cold = buffer.role == BufferRole::kPacked || buffer.role == BufferRole::kConstant;
    access.prefetched = prefetched_.count(id) > 0;
    double distinct = 1;
    bool pointers = false;
    double rows = 1;
    for (size_t i = depth; i < loops_.size(); ++i) {
      const VarId var = loops_[i].var;
      const bool hidden = access.address.HidesVar(var);
      const int64_t coefficient = access.address.CoefficientOf(var);
      if (!hidden && coefficient == 0) continue;
      if (var == vector) {
        distinct *= !hidden && coefficient == 1 ? Chunks(extents_[var])
                                                : 1.5 * static_cast<double>(extents_[var]);
      } else {
        distinct *= loops_[i].trips;
        if (hidden) {
          pointers = true;
          rows *= loops_[i].trips;
        }
      }
    }
    (store ? body.stores : body.loads) += distinct;
    if (pointers && !store) body.pointers += rows;
    accesses_.push_back(std::move(access));
  }

  // Bytes that an access touches while the loops from `level` inward run once.
  double Footprint(const Access& access, size_t level) const {
    const Buffer& buffer = program_.buffers[access.buffer];
    double product = 1, span = 1;
    bool contiguous = false;
    for (size_t i = level; i < access.loops.size(); ++i) {
      const VarId var = access.loops[i].var;
      const bool hidden = access.address.HidesVar(var);
      const int64_t coefficient = std::abs(access.address.CoefficientOf(var));
      if (!hidden && coefficient == 0) continue;
      product *= access.loops[i].trips;
      span += hidden ? 1e12 : static_cast<double>(coefficient) * (access.loops[i].trips - 1);
      contiguous = contiguous || coefficient == 1 || hidden;
    }
    const double size = static_cast<double>(SizeBytes(buffer.dtype));
    const double elements =
        std::min({product, span, static_cast<double>(StorageElementCount(buffer))});
    // Elements that lie apart bring a line each.
    return contiguous
               ? std::max(elements * size, 64.0)
               : std::min(elements * 64, static_cast<double>(StorageElementCount(buffer)) * size);
  }

  double MemoryCycles() {
    exposed_cycles_ = 0;
    if (accesses_.empty()) return 0;
    // Accesses of one buffer at equal loops are one stream; the widest stands for all.
    std::map<BufferId, const Access*> widest;
    for (const Access& access : accesses_) {
      const Access*& at = widest[access.buffer];
      if (at == nullptr ||
          access.executions * Footprint(access, 0) > at->executions * Footprint(*at, 0)) {
        at = &access;
      }
    }
    double cycles = 0;
    const CacheLevel levels[] = {isa_.l1d, isa_.l2, isa_.l3};
    const double rates[] = {kL2Bytes, kL3Bytes, std::min(kDramBytes, kDramBytesAll / workers_)};
    for (int c = 0; c < 3; ++c) {
      const double capacity =
          static_cast<double>(levels[c].size_bytes) * 0.75 / (c == 2 ? workers_ : 1);
      for (const auto& [buffer, access] : widest) {
        const double bytes = Traffic(*access, widest, capacity, c == 2);
        const double level_cycles = bytes / rates[c];
        cycles += level_cycles;
        // What nobody asks for ahead is waited for: panels jump, and hardware prefetching starts
        // anew at each.
        if (c > 0 && access->cold && !access->prefetched) exposed_cycles_ += 0.5 * level_cycles;
      }
    }
    return cycles;
  }

  double Traffic(const Access& access, const std::map<BufferId, const Access*>& all,
                 double capacity, bool dram) const {
    // The outermost loop whose whole working set fits.
    size_t level = access.loops.size();
    while (level > 0) {
      double working_set = 0;
      for (const auto& [id, other] : all) {
        // Loops around both are the same; deeper ones of `other` count whole.
        size_t shared = 0;
        while (shared < level - 1 && shared < other->loops.size() &&
               other->loops[shared].var == access.loops[shared].var) {
          ++shared;
        }
        working_set += Footprint(*other, shared);
      }
      if (working_set > capacity) break;
      --level;
    }
    double times = 1;
    for (size_t i = 0; i < level; ++i) times *= access.loops[i].trips;
    const double footprint = Footprint(access, level);
    if (dram && level == 0) return access.cold ? footprint : 0;
    return footprint * times;
  }

  const Program& program_;
  const IsaModel& isa_;
  const int threads_;
  int workers_ = 1;
  VarRanges ranges_;
  std::vector<int64_t> extents_;
  std::set<BufferId> prefetched_;
  std::vector<LoopLevel> loops_;
  std::vector<Access> accesses_;
  double exposed_cycles_ = 0;
};

}  // namespace

double AnalyticSeconds(const Program& lowered, const IsaModel& isa, int threads) {
  return Model(lowered, isa, threads).Seconds();
}

}  // namespace burnish
