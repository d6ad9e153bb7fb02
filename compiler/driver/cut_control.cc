#include "compiler/driver/cut_control.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/status_macros.h"
#include "compiler/graph/control.h"

namespace burnish {
namespace {

// A weight of a task, and no more than that: beyond it nothing is worth more.
constexpr int64_t kRepeatMax = int64_t{1} << 30;

class Cutter {
 public:
  Cutter(const FuseOptions& fuse, const std::function<absl::Status(Graph&)>& separate)
      : fuse_(fuse), separate_(separate) {}

  absl::StatusOr<FlatGraph> Run(Graph graph) {
    flat_.graph.name = graph.name;
    RETURN_IF_ERROR(Cut(std::move(graph), {}, {}).status());
    flat_.fusion.group_of.assign(flat_.graph.nodes.size(), -1);
    for (size_t g = 0; g < flat_.fusion.groups.size(); ++g) {
      for (const GraphNodeId node : flat_.fusion.groups[g].nodes) {
        flat_.fusion.group_of[node] = static_cast<int>(g);
      }
    }
    return std::move(flat_);
  }

 private:
  struct Where {
    int region = -1;
    int body = 0;
    int64_t repeat = 1;
  };

  // `given`: the body's last inputs are these values of the flat graph. Returns the outputs' ids.
  absl::StatusOr<std::vector<ValueId>> Cut(Graph graph, const std::vector<ValueId>& given,
                                           const Where& where) {
    const size_t own = graph.inputs.size() - given.size();
    std::map<ValueId, ValueId> captured;
    for (size_t i = 0; i < given.size(); ++i) captured[graph.inputs[own + i]] = given[i];
    RETURN_IF_ERROR(separate_(graph));
    const Fusion fusion = Fuse(graph, fuse_);
    std::vector<ValueId> ids;
    for (size_t v = 0; v < graph.values.size(); ++v) {
      const auto found = captured.find(static_cast<ValueId>(v));
      ids.push_back(found != captured.end() ? found->second : AddFlat(graph.values[v]));
    }
    const auto rename = [&ids](std::vector<ValueId>& values) {
      for (ValueId& value : values) value = ids[value];
    };
    const auto first_node = static_cast<GraphNodeId>(flat_.graph.nodes.size());
    for (const GraphNode& node : graph.nodes) {
      GraphNode copy = node;
      rename(copy.inputs);
      rename(copy.outputs);
      for (const ValueId output : copy.outputs) {
        flat_.graph.values[output].producer = static_cast<GraphNodeId>(flat_.graph.nodes.size());
      }
      flat_.graph.nodes.push_back(std::move(copy));
    }
    if (where.region < 0) {
      flat_.graph.inputs = graph.inputs;
      flat_.graph.outputs = graph.outputs;
      flat_.graph.hidden_outputs = graph.hidden_outputs;
      flat_.graph.bounded_axes = graph.bounded_axes;
      flat_.graph.sizes = graph.sizes;
      flat_.graph.input_axes = graph.input_axes;
      flat_.graph.input_defaults = graph.input_defaults;
      rename(flat_.graph.inputs);
      rename(flat_.graph.outputs);
    }
    for (FusedGroup group : fusion.groups) {
      for (GraphNodeId& node : group.nodes) node += first_node;
      if (group.anchor >= 0) group.anchor += first_node;
      rename(group.inputs);
      rename(group.outputs);
      group.region = where.region;
      group.body = where.body;
      group.repeat = where.repeat;
      if (IsControl(flat_.graph.nodes[group.nodes[0]])) {
        RETURN_IF_ERROR(CutRegion(group.nodes[0], where));
      }
      flat_.fusion.groups.push_back(std::move(group));
    }
    std::vector<ValueId> outputs = graph.outputs;
    std::vector<ValueId> inputs = graph.inputs;
    rename(outputs);
    rename(inputs);
    // Behind the outputs: what the body itself reads.
    outputs.insert(outputs.end(), inputs.begin(), inputs.begin() + static_cast<int64_t>(own));
    return outputs;
  }

  // Equal constants of several bodies are one, so that they are stored and packed once.
  ValueId AddFlat(const GraphValue& value) {
    const auto id = static_cast<ValueId>(flat_.graph.values.size());
    if (value.data != nullptr) {
      for (const ValueId known : constants_[value.data.get()]) {
        if (flat_.graph.value(known).type == value.type) return known;
      }
      constants_[value.data.get()].push_back(id);
    }
    flat_.graph.values.push_back(value);
    return id;
  }

