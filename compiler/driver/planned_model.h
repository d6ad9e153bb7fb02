// A model on its way through the driver: the fused graph, its tasks, the schedule of each, and how
// every value lies in memory.
#ifndef COMPILER_DRIVER_PLANNED_MODEL_H_
#define COMPILER_DRIVER_PLANNED_MODEL_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/driver/cut_control.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/assign_storage.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/fuse_pass.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/precision_pass.h"
#include "compiler/graph/prepare.h"

namespace burnish {

// A schedule that the driver has applied to its task.
struct ChosenSchedule {
  KnownSchedule schedule;
  // With default storage, except for what the trace itself asked for. Parameters in call order.
  Program scheduled;
};

// What the pack function of a call writes: a form of a constant that another call reads, too.
struct PackedOutput {
  size_t group = 0;  // Of the fusion.
  int ordinal = 0;   // Among what the function writes for the kernel.
};

struct PlannedModel {
  Graph graph;  // Flat: cut_control.h.
  Fusion fusion;
  TaskList tasks;                      // Calls with task -1 need no kernel, or a host kernel.
  std::vector<ChosenSchedule> chosen;  // By task.
  StorageAssignment storage;
  std::vector<ControlRegion> regions = {};
  // Constants that a call takes as another call's pack function makes them (share_constants.h): by
  // group and argument.
  std::map<std::pair<size_t, size_t>, PackedOutput> packed_arguments;
};

struct CutOptions {
  int opt_level = 3;  // 0: no passes but what is needed, 1: fusion, 2: layout, too.
  // Constants remember how they came from the model's parameters (constant_origin.h).
  bool refit = false;
  FloatStorage storage = {};  // Of f32 values between operators.
  PassOptions passes = {};
};
// Runs the passes and cuts the graph into groups. Afterwards each graph output is a value of its
// own that a node writes, and from level 2 on so is each part of a concat.
absl::StatusOr<PlannedModel> CutModel(Graph graph, const CutOptions& options);

// The type in which a group reads what it works on: its anchor's first operand of a type that
// numbers are computed in.
DType WorksIn(const PlannedModel& model, size_t group);

// Assigns storage as the chosen schedules ask. `views` (of a model that was cut at level 2 or
// more): concats are storage, and never tasks. `choose(tasks)` gives the schedules of all tasks. A
// schedule that asks for a border which its input cannot have (the model's own input, one of which
// others want another border, a part of a concat beside other parts, one whose vectors would go
// across the border) gets a copy of that input, as a task of its own: then `choose` is asked once
// more. Fills in everything after `fusion`.
absl::Status AssignStorageBySchedule(
    PlannedModel& model, bool views,
    const std::function<absl::StatusOr<std::vector<ChosenSchedule>>(const TaskList&)>& choose);

// The contract of one call: storages of its parameters as the values lie, and the places' shifts.
struct CallLayout {
  std::string contract;
  // By argument, then result: bytes from the start of the value's allocation to what the kernel
  // sees as the start of the parameter.
  std::vector<int64_t> shift_bytes;
};
CallLayout LayoutOfCall(const PlannedModel& model, const TaskCall& call);

}  // namespace burnish

#endif  // COMPILER_DRIVER_PLANNED_MODEL_H_
