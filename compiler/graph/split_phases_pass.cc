#include "compiler/graph/split_phases_pass.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/graph/fold_constants_pass.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

using Ints = std::vector<int64_t>;

// One transposed convolution; vectors have a value a spatial dimension.
struct Transposed {
  bool channels_last = false;
  int64_t batch = 0, in_channels = 0, out_channels = 0, phases = 1;
  Ints in, out, strides, pads_begin;
  Ints taps;      // Of one phase, the most that any has.
  Ints produced;  // Positions of each phase that the convolution computes.
  Ints pads;      // Of the convolution.
};

bool AllOnes(const Ints& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 1; });
}

bool Takes(const Graph& graph, const GraphNode& node) {
  const Ints pads = node.attributes.Ints("pads", {});
  if (std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad < 0; })) return false;
  if (node.op != OpId::kConvTranspose || !graph.IsConstant(node.inputs[1])) return false;
  if (node.inputs.size() > 2 && !graph.IsConstant(node.inputs[2])) return false;
  return node.attributes.Int("group", 1) == 1 && AllOnes(node.attributes.Ints("dilations", {})) &&
         !AllOnes(node.attributes.Ints("strides", {}));
}

Transposed Read(const Graph& graph, const GraphNode& node) {
  const Ints& x = graph.value(node.inputs[0]).type.shape;
  const Ints& w = graph.value(node.inputs[1]).type.shape;
  const Ints& y = graph.value(node.outputs[0]).type.shape;
  const size_t dims = x.size() - 2;
  Transposed t{.channels_last = node.attributes.Int("channels_last", 0) != 0,
               .batch = x[0],
               .in_channels = w[0],
               .out_channels = w[1]};
  const size_t first = t.channels_last ? 1 : 2;
  t.strides = node.attributes.Ints("strides", {});
  const Ints pads = node.attributes.Ints("pads", Ints(2 * dims, 0));
  t.pads.assign(2 * dims, 0);
  for (size_t d = 0; d < dims; ++d) {
    const int64_t stride = t.strides[d];
    t.in.push_back(x[first + d]);
    t.out.push_back(y[first + d]);
    t.pads_begin.push_back(pads[d]);
    t.phases *= stride;
    t.taps.push_back((w[2 + d] + stride - 1) / stride);
    // Before the first element lie what later taps reach back to; behind the last one, what the
    // output needs.
    const int64_t needed = (pads[d] + t.out[d] + stride - 1) / stride;
    t.pads[d] = t.taps[d] - 1;
    t.pads[dims + d] = std::max<int64_t>(0, needed - t.in[d]);
    t.produced.push_back(t.in[d] + t.pads[dims + d]);
  }
  return t;
}

// Adds nodes in order and carries the first error through.
class Chain {
 public:
  Chain(Graph& graph, std::string name, ValueId x) : graph_(graph), name_(std::move(name)), x_(x) {}

  void Then(OpId op, std::vector<std::pair<const char*, AttributeValue>> attributes,
            std::vector<ValueId> further = {}) {
    if (!status_.ok()) return;
    Attributes all;
    for (auto& [name, value] : attributes) all.Set(name, std::move(value));
    std::vector<ValueId> inputs = {x_};
    inputs.insert(inputs.end(), further.begin(), further.end());
    const absl::StatusOr<ValueId> result = AddOp(graph_, op, inputs, std::move(all), name_);
    status_ = result.status();
    if (result.ok()) x_ = *result;
  }
  absl::StatusOr<ValueId> result() const {
    RETURN_IF_ERROR(status_);
    return x_;
  }
  const Ints& shape() const { return graph_.value(x_).type.shape; }

 private:
  Graph& graph_;
  const std::string name_;
  ValueId x_;
  absl::Status status_;
};

