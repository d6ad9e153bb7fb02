#include "compiler/graph/extract_tasks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/graph/call_parts.h"
#include "compiler/graph/control.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/te/canonicalize.h"

namespace burnish {
namespace {

// The number in a parameter's name "in3".
int NumberOf(const Buffer& buffer, absl::string_view prefix) {
  int number = -1;
  CHECK(absl::SimpleAtoi(absl::string_view(buffer.name).substr(prefix.size()), &number))
      << buffer.name;
  return number;
}

std::string GroupName(const Graph& graph, const FusedGroup& group) {
  return absl::StrJoin(group.nodes, "+", [&](std::string* out, GraphNodeId n) {
    absl::StrAppend(out, OpName(graph.nodes[n].op));
  });
}

int64_t FlopsOf(const Graph& graph, const FusedGroup& group) {
  int64_t flops = 0;
  for (GraphNodeId n : group.nodes) {
    const GraphNode& node = graph.nodes[n];
    flops += OperatorOf(node.op).flop_count(node.attributes, InputTypes(graph, node));
  }
  return flops;
}

}  // namespace

Program DefineGroup(const Graph& graph, const FusedGroup& group) {
  TeBuilder builder(GroupName(graph, group));
  std::map<ValueId, Tensor> tensors;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    const GraphValue& value = graph.value(group.inputs[i]);
    tensors[group.inputs[i]] =
        builder.Parameter(absl::StrCat("in", i), value.type,
                          value.data != nullptr ? BufferRole::kConstant : BufferRole::kInput);
  }
  std::map<ValueId, bool> inside;
  for (GraphNodeId n : group.nodes) {
    const GraphNode& node = graph.nodes[n];
    std::vector<ValueId> inputs = node.inputs;
    // a + b and b + a are one task: the value from inside the group comes first.
    const bool commutes = (node.op == OpId::kAdd || node.op == OpId::kMul) && inputs.size() == 2;
    if (commutes && inside.count(inputs[1]) > 0 && inside.count(inputs[0]) == 0) {
      std::swap(inputs[0], inputs[1]);
    }
    std::vector<Tensor> arguments;
    for (ValueId input : inputs) arguments.push_back(tensors.at(input));
    const std::vector<Tensor> results =
        OperatorOf(node.op).define(builder, node.attributes, arguments);
    CHECK_EQ(results.size(), node.outputs.size()) << node.op;
    for (size_t i = 0; i < results.size(); ++i) {
      tensors[node.outputs[i]] = results[i];
      inside[node.outputs[i]] = true;
    }
  }
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    builder.Output(absl::StrCat("out", i), tensors.at(group.outputs[i]),
                   graph.value(group.outputs[i]).type.dtype);
  }
  return builder.Build();
}

absl::StatusOr<TaskList> ExtractTasks(const Graph& graph, const Fusion& fusion,
                                      const std::vector<bool>& copy_free) {
  TaskList list;
  const std::vector<double> parts = PartsOfValues(graph);
  std::map<std::string, int> task_of;  // By workload text.
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    const FusedGroup& group = fusion.groups[g];
    TaskCall call;
    if ((g < copy_free.size() && copy_free[g]) || IsControl(graph.nodes[group.nodes[0]])) {
      list.calls.push_back(std::move(call));
      continue;
    }
    if (OperatorOf(graph.nodes[group.nodes[0]].op).fusion == FusionKind::kHost) {
      call = {.host = group.nodes[0],
              .arguments = graph.nodes[group.nodes[0]].inputs,
              .results = graph.nodes[group.nodes[0]].outputs};
      list.calls.push_back(std::move(call));
      continue;
    }
    Program program = Canonicalize(DefineGroup(graph, group));
    if (const absl::Status verified = Verify(program); !verified.ok()) {
      return absl::InternalError(
          absl::StrCat("task ", GroupName(graph, group), ": ", verified.message()));
    }
    for (const Buffer& buffer : program.buffers) {
      if (buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant) {
        call.arguments.push_back(group.inputs[NumberOf(buffer, "in")]);
      } else if (buffer.role == BufferRole::kOutput) {
        call.results.push_back(group.outputs[NumberOf(buffer, "out")]);
      }
    }
    std::string workload = PrintWorkload(program);
    const auto [found, is_new] = task_of.emplace(workload, static_cast<int>(list.tasks.size()));
    if (is_new) {
      list.tasks.push_back({.name = GroupName(graph, group),
                            .workload = std::move(workload),
                            .program = std::move(program),
                            .flop_count = FlopsOf(graph, group),
                            .is_looped = true});
    }
    call.task = found->second;
    list.tasks[call.task].weight += group.repeat;
    double& call_parts = list.tasks[call.task].call_parts;
    const double least = LeastParts(call.results, parts);
    call_parts = is_new ? least : std::min(call_parts, least);
    if (group.region < 0) list.tasks[call.task].is_looped = false;
    list.calls.push_back(std::move(call));
  }
  return list;
}

}  // namespace burnish
