#include "compiler/driver/probed_model.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/graph/precision_pass.h"

namespace burnish {
namespace {

// Each layer is asked for by itself, in a run of the model. Of a larger model, neighbours are one
// layer.
constexpr size_t kLayersMax = 256;

bool IsNarrow(const TensorType& type) {
  return type.dtype == DType::kBf16 || type.dtype == DType::kF16;
}

// Rows of a constant table are floats of their own, whatever is done with them.
bool OnlyMoves(const Graph& graph, const GraphNode& node) {
  return OperatorOf(node.op).fusion == FusionKind::kInjective &&
         std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
           return !graph.IsConstant(input) && IsFloat(graph.value(input).type.dtype);
         });
}

class Prober {
 public:
  Prober(const PlannedModel& model, const std::vector<StepPlan>& steps, const CompileReply& reply,
         const std::set<std::string>& narrow, const std::map<std::string, ValueRange>& ranges)
      : model_(model), steps_(steps), reply_(reply), narrow_(narrow), ranges_(ranges) {}

  ProbedModel Run() {
    FindLayers();
    readers_of_.resize(graph().values.size());
    is_known_.assign(graph().values.size(), false);
    groups_of_ = GroupsByInput();
    for (const StepPlan& step : steps_) {
      std::vector<std::vector<int>>& readers = probed_.step_readers.emplace_back();
      std::vector<std::optional<ByteScale>>& scales = probed_.step_scales.emplace_back();
      for (const ValueId result : model_.tasks.calls[step.group].results) {
        readers.push_back(ReadersOf(result));
        scales.push_back(ScaleOf(result));
      }
    }
    for (size_t i = 0; i < graph().shown_inputs(); ++i) {
      probed_.input_readers.push_back(ReadersOf(graph().inputs[i]));
      probed_.input_scales.push_back(ScaleOf(graph().inputs[i]));
    }
    for (size_t s = 0; s < steps_.size(); ++s) AddWeights(s);
    return std::move(probed_);
  }

 private:
  const Graph& graph() const { return model_.graph; }
  const FusedGroup& GroupOf(const StepPlan& step) const { return model_.fusion.groups[step.group]; }

  // Steps that share a node are one layer, since a node has one type.
  void FindLayers() {
    std::vector<size_t> leader(steps_.size());
    std::iota(leader.begin(), leader.end(), size_t{0});
    const auto find = [&](size_t s) {
      while (leader[s] != s) s = leader[s];
      return s;
    };
    std::map<std::string, size_t> step_of;
    std::vector<std::vector<std::string>> names(steps_.size());
    for (size_t s = 0; s < steps_.size(); ++s) {
      for (const GraphNodeId n : GroupOf(steps_[s]).nodes) {
        const std::string& name = graph().nodes[n].layer;
        if (narrow_.count(name) == 0) continue;
        names[s].push_back(name);
        const auto [found, is_new] = step_of.emplace(name, s);
        // The earlier one leads, so that layers are in the order of steps.
        const size_t a = find(found->second), b = find(s);
        leader[std::max(a, b)] = std::min(a, b);
      }
    }
    layer_of_group_.assign(model_.fusion.groups.size(), -1);
    std::set<size_t> leaders;
    for (size_t s = 0; s < steps_.size(); ++s) {
      if (!names[s].empty()) leaders.insert(find(s));
    }
    const size_t neighbours = std::max<size_t>((leaders.size() + kLayersMax - 1) / kLayersMax, 1);
    std::map<size_t, int> number;  // By leader.
    for (const size_t s : leaders) {
      number.emplace(s, static_cast<int>(number.size() / neighbours));
    }
    probed_.layers.resize((leaders.size() + neighbours - 1) / neighbours);
    for (size_t s = 0; s < steps_.size(); ++s) {
      if (names[s].empty()) continue;
      const auto found = number.find(find(s));
      layer_of_group_[steps_[s].group] = found->second;
      std::vector<std::string>& nodes = probed_.layers[found->second].nodes;
      for (const std::string& name : names[s]) {
        if (std::find(nodes.begin(), nodes.end(), name) == nodes.end()) nodes.push_back(name);
      }
    }
  }

  std::vector<std::vector<size_t>> GroupsByInput() const {
    std::vector<std::vector<size_t>> groups(graph().values.size());
    for (size_t g = 0; g < model_.fusion.groups.size(); ++g) {
      for (const ValueId input : model_.fusion.groups[g].inputs) groups[input].push_back(g);
    }
    return groups;
  }

