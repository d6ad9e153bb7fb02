// Cuts a fused graph into tasks: one tensor program for each group, equal programs counted once.
#ifndef COMPILER_GRAPH_EXTRACT_TASKS_H_
#define COMPILER_GRAPH_EXTRACT_TASKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/fuse_pass.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct ExtractedTask {
  std::string name;      // For people: operators in order, "conv+add+relu".
  std::string workload;  // Canonical text; the task's identity.
  Program program;       // Canonical, with default nests; parameters in call order.
  int64_t weight = 0;    // How often the model's groups run this task.
  int64_t flop_count = 0;
  // All calls are in bodies of control flow: an iteration finds the constants where the one before
  // has left them, and not in memory. So does a loop of one iteration, which is what a recurrent
  // model has that is called for each step of a stream.
  bool is_looped = false;
  // The least that a call wants is one part in so many, where sizes of a run decide: 1 wants all.
  double call_parts = 1;
};

// How a group calls its task.
struct TaskCall {
  int task = -1;                   // -1: the group needs no kernel, or a host kernel.
  GraphNodeId host = -1;           // The node that is a host kernel (te/host_operator.h).
  std::vector<ValueId> arguments;  // One for each parameter of the program that is no output.
  std::vector<ValueId> results;    // One for each output of the program.
};

struct TaskList {
  std::vector<ExtractedTask> tasks;  // By first use.
  std::vector<TaskCall> calls;       // One a group of the fusion, in its order.
};

// The program of one group before canonicalization. Parameters are named in0.. and out0.., after
// the group's inputs and outputs; a parameter that no output needs is dropped.
Program DefineGroup(const Graph& graph, const FusedGroup& group);

// `copy_free`: groups that need no kernel, one flag a group; empty for none. Errors: INTERNAL where
// a program does not verify (a bug in an operator's definition).
absl::StatusOr<TaskList> ExtractTasks(const Graph& graph, const Fusion& fusion,
                                      const std::vector<bool>& copy_free = {});

}  // namespace burnish

#endif  // COMPILER_GRAPH_EXTRACT_TASKS_H_