// [I, O, k..] -> [phases.. * O, I, taps..]: tap m of phase r is tap r + m * stride, and counted
// backwards, as a convolution meets it.
absl::StatusOr<ValueId> Weights(Graph& graph, const GraphNode& node, const Transposed& t) {
  Chain chain(graph, node.name, node.inputs[1]);
  const size_t dims = t.in.size();
  Ints pads(2 * (dims + 2), 0), split = {t.in_channels, t.out_channels}, axes, starts, ends, steps;
  Ints perm, joined = {t.phases * t.out_channels, t.in_channels};
  for (size_t d = 0; d < dims; ++d) {
    pads[dims + 2 + 2 + d] = t.taps[d] * t.strides[d] - chain.shape()[2 + d];
    split.push_back(t.taps[d]);
    split.push_back(t.strides[d]);
    joined.push_back(t.taps[d]);
    perm.push_back(static_cast<int64_t>(2 + 2 * d + 1));
    if (t.taps[d] == 1) continue;
    axes.push_back(static_cast<int64_t>(2 + 2 * d));
    starts.push_back(t.taps[d] - 1);
    ends.push_back(-1);
    steps.push_back(-1);
  }
  perm.insert(perm.end(), {1, 0});
  for (size_t d = 0; d < dims; ++d) perm.push_back(static_cast<int64_t>(2 + 2 * d));
  if (pads != Ints(pads.size(), 0)) chain.Then(OpId::kPad, {{"pads", pads}});
  chain.Then(OpId::kReshape, {{"shape", split}});
  if (!axes.empty()) {
    chain.Then(OpId::kSlice,
               {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}});
  }
  chain.Then(OpId::kTranspose, {{"perm", perm}});
  chain.Then(OpId::kReshape, {{"shape", joined}});
  return chain.result();
}

absl::StatusOr<ValueId> Bias(Graph& graph, const GraphNode& node, const Transposed& t) {
  Chain chain(graph, node.name, node.inputs[2]);
  chain.Then(OpId::kExpand, {{"shape", Ints{t.phases, t.out_channels}}});
  chain.Then(OpId::kReshape, {{"shape", Ints{t.phases * t.out_channels}}});
  return chain.result();
}

// Phases from channels to between the positions, and the part that is the output.
void Interleave(const Transposed& t, Chain& chain) {
  const auto dims = static_cast<int64_t>(t.in.size());
  Ints split = {t.batch}, perm = {0}, joined = {t.batch}, axes, starts, ends;
  const int64_t first = t.channels_last ? 1 : 2;         // Of the spatial dimensions.
  const int64_t phase = t.channels_last ? dims + 1 : 1;  // Of `split`.
  const int64_t position = t.channels_last ? 1 : dims + 2;
  if (t.channels_last) split.insert(split.end(), t.produced.begin(), t.produced.end());
  split.insert(split.end(), t.strides.begin(), t.strides.end());
  split.push_back(t.out_channels);
  if (!t.channels_last) {
    split.insert(split.end(), t.produced.begin(), t.produced.end());
    perm.push_back(dims + 1);
    joined.push_back(t.out_channels);
  }
  bool whole = true;
  for (int64_t d = 0; d < dims; ++d) {
    perm.push_back(position + d);
    perm.push_back(phase + d);
    joined.push_back(t.produced[d] * t.strides[d]);
    axes.push_back(first + d);
    starts.push_back(t.pads_begin[d]);
    ends.push_back(t.pads_begin[d] + t.out[d]);
    whole = whole && t.pads_begin[d] == 0 && t.out[d] == joined.back();
  }
  if (t.channels_last) {
    perm.push_back(2 * dims + 1);
    joined.push_back(t.out_channels);
  }
  chain.Then(OpId::kReshape, {{"shape", split}});
  chain.Then(OpId::kTranspose, {{"perm", perm}});
  chain.Then(OpId::kReshape, {{"shape", joined}});
  if (!whole) chain.Then(OpId::kSlice, {{"axes", axes}, {"starts", starts}, {"ends", ends}});
}

}  // namespace

absl::Status SplitPhases(Graph& graph) {
  Replacements replacements;
  const size_t count = graph.nodes.size();
  for (size_t id = 0; id < count; ++id) {
    if (!Takes(graph, graph.nodes[id])) continue;
    const GraphNode node = graph.nodes[id];  // Nodes that are added move it.
    const Transposed t = Read(graph, node);
    std::vector<ValueId> further;
    ASSIGN_OR_RETURN(further.emplace_back(), Weights(graph, node, t));
    if (node.inputs.size() > 2) {
      ASSIGN_OR_RETURN(further.emplace_back(), Bias(graph, node, t));
    }
    Chain chain(graph, node.name, node.inputs[0]);
    chain.Then(OpId::kConv, {{"pads", t.pads}, {"channels_last", int64_t{t.channels_last}}},
               further);
    Interleave(t, chain);
    ASSIGN_OR_RETURN(const ValueId result, chain.result());
    replacements.Set(node.outputs[0], result);
  }
  if (replacements.empty()) return absl::OkStatus();
  replacements.Apply(graph);
  RETURN_IF_ERROR(Finish(graph));
  return FoldConstants(graph);
}

}  // namespace burnish
