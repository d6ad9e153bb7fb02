// Workers each sum a part where there are too few elements to deal out: a sum of everything, a
// product of few rows and columns with a long reduction. The longest reduction loop is cut into
// parts (rfactor), which are the outermost loop of what workers sum; combine_rule.cc adds the parts
// up.
//
//   split@1 Y.k->(Y_w,Y_wk) size=$part tail=guard
//   rfactor@1 Y->Y_parts loop=Y_w
#include <algorithm>
#include <utility>

#include "tuner/sketch/generator/nest.h"

namespace burnish {
namespace {

// Elements for each worker beyond which sharing them out is enough: a few register tiles.
constexpr int64_t kElementsOfWorker = 512;
// Parts for each worker, so that one that is late leaves less to wait for.
constexpr int64_t kPartsMax = 4;
// Of a part at least: less is not worth a partial result.
constexpr int64_t kTermsMin = 64;

}  // namespace

std::vector<Nest> PartsRule(const RuleContext& context, const SketchRule&, const Nest& nest) {
  if (nest.lanes != 0 || nest.reduction.empty() || !nest.producers.empty() || nest.is_inner) {
    return {};
  }
  const int threads = context.threads();
  int64_t elements = 1, terms = 1;
  for (const NestLoop& loop : nest.spatial) elements *= loop.extent;
  for (const NestLoop& loop : nest.reduction) terms *= loop.extent;
  const auto longest =
      std::max_element(nest.reduction.begin(), nest.reduction.end(),
                       [](const NestLoop& a, const NestLoop& b) { return a.extent < b.extent; });
  if (threads == 1 || elements * terms < kParallelMin || elements > kElementsOfWorker * threads ||
      longest->extent < 2 * kTermsMin) {
    return {};
  }
  // Whole lines of what is read, where a part is longer than that.
  constexpr int64_t kWhole = 16;
  Decision part{.name = "part"};
  bool even = true;
  for (int64_t count = kPartsMax * threads; count >= threads; count /= 2) {
    int64_t size = (longest->extent + count - 1) / count;
    if (longest->extent % count != 0) size = (size + kWhole - 1) / kWhole * kWhole;
    if (size < kTermsMin || size >= longest->extent) continue;
    if (!part.values.empty() && part.values.back() == size) continue;
    part.values.push_back(size);
    even &= longest->extent % size == 0;
  }
  if (part.values.empty()) return {};
  Nest way = nest;
  Schedule& s = way.schedule;
  NestLoop& loop = way.reduction[longest - nest.reduction.begin()];
  const int64_t count = (loop.extent + part.values.front() - 1) / part.values.front();
  loop.extent = part.values.back();
  const auto [outer, inner] =
      s.SplitSize(s.Find(loop.name), {way.New("w"), way.New("wk")}, s.Decide(std::move(part)),
                  even ? Tail::kRagged : Tail::kGuard);
  loop.name = s.NameOf(inner);
  way.combined = way.block;
  way.block = way.New("parts");
  s.Rfactor(s.FindBlock(way.combined), way.block, outer);
  way.spatial.insert(way.spatial.begin(),
                     {.name = s.NameOf(outer), .axes = loop.axes, .extent = count});
  way.trail += "/parts";
  return {std::move(way)};
}

}  // namespace burnish