  absl::Status CutRegion(GraphNodeId id, const Where& where) {
    const GraphNode node = flat_.graph.nodes[id];  // By value: nodes are appended.
    const auto number = static_cast<int>(flat_.regions.size());
    ControlRegion region{.name = node.name,
                         .node = id,
                         .parent = where.region,
                         .parent_body = where.body,
                         .is_loop = node.op == OpId::kLoop};
    flat_.regions.push_back(region);
    const std::vector<ValueId> captures(
        node.inputs.begin() + static_cast<int64_t>(CaptureBegin(node)), node.inputs.end());
    if (!region.is_loop) {
      region.condition = node.inputs[0];
      std::vector<std::vector<ValueId>> results;
      for (int body = 0; body < 2; ++body) {
        ASSIGN_OR_RETURN(results.emplace_back(),
                         Cut(*node.bodies[body], captures, {number, body, where.repeat}));
      }
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        region.choices.push_back({results[0][i], results[1][i], node.outputs[i]});
      }
    } else {
      RETURN_IF_ERROR(CutLoop(node, captures, number, where.repeat, region));
    }
    flat_.regions[number] = std::move(region);
    return absl::OkStatus();
  }

  absl::Status CutLoop(const GraphNode& node, const std::vector<ValueId>& captures, int number,
                       int64_t repeat, ControlRegion& region) {
    const LoopParts parts(node);
    Graph body = *node.bodies[0];
    // A state that is stacked too needs no memory of its own: the next iteration reads the slice.
    std::vector<ValueId> outputs(
        body.outputs.begin(), body.outputs.begin() + static_cast<int64_t>(parts.first_body_state));
    const auto stacks =
        body.outputs.begin() + static_cast<int64_t>(parts.first_body_state + parts.states);
    std::vector<int> linked;
    for (size_t i = 0; i < parts.states; ++i) {
      const ValueId output = body.outputs[parts.first_body_state + i];
      const auto found = std::find(stacks, body.outputs.end(), output);
      linked.push_back(found == body.outputs.end() ? -1 : static_cast<int>(found - stacks));
      if (linked.back() < 0) outputs.push_back(output);
    }
    outputs.insert(outputs.end(), stacks, body.outputs.end());
    body.outputs = outputs;
    // A count among the inputs of a loop over slices is at most their number, and often close.
    const bool is_bounded = parts.IsExact() || parts.slices + parts.stacked > 0;
    const int64_t times = is_bounded ? std::min(parts.count, kRepeatMax) : 1;
    ASSIGN_OR_RETURN(
        const std::vector<ValueId> values,
        Cut(std::move(body), captures, {number, 0, std::min(repeat * times, kRepeatMax)}));
    size_t next = 0;  // In `values`: outputs, then inputs.
    region.count = parts.count;
    if (parts.has_count) region.count_input = node.inputs[0];
    if (parts.has_condition) {
      region.condition = node.inputs[parts.first_state - 1];
      region.next_condition = values[next++];
    }
    for (size_t i = 0; i < parts.states; ++i) {
      region.states.push_back({.initial = node.inputs[parts.first_state + i],
                               .input = values[outputs.size() + i],
                               .output = linked[i] < 0 ? values[next++] : -1,
                               .result = node.outputs[i],
                               .stack = linked[i]});
    }
    for (size_t i = 0; i < parts.stacked; ++i) {
      region.stacks.push_back(
          {node.outputs[parts.states + i], values[next++], parts.backwards[parts.slices + i]});
    }
    for (ControlRegion::State& state : region.states) {
      if (state.stack >= 0) state.output = region.stacks[state.stack].part;
    }
    for (size_t i = 0; i < parts.slices; ++i) {
      region.slices.push_back({node.inputs[parts.first_slice + i],
                               values[outputs.size() + parts.states + i], parts.backwards[i]});
    }
    return absl::OkStatus();
  }

  const FuseOptions fuse_;
  const std::function<absl::Status(Graph&)>& separate_;
  FlatGraph flat_;
  std::map<const ConstantData*, std::vector<ValueId>> constants_;
};

}  // namespace

absl::StatusOr<FlatGraph> CutControl(Graph graph, const FuseOptions& fuse,
                                     const std::function<absl::Status(Graph&)>& separate) {
  const bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(), IsControl);
  if (any) return Cutter(fuse, separate).Run(std::move(graph));
  RETURN_IF_ERROR(separate(graph));
  Fusion fusion = Fuse(graph, fuse);
  return FlatGraph{.graph = std::move(graph), .fusion = std::move(fusion), .regions = {}};
}

