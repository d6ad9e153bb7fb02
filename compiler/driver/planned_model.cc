#include "compiler/driver/planned_model.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/graph/constant_origin.h"
#include "compiler/graph/control.h"
#include "compiler/graph/separate_parts_pass.h"
#include "compiler/ir/access.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

// Each output a value of its own that a node writes: an output that is the model's input, a
// constant, or named twice, is copied. What has no elements, nobody has to write.
absl::Status SeparateOutputs(Graph& graph) {
  std::vector<bool> taken(graph.values.size(), false);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    ValueId& output = graph.outputs[i];
    const GraphNodeId producer = graph.value(output).producer;
    if (ElementCount(graph.value(output).type.shape) == 0) continue;
    // What nobody is shown lies in the arena, and what a node of control gives may not.
    const bool is_walker =
        i >= graph.shown_outputs() && producer >= 0 && IsControl(graph.nodes[producer]);
    if (producer >= 0 && !taken[output] && !is_walker) {
      taken[output] = true;
      continue;
    }
    const std::string name = graph.value(output).name;
    ASSIGN_OR_RETURN(output, AddOp(graph, OpId::kIdentity, {output}, {}, name));
    graph.values[output].name = name;
    taken.resize(graph.values.size(), false);
    taken[output] = true;
  }
  return absl::OkStatus();
}

// Who reads which border, in the order of calls and arguments.
struct Reader {
  size_t group = 0;
  BorderDemand demand;
};

std::vector<Reader> FindReaders(const PlannedModel& model) {
  std::vector<Reader> readers;
  for (size_t g = 0; g < model.tasks.calls.size(); ++g) {
    const TaskCall& call = model.tasks.calls[g];
    if (call.task < 0) continue;
    const Program& program = model.chosen[call.task].scheduled;
    const std::vector<BufferId> parameters = ParametersOf(program);
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const Buffer& buffer = program.buffers[parameters[i]];
      if (buffer.role != BufferRole::kInput || buffer.storage.border.empty()) continue;
      readers.push_back({.group = g,
                         .demand = {.value = call.arguments[i],
                                    .border = buffer.storage.border,
                                    .border_value = buffer.storage.border_value}});
    }
  }
  return readers;
}

// Whether lanes that lie side by side in a dense output lie apart where the border is around it,
// and would be stored one by one. A schedule is measured with dense outputs, whoever reads them
// later.
bool TearsLanes(const Program& scheduled, BufferId output, const BorderDemand& demand) {
  const absl::StatusOr<Program> lowered = Lower(scheduled, {.for_estimate = true});
  if (!lowered.ok()) return false;
  const VarRanges ranges = [&](VarId var) -> std::optional<Range> {
    const Expr& extent = lowered->vars[var].extent;
    if (!IsConstInt(extent)) return std::nullopt;
    return Range{0, extent->int_value - 1};
  };
  const std::vector<int64_t>& shape = scheduled.buffers[output].shape;
  const Storage dense = DenseStorage(shape);
  const Storage bordered = DenseStorage(shape, demand.border, demand.border_value);
  for (const Node& store : lowered->nodes) {
    if (store.kind != NodeKind::kStore || store.buffer != output) continue;
    const LinearForm before = AddressOf(dense, store.indices, ranges);
    const LinearForm after = AddressOf(bordered, store.indices, ranges);
    for (const NodeId around : LoopsAround(*lowered, store.parent)) {
      const Node& loop = lowered->nodes[around];
      if (loop.loop_kind != LoopKind::kVectorized) continue;
      if (before.StepOf(loop.var) == 1 && after.StepOf(loop.var) != 1) return true;
    }
  }
  return false;
}

bool TearsLanes(const PlannedModel& model, const BorderDemand& demand) {
  for (const TaskCall& call : model.tasks.calls) {
    const auto result = std::find(call.results.begin(), call.results.end(), demand.value);
    if (call.task < 0 || result == call.results.end()) continue;
    const Program& scheduled = model.chosen[call.task].scheduled;
    const auto parameter = call.arguments.size() + (result - call.results.begin());
    return TearsLanes(scheduled, ParametersOf(scheduled)[parameter], demand);
  }
  return false;
}

