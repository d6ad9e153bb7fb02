#include "compiler/graph/lone_window.h"

#include <algorithm>
#include <cstdint>

#include "compiler/graph/control.h"
#include "compiler/te/operator.h"

namespace burnish {
namespace {

// Pixels of a row from which on its vectors are used well: two of the widest, 16 floats. Shorter
// rows leave most of a vector empty at each end.
constexpr int64_t kRowMin = 32;
// Products for each element that would be transposed, in and out. On a Zen 5 a core transposes an
// element in the time of some 100 products; beyond that a chain's other algorithms save more.
constexpr int64_t kProductsMax = 100;
// Input channels: a tile of sums walks through all of them, each in a page of its own, and a first
// TLB holds 64.
constexpr int64_t kChannelsMax = 64;
// A window of several channels lies in one piece with channels last: only where the result has so
// many times the channels of the input does its transposition cost more than that saves. EDSR's
// last layer, 64 channels to 3, takes 1.4 ms with both transpositions, 1.7 without.
constexpr int64_t kWidensMin = 4;
// A depthwise convolution multiplies each pixel by a few taps: windows that overlap are loaded once
// with channels last, and for each tap with channels first.
constexpr int64_t kTapsMax = 32;
// A product whose lanes walk the row by steps copies each tap's elements first, lane by lane, in
// the time of some ten products: so many output channels read the copy, and it is of few taps.
constexpr int64_t kPackedUsesMin = 64;

// Of a pool, where a tap is one operation, and of a depthwise convolution by steps, whose input has
// several times its result's elements to transpose. Pixels of a row: half a vector is as many as
// the transpositions use well. Taps: so many are written out, and the ends of padded rows then cost
// nothing; steps: what vectors of 8 lanes are loaded by (compiler/ir/access.h).
constexpr int64_t kPoolRowMin = 8;
constexpr int64_t kPoolTapsMax = 16;
constexpr int64_t kPoolStepMax = 4;

bool IsCheapPool(const Graph& graph, const GraphNode& node) {
  const std::vector<int64_t>& y = graph.value(node.outputs[0]).type.shape;
  const std::vector<int64_t> kernel = node.attributes.Ints("kernel_shape", {});
  int64_t taps = 1;
  for (int64_t extent : kernel) taps *= extent;
  const std::vector<int64_t> strides =
      node.attributes.Ints("strides", std::vector<int64_t>(kernel.size(), 1));
  return !kernel.empty() && taps <= kPoolTapsMax && strides.back() <= kPoolStepMax &&
         y.back() >= kPoolRowMin;
}

bool IsCheapConvolution(const Graph& graph, const GraphNode& node) {
  const std::vector<int64_t>& x = graph.value(node.inputs[0]).type.shape;
  const std::vector<int64_t>& weights = graph.value(node.inputs[1]).type.shape;
  const std::vector<int64_t>& y = graph.value(node.outputs[0]).type.shape;
  const size_t dims = x.size() - 2;
  const std::vector<int64_t> strides =
      node.attributes.Ints("strides", std::vector<int64_t>(dims, 1));
  const int64_t group = node.attributes.Int("group", 1);
  int64_t taps = 1;
  for (size_t d = 2; d < weights.size(); ++d) taps *= weights[d];
  if (group > 1) {
    const int64_t row_min = strides.back() > 1 ? kPoolRowMin : kRowMin;
    return group == x[1] && group == y[1] && taps <= kTapsMax && strides.back() <= kPoolStepMax &&
           y.back() >= row_min;
  }
  const bool steps = strides.back() != 1;
  if (y.back() < kRowMin || (steps && (taps > kTapsMax || y[1] < kPackedUsesMin))) return false;
  if (taps > 1 && kWidensMin * x[1] > y[1]) return false;
  return x[1] <= kChannelsMax && weights[0] * weights[1] * taps <= kProductsMax * (x[1] + y[1]);
}

class Readers {
 public:
  Readers(const Graph& graph, const std::vector<std::vector<GraphNodeId>>& consumers)
      : graph_(graph), consumers_(consumers) {}

  // Whether somebody would take `value` with channels last, behind any operators that carry it. So
  // deep a look is enough: what follows a convolution is short, or ends in another.
  bool WantLast(ValueId value, int depth = 8) const {
    if (depth == 0) return true;
    return std::any_of(consumers_[value].begin(), consumers_[value].end(), [&](GraphNodeId id) {
      const GraphNode& reader = graph_.nodes[id];
      if (IsControl(reader)) return false;
      const LayoutRule layout = OperatorOf(reader.op).layout;
      if (layout == LayoutRule::kFixed) return false;
      if (layout == LayoutRule::kChannelsLast) return true;
      // Another operand may come with channels last, and then this one is turned too.
      const bool alone =
          std::all_of(reader.inputs.begin(), reader.inputs.end(), [&](ValueId input) {
            return input == value || graph_.value(input).data != nullptr ||
                   graph_.value(input).producer < 0;
          });
      return !alone || WantLast(reader.outputs[0], depth - 1);
    });
  }

 private:
  const Graph& graph_;
  const std::vector<std::vector<GraphNodeId>>& consumers_;
};

}  // namespace

bool IsLoneWindow(const Graph& graph, const GraphNode& node,
                  const std::vector<std::vector<GraphNodeId>>& consumers) {
  if (node.attributes.Int("channels_last", 0) != 0) return false;
  const bool cheap = node.op == OpId::kConv ? IsCheapConvolution(graph, node)
                     : node.op == OpId::kMaxPool || node.op == OpId::kAveragePool
                         ? IsCheapPool(graph, node)
                         : false;
  return cheap && !Readers(graph, consumers).WantLast(node.outputs[0]);
}

}  // namespace burnish