std::vector<ValueId> AddressedValues(const std::vector<ControlRegion>& regions) {
  std::vector<ValueId> values;
  for (const ControlRegion& region : regions) {
    values.insert(values.end(), {region.count_input, region.condition, region.next_condition});
    for (const ControlRegion::State& state : region.states) {
      values.insert(values.end(), {state.initial, state.input, state.output, state.result});
    }
    for (const auto* slices : {&region.slices, &region.stacks}) {
      for (const ControlRegion::Slice& slice : *slices) {
        values.insert(values.end(), {slice.whole, slice.part});
      }
    }
    for (const ControlRegion::Choice& choice : region.choices) {
      values.insert(values.end(), {choice.first, choice.second, choice.result});
    }
  }
  values.erase(std::remove(values.begin(), values.end(), -1), values.end());
  return values;
}

ControlReads ReadsOf(const std::vector<ControlRegion>& regions) {
  ControlReads reads;
  const auto hand_on = [&](ValueId from, ValueId to, HandedOn::As as = HandedOn::As::kWhole,
                           ValueId count = -1) {
    reads.handed_on.push_back({.from = from, .to = to, .as = as, .count = count});
  };
  for (const ControlRegion& region : regions) {
    reads.whole.insert(reads.whole.end(),
                       {region.count_input, region.condition, region.next_condition});
    for (const ControlRegion::State& state : region.states) {
      // Of no iteration the result is what the first one would have begun with.
      for (const ValueId from : {state.initial, state.output}) {
        hand_on(from, state.input);
        hand_on(from, state.result);
      }
    }
    for (const ControlRegion::Slice& slice : region.slices) {
      // Backwards a run takes the rows before its count, from the last one on.
      hand_on(slice.whole, slice.part, HandedOn::As::kRow, region.count_input);
    }
    for (const ControlRegion::Slice& stack : region.stacks) {
      hand_on(stack.part, stack.whole, HandedOn::As::kRows);
    }
    for (const ControlRegion::Choice& choice : region.choices) {
      hand_on(choice.first, choice.result);
      hand_on(choice.second, choice.result);
    }
  }
  std::erase(reads.whole, -1);
  return reads;
}

void LowerAlignment(const Graph& graph, const std::vector<ControlRegion>& regions,
                    StorageAssignment& storage) {
  const auto alignment = [&](ValueId value) -> int64_t& {
    return storage.places[value].storage.alignment_bytes;
  };
  // Outer regions come first: what an inner one starts from knows its alignment.
  for (const ControlRegion& region : regions) {
    for (const auto* slices : {&region.slices, &region.stacks}) {
      for (const ControlRegion::Slice& slice : *slices) {
        const TensorType& type = graph.value(slice.part).type;
        alignment(slice.part) =
            std::gcd(alignment(slice.whole), ElementCount(type.shape) * SizeBytes(type.dtype));
      }
    }
    for (const ControlRegion::State& state : region.states) {
      alignment(state.input) = alignment(state.initial);
      if (state.stack >= 0) {
        alignment(state.input) = std::gcd(alignment(state.initial), alignment(state.output));
      }
    }
    for (const ControlRegion::Choice& choice : region.choices) {
      alignment(choice.first) = alignment(choice.second) = alignment(choice.result);
    }
  }
  // Parts and reshapes lie in the memory of these.
  for (ValuePlace& place : storage.places) {
    place.storage.alignment_bytes =
        std::min(place.storage.alignment_bytes, alignment(place.allocation));
  }
}

std::vector<StepRange> StepRanges(const std::vector<ControlRegion>& regions, const Fusion& fusion,
                                  const std::vector<bool>& is_step) {
  constexpr uint32_t kUnknown = ~uint32_t{0};
  std::vector<StepRange> ranges(regions.size(), {kUnknown, kUnknown, kUnknown});
  std::map<GraphNodeId, size_t> region_of;
  for (size_t r = 0; r < regions.size(); ++r) region_of[regions[r].node] = r;
  uint32_t step = 0;
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    const FusedGroup& group = fusion.groups[g];
    int body = group.body;
    for (int r = group.region; r >= 0; r = regions[r].parent) {
      ranges[r].first = std::min(ranges[r].first, step);
      if (body == 1) ranges[r].middle = std::min(ranges[r].middle, step);
      body = regions[r].parent_body;
    }
    if (const auto own = region_of.find(group.nodes[0]); own != region_of.end()) {
      StepRange& range = ranges[own->second];
      range = {std::min(range.first, step), std::min(range.middle, step), step};
    }
    step += is_step[g];
  }
  return ranges;
}

}  // namespace burnish