bool HasBorder(const Storage& storage, const BorderDemand& demand) {
  if (storage.border.empty() || storage.border_value != demand.border_value) return false;
  for (size_t d = 0; d < demand.border.size(); ++d) {
    if (storage.border[d].first < demand.border[d].first ||
        storage.border[d].second < demand.border[d].second) {
      return false;
    }
  }
  return true;
}

// Readers whose input cannot lie as they ask get a copy of it. Returns how many copies were made.
absl::StatusOr<int> CopyForReaders(PlannedModel& model, const std::vector<Reader>& readers) {
  // In a body of its own: what one branch copies is not there for the other.
  std::map<std::tuple<ValueId, double, int, int>, ValueId> copies;
  std::map<size_t, std::vector<FusedGroup>> before;  // Groups to insert before a group.
  for (const Reader& reader : readers) {
    const ValueId from = reader.demand.value;
    if (HasBorder(model.storage.places[from].storage, reader.demand)) continue;
    // One copy for all readers that want the same value around it, with the widest border of them.
    FusedGroup& group = model.fusion.groups[reader.group];
    const auto [copy, is_new] =
        copies.try_emplace({from, reader.demand.border_value, group.region, group.body}, -1);
    if (is_new) {
      const std::string name = absl::StrCat(model.graph.value(from).name, ".bordered");
      ASSIGN_OR_RETURN(const GraphNodeId node,
                       AddNode(model.graph, OpId::kIdentity, {from}, {}, name));
      copy->second = model.graph.nodes[node].outputs[0];
      before[reader.group].push_back({.nodes = {node},
                                      .anchor = -1,
                                      .inputs = {from},
                                      .outputs = {copy->second},
                                      .repeat = group.repeat,
                                      .region = group.region,
                                      .body = group.body});
    }
    std::replace(group.inputs.begin(), group.inputs.end(), from, copy->second);
    for (const GraphNodeId node : group.nodes) {
      std::vector<ValueId>& inputs = model.graph.nodes[node].inputs;
      std::replace(inputs.begin(), inputs.end(), from, copy->second);
    }
  }
  std::vector<FusedGroup> groups;
  for (size_t g = 0; g < model.fusion.groups.size(); ++g) {
    for (FusedGroup& copy : before[g]) groups.push_back(std::move(copy));
    groups.push_back(std::move(model.fusion.groups[g]));
  }
  model.fusion.groups = std::move(groups);
  model.fusion.group_of.assign(model.graph.nodes.size(), -1);
  for (size_t g = 0; g < model.fusion.groups.size(); ++g) {
    for (const GraphNodeId node : model.fusion.groups[g].nodes) {
      model.fusion.group_of[node] = static_cast<int>(g);
    }
  }
  return static_cast<int>(copies.size());
}

// With views no concat copies anything (SeparateParts), whatever schedules ask for. So none becomes
// a task: its definition asks each element of its place which part it belongs to.
std::vector<bool> FreeConcats(const PlannedModel& model) {
  std::vector<bool> free;
  for (const FusedGroup& group : model.fusion.groups) {
    free.push_back(model.graph.nodes[group.nodes.back()].op == OpId::kConcat);
  }
  return free;
}

void DropFreeCalls(PlannedModel& model) {
  for (size_t g = 0; g < model.tasks.calls.size(); ++g) {
    TaskCall& call = model.tasks.calls[g];
    if (IsControl(model.graph.nodes[model.fusion.groups[g].nodes[0]])) continue;
    CHECK(call.task >= 0 || call.host >= 0 || model.storage.copy_free[g])
        << "a concat that was to be free";
    if (!model.storage.copy_free[g] || call.task < 0) continue;
    model.tasks.tasks[call.task].weight -= model.fusion.groups[g].repeat;
    call.task = -1;
  }
}

}  // namespace

