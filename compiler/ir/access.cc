#include "compiler/ir/access.h"

#include <algorithm>
#include <utility>

namespace burnish {
namespace {

// Each lane is taken from the first vector that has its element.
std::vector<LaneVector> Dealt(const std::vector<int64_t>& places, std::vector<LaneVector> vectors) {
  for (LaneVector& vector : vectors) vector.place_of.assign(places.size(), -1);
  for (size_t lane = 0; lane < places.size(); ++lane) {
    const auto vector = std::find_if(vectors.begin(), vectors.end(), [&](const LaneVector& each) {
      return places[lane] >= each.from && places[lane] < each.from + each.width;
    });
    if (vector == vectors.end()) continue;
    vector->place_of[lane] = static_cast<int>(places[lane] - vector->from);
  }
  return vectors;
}

}  // namespace

LinearForm AddressOf(const Storage& storage, const std::vector<Expr>& indices,
                     const VarRanges& ranges) {
  LinearForm address{.constant = storage.offset};
  for (size_t d = 0; d < indices.size(); ++d) {
    AddLinear(address, indices[d], storage.strides[d], ranges);
  }
  return address;
}

std::optional<LanePlaces> PlacesOfLanes(int64_t lanes,
                                        const std::function<LinearForm(int64_t)>& address) {
  LanePlaces known{.first = address(0), .places = {0}};
  for (int64_t lane = 1; lane < lanes; ++lane) {
    const LinearForm at = address(lane);
    if (!HaveSameTerms(at, known.first)) return std::nullopt;
    known.places.push_back(at.constant - known.first.constant);
  }
  return known;
}

std::vector<LaneVector> VectorsOfSteps(int64_t step, int64_t lanes) {
  const int64_t count = CountOfSteps(step, lanes);
  const int64_t last = (lanes - 1) * step;
  const int64_t begin = std::min<int64_t>(last, 0), end = std::max<int64_t>(last, 0) + 1;
  std::vector<int64_t> places;
  for (int64_t lane = 0; lane < lanes; ++lane) places.push_back(lane * step);
  std::vector<LaneVector> vectors;
  for (int64_t i = 0; i < count; ++i) {
    vectors.push_back({.from = std::min(begin + i * lanes, end - lanes), .width = lanes});
  }
  return Dealt(places, std::move(vectors));
}

std::vector<LaneVector> VectorsOfRuns(const std::vector<int64_t>& places) {
  std::vector<int64_t> order = places;
  std::sort(order.begin(), order.end());
  std::vector<LaneVector> vectors;
  for (const int64_t place : order) {
    if (vectors.empty() || place > vectors.back().from + vectors.back().width) {
      vectors.push_back({.from = place});
    }
    vectors.back().width = place - vectors.back().from + 1;
  }
  return Dealt(places, std::move(vectors));
}

}  // namespace burnish
