// Cuts a graph with control flow into groups, bodies and all, as one flat graph: the rest of the
// driver sees no bodies, only values that several iterations write.
#ifndef COMPILER_DRIVER_CUT_CONTROL_H_
#define COMPILER_DRIVER_CUT_CONTROL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/graph/assign_storage.h"
#include "compiler/graph/demanded_axes.h"
#include "compiler/graph/fuse_pass.h"
#include "compiler/graph/graph.h"

namespace burnish {

// A node of control in a flat graph. Values are of that graph. Captures are nowhere: inside of the
// region their values are those of the graph around it.
struct ControlRegion {
  struct State {
    ValueId initial, input, output, result;
    int stack = -1;  // The stacked output that `output` is too.
  };
  struct Slice {
    ValueId whole, part;
    bool backwards = false;
  };
  // What a branch gives: written by its first body or by its second.
  struct Choice {
    ValueId first, second, result;
  };
  std::string name;
  GraphNodeId node = -1;
  int parent = -1;  // The region around it, and in which of its bodies.
  int parent_body = 0;
  bool is_loop = true;
  int64_t count = 0;
  ValueId count_input = -1, condition = -1, next_condition = -1;
  std::vector<State> states;
  std::vector<Slice> slices;  // Read.
  std::vector<Slice> stacks;  // Written.
  std::vector<Choice> choices;
};

struct FlatGraph {
  Graph graph;  // Nodes in no order: groups have one. A node of control has its region's groups
                // before it.
  Fusion fusion;
  std::vector<ControlRegion> regions;  // One that is around another comes before it.
};

// `separate` makes one graph, or body, ready for Fuse.
absl::StatusOr<FlatGraph> CutControl(Graph graph, const FuseOptions& fuse,
                                     const std::function<absl::Status(Graph&)>& separate);

// Values that regions address by themselves: they lie densely, in memory of their own.
std::vector<ValueId> AddressedValues(const std::vector<ControlRegion>& regions);

// What regions read of values, and hand on.
ControlReads ReadsOf(const std::vector<ControlRegion>& regions);

// Tells the places of what an iteration reads or writes how little its addresses are aligned.
void LowerAlignment(const Graph& graph, const std::vector<ControlRegion>& regions,
                    StorageAssignment& storage);

// Steps of each region, where each group is a step that has no task -1.
struct StepRange {
  uint32_t first = 0, middle = 0, end = 0;
};
std::vector<StepRange> StepRanges(const std::vector<ControlRegion>& regions, const Fusion& fusion,
                                  const std::vector<bool>& is_step);

}  // namespace burnish

#endif  // COMPILER_DRIVER_CUT_CONTROL_H_