absl::StatusOr<PlannedModel> CutModel(Graph graph, const CutOptions& options) {
  const int opt_level = options.opt_level;
  PlannedModel model{.graph = std::move(graph)};
  if (options.refit) {
    MarkParameters(model.graph);
  } else {
    ForgetOrigins(model.graph);
  }
  RETURN_IF_ERROR(PrepareGraph(
      model.graph, {.opt_level = opt_level, .storage = options.storage, .passes = options.passes}));
  // Outputs before parts and fusion: from here on each output has a value that a node writes, which
  // storage may then place in the caller's memory.
  ASSIGN_OR_RETURN(
      FlatGraph flat,
      CutControl(std::move(model.graph), {.consumers = opt_level >= 1, .producers = opt_level >= 1},
                 [&](Graph& graph) {
                   RETURN_IF_ERROR(SeparateOutputs(graph));
                   return opt_level >= 2 ? SeparateParts(graph) : absl::OkStatus();
                 }));
  model.graph = std::move(flat.graph);
  model.fusion = std::move(flat.fusion);
  model.regions = std::move(flat.regions);
  return model;
}

DType WorksIn(const PlannedModel& model, size_t group) {
  const FusedGroup& fused = model.fusion.groups[group];
  const GraphNode& node = model.graph.nodes[fused.anchor >= 0 ? fused.anchor : fused.nodes.front()];
  const auto type_of = [&](ValueId value) { return model.graph.value(value).type.dtype; };
  for (const ValueId input : node.inputs) {
    const DType type = type_of(input);
    // Indices and conditions are of 32 and 64 bits, or booleans.
    if (IsFloat(type) || (SizeBytes(type) <= 2 && type != DType::kBool)) return type;
  }
  return type_of(node.outputs.front());
}

absl::Status AssignStorageBySchedule(
    PlannedModel& model, bool views,
    const std::function<absl::StatusOr<std::vector<ChosenSchedule>>(const TaskList&)>& choose) {
  // Schedules say which borders they want, storage says which they get, and a copy for the others
  // changes the tasks. The second round finds every copy as it was asked for; a third would mean
  // that the two disagree.
  for (int round = 0;; ++round) {
    const std::vector<bool> free = views ? FreeConcats(model) : std::vector<bool>();
    ASSIGN_OR_RETURN(model.tasks, ExtractTasks(model.graph, model.fusion, free));
    ASSIGN_OR_RETURN(model.chosen, choose(model.tasks));
    const std::vector<Reader> readers = FindReaders(model);
    StorageOptions options{
        .concat_views = views, .reshape_views = views, .fixed = AddressedValues(model.regions)};
    options.demands.emplace();
    for (const Reader& reader : readers) {
      // Then there is a copy for it, which goes row by row; copies get what they were made for.
      if (round == 0 && TearsLanes(model, reader.demand)) continue;
      options.demands->push_back(reader.demand);
    }
    model.storage = AssignStorage(model.graph, model.fusion, options);
    LowerAlignment(model.graph, model.regions, model.storage);
    ASSIGN_OR_RETURN(const int copies, CopyForReaders(model, readers));
    if (copies == 0) break;
    if (round > 0) return absl::InternalError("a copy cannot have the border it was made for");
  }
  DropFreeCalls(model);
  return absl::OkStatus();
}

CallLayout LayoutOfCall(const PlannedModel& model, const TaskCall& call) {
  CallLayout layout;
  // Its parameters are those of every form of the task.
  Program program = model.tasks.tasks[call.task].program;
  const std::vector<BufferId> parameters = ParametersOf(program);
  std::vector<ValueId> values = call.arguments;
  values.insert(values.end(), call.results.begin(), call.results.end());
  CHECK_EQ(values.size(), parameters.size());
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t& shift_bytes = layout.shift_bytes.emplace_back(0);
    Buffer& buffer = program.buffers[parameters[i]];
    // A constant lies as its schedule wants it.
    if (buffer.role == BufferRole::kConstant) continue;
    const ValuePlace& place = model.storage.places[values[i]];
    buffer.storage = place.storage;
    // A part of a larger value starts at the last well-aligned place up to its own first element:
    // then parts that differ in nothing but how far behind it they begin are a few kernels at most.
    const int64_t size = SizeBytes(buffer.dtype);
    const int64_t shift =
        place.storage.offset - model.storage.places[place.allocation].storage.offset;
    shift_bytes = shift * size / buffer.storage.alignment_bytes * buffer.storage.alignment_bytes;
    buffer.storage.offset -= shift_bytes / size;
  }
  layout.contract = ContractOf(program);
  return layout;
}

}  // namespace burnish