  // Layers that read the value, or what is only moved of it.
  const std::vector<int>& ReadersOf(ValueId value) {
    if (is_known_[value]) return readers_of_[value];
    is_known_[value] = true;
    std::set<int> readers;
    for (const size_t g : groups_of_[value]) {
      if (layer_of_group_[g] >= 0) {
        readers.insert(layer_of_group_[g]);
        continue;
      }
      for (const ValueId output : model_.fusion.groups[g].outputs) {
        const std::vector<int>& behind = ReadersOf(output);
        if (Moves(g)) readers.insert(behind.begin(), behind.end());
      }
    }
    readers_of_[value].assign(readers.begin(), readers.end());
    return readers_of_[value];
  }

  std::optional<ByteScale> ScaleOf(ValueId value) const {
    const auto range = ranges_.find(SourceName(graph(), value));
    if (range == ranges_.end()) return std::nullopt;
    return ByteScaleOf(range->second);
  }

  bool Moves(size_t group) const {
    const std::vector<GraphNodeId>& nodes = model_.fusion.groups[group].nodes;
    return std::all_of(nodes.begin(), nodes.end(), [&](GraphNodeId n) {
      return OnlyMoves(graph(), graph().nodes[n]) || graph().nodes[n].op == OpId::kIdentity;
    });
  }

  void AddWeights(size_t s) {
    const StepPlan& step = steps_[s];
    const int layer = layer_of_group_[step.group];
    const TaskCall& call = model_.tasks.calls[step.group];
    if (layer < 0 || call.task < 0) return;
    std::set<ValueId> weights;
    for (const GraphNodeId n : GroupOf(step).nodes) {
      const GraphNode& node = graph().nodes[n];
      for (size_t i = 0; i < std::min(node.inputs.size(), NarrowInputs(node.op)); ++i) {
        const GraphValue& value = graph().value(node.inputs[i]);
        if (value.data != nullptr && value.type.dtype == DType::kF32) {
          weights.insert(node.inputs[i]);
        }
      }
    }
    const auto is_weights = [&](const CallBuffer& buffer) {
      return buffer.kind == CallBuffer::Kind::kParameter &&
             static_cast<size_t>(buffer.index) < call.arguments.size() &&
             weights.count(call.arguments[buffer.index]) > 0;
    };
    const auto& kernel = std::get<CompiledKernel>(reply_.results[step.item].outcome);
    // A pack function lays out the weights of its step; biases are read as they are.
    const bool packs =
        std::any_of(kernel.pack_buffers.begin(), kernel.pack_buffers.end(), is_weights);
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      const bool is_packed = kernel.buffers[b].kind == CallBuffer::Kind::kPacked;
      if (is_packed ? packs : is_weights(kernel.buffers[b])) {
        probed_.layers[layer].weights.push_back({.step = s, .buffer = b});
      }
    }
  }

  const PlannedModel& model_;
  const std::vector<StepPlan>& steps_;
  const CompileReply& reply_;
  const std::set<std::string>& narrow_;
  const std::map<std::string, ValueRange>& ranges_;
  ProbedModel probed_;
  std::vector<int> layer_of_group_;             // -1: of none.
  std::vector<std::vector<size_t>> groups_of_;  // By value that they read.
  std::vector<std::vector<int>> readers_of_;    // By value.
  std::vector<bool> is_known_;
};

}  // namespace

std::set<std::string> NarrowNodes(const Graph& graph) {
  std::set<std::string> names;
  for (const GraphNode& node : graph.nodes) {
    if (node.layer.empty() || node.op == OpId::kCast || node.op == OpId::kIdentity ||
        OnlyMoves(graph, node))
      continue;
    const auto is_narrow = [&](ValueId value) { return IsNarrow(graph.value(value).type); };
    if (std::any_of(node.inputs.begin(), node.inputs.end(), is_narrow) ||
        std::any_of(node.outputs.begin(), node.outputs.end(), is_narrow)) {
      names.insert(node.layer);
    }
  }
  return names;
}

ProbedModel ProbedModelOf(const PlannedModel& model, const std::vector<StepPlan>& steps,
                          const CompileReply& reply, const std::set<std::string>& narrow,
                          const std::map<std::string, ValueRange>& ranges) {
  return Prober(model, steps, reply, narrow, ranges).Run();
}

}  // namespace burnish
