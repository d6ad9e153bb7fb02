// Which loop runs in vectors: one way for each loop of the output whose elements lie side by side
// for every access or in a copy, and one for the fastest loop of the reduction, of which each lane
// sums a part (rfactor) before the lanes are combined row by row. Where none of these is so, the
// one with the fewest loads lane by lane.
//
//   reorder@1 (Y.i0,Y.i2,Y.i1)                              | split@1 Y.k->(Y_ko,Y_kl) size=$sums
//                                                            | rfactor@1 Y->Y_lanes loop=Y_kl
//                                                            | stage@1 Y->Y_sum inside=Y_r2 ..
//                                                            | compute_at@1 Y_lanes inside=Y_rb
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/generator/nest.h"

namespace burnish {
namespace {

// Vectors of partial sums: as many as hide an addition's latency of 4 cycles at two a cycle.
constexpr int64_t kVectorsMax = 8;
// Rows whose lanes are combined together, one after the other: their latencies overlap.
constexpr int64_t kRowsMax = 8;
// Fewer lanes than that gain nothing over a loop without; one vector has nothing to combine.
constexpr int64_t kLanesMin = 4;

// Loops of the output that lanes may run along, best first. `in_order`: only where no element is
// loaded or stored by itself.
std::vector<size_t> Candidates(const RuleContext& context, const Nest& nest, bool in_order) {
  const Program& program = context.program;
  const Block& block = program.blocks[nest.definition];
  // Partial results lie in an order of their own.
  const bool is_partial = nest.block != block.name;
  std::vector<std::pair<int, size_t>> ranked;  // Of equals the faster loop: counted from the end.
  for (size_t back = 0; back < nest.spatial.size(); ++back) {
    const size_t i = nest.spatial.size() - 1 - back;
    const NestLoop& loop = nest.spatial[i];
    const bool is_part = !nest.combined.empty() && i == 0;
    const LoopWalk walk = WalkOf(program, block, loop);
    if (is_part || walk.diverges) continue;
    const int scattered = is_partial || walk.writes_in_order ? 0 : 1;
    // Lanes along partial results would be chosen for a copy alone, however few they are.
    const auto copied = is_partial ? 0 : static_cast<int>(LoadsToCopy(program, nest, loop).size());
    ranked.emplace_back(walk.stride_count - walk.packable_count - copied + scattered, back);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<size_t> best;
  for (const auto& [cost, back] : ranked) {
    if (in_order && cost > 0) break;
    if (cost == ranked[0].first && best.size() < 2) best.push_back(nest.spatial.size() - 1 - back);
  }
  return best;
}

Nest AlongOutput(const Nest& nest, size_t at, int64_t lanes) {
  Nest way = nest;
  const NestLoop loop = way.spatial[at];
  way.spatial.erase(way.spatial.begin() + static_cast<int64_t>(at));
  way.spatial.push_back(loop);
  way.lanes = lanes;
  absl::StrAppend(&way.trail, "/", loop.name.substr(loop.name.find_last_of("._") + 1));
  return way;
}

// Whether each load that moves with the last reduction loop walks it element by element.
bool ReducesAlongMemory(const RuleContext& context, const Nest& nest) {
  if (nest.reduction.empty()) return false;
  const Block& block = context.program.blocks[nest.definition];
  const LoopWalk walk = WalkOf(context.program, block, nest.reduction.back());
  return walk.stride_count == 0 && !walk.diverges;
}

// `lanes` partial sums of each row, in a nest inside of that of the rows.
std::vector<Nest> AlongReduction(const RuleContext& context, const Nest& nest, int64_t lanes) {
  Nest way = nest;
  Schedule& s = way.schedule;
  const NestLoop loop = way.reduction.back();
  Decision sums{.name = "sums"};
  const bool even = loop.extent % lanes == 0;
  for (int64_t v = 1; v <= kVectorsMax; v *= 2) {
    const int64_t size = v * lanes;
    if (size > kVectorElementsMax || (v > 1 && 2 * size > loop.extent)) break;
    if (!even || loop.extent % size == 0) sums.values.push_back(size);
  }
  const std::string whole = way.block;
  const auto [step, lane] =
      s.SplitSize(s.Find(loop.name), {way.New("ko"), way.New("kl")}, s.Decide(std::move(sums)),
                  even ? Tail::kRagged : Tail::kGuard);
  way.block = way.New("lanes");
  const BlockRef partial = s.Rfactor(s.FindBlock(whole), way.block, lane);
  std::vector<LoopRef> rows = s.LoopsOf(s.FindBlock(whole));
  const LoopRef last = rows.back();
  rows.pop_back();
  if (rows.empty()) return {};  // A sum of everything by one worker has no loop around it.
  int64_t row_count = 1;
  for (const NestLoop& row : way.spatial) row_count *= row.extent;
  LoopRef row = s.Fuse(rows, absl::StrCat(whole, "_r"));
  const bool deals = row_count >= context.threads() && context.threads() > 1 &&
                     row_count * loop.extent >= kParallelMin;
  if (deals) {
    row = DealToWorkers(s, row, {absl::StrCat(whole, "_p"), absl::StrCat(whole, "_r1")},
                        context.threads());
  }
  Decision at_once{.name = "rows"};
  const int64_t rows_of_worker = row_count / context.threads();
  for (int64_t v = 1; v <= std::min(kRowsMax, std::max<int64_t>(1, rows_of_worker)); v *= 2) {
    at_once.values.push_back(v);
  }
  const auto [tile, in_tile] = s.SplitMax(
      row, {absl::StrCat(whole, "_rb"), absl::StrCat(whole, "_r2")}, s.Decide(std::move(at_once)));
  s.Stage(s.FindBlock(whole), absl::StrCat(whole, "_sum"), in_tile, Scope::kRegister);
  s.Vectorize(last, lanes);
  std::vector<std::string> names;
  const size_t rank = s.structure().blocks[partial.id].spatial.size();
  for (size_t d = 0; d < rank; ++d) names.push_back(way.New(absl::StrCat("i", d)));
  const std::vector<LoopRef> local = s.ComputeAt(partial, names, tile);
  way.spatial.clear();
  way.trivial_spatial.clear();
  for (const LoopRef each : local) way.spatial.push_back({.name = s.NameOf(each)});
  way.reduction.back().name = s.NameOf(step);
  way.reduction.back().extent = loop.extent / lanes;
  way.lanes = lanes;
  way.is_inner = way.is_cut = true;
  way.trail += "/sums";
  return {std::move(way)};
}

}  // namespace

std::vector<Nest> LanesRule(const RuleContext& context, const SketchRule&, const Nest& nest) {
  if (nest.lanes != 0) return {};
  const Block& block = context.program.blocks[nest.definition];
  const int64_t lanes_max = LanesOf(context.device.core, context.program, block);
  const bool sums = nest.producers.empty() && ReducesAlongMemory(context, nest) &&
                    lanes_max >= kLanesMin && nest.reduction.back().extent >= 2 * lanes_max;
  std::vector<Nest> ways;
  for (const size_t at : Candidates(context, nest, /*in_order=*/sums)) {
    const int64_t lanes = std::min(lanes_max, FloorPowerOfTwo(nest.spatial[at].extent));
    if (lanes < 2) continue;
    ways.push_back(AlongOutput(nest, at, lanes));
    // Lanes that load one by one are nothing beside those along the sums.
    ways.back().needs_copies =
        sums && !LoadsToCopy(context.program, nest, nest.spatial[at]).empty();
  }
  if (sums) {
    for (Nest& way : AlongReduction(context, nest, lanes_max)) ways.push_back(std::move(way));
  }
  if (ways.empty()) {
    ways.push_back(nest);
    ways.back().lanes = 1;
  }
  return ways;
}

}  // namespace burnish
