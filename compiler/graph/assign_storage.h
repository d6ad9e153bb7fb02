// Decides how every value that crosses groups lies in memory: borders (halos) that its consumers
// read instead of testing for padding, and views that make concat and reshape free.
#ifndef COMPILER_GRAPH_ASSIGN_STORAGE_H_
#define COMPILER_GRAPH_ASSIGN_STORAGE_H_

#include <optional>
#include <utility>
#include <vector>

#include "compiler/graph/fuse_pass.h"
#include "compiler/graph/graph.h"

namespace burnish {

// A reader of `value` wants this border around it.
struct BorderDemand {
  ValueId value = -1;
  std::vector<std::pair<int64_t, int64_t>> border;  // One pair a dimension.
  double border_value = 0;
};

struct StorageOptions {
  bool borders = true;
  // What the chosen schedules ask for. Nullopt: as wide as the definitions of convolutions and
  // pools could use.
  std::optional<std::vector<BorderDemand>> demands = std::nullopt;
  bool concat_views = true;
  bool reshape_views = true;
  // Values that somebody else addresses: they lie as outputs of the graph do.
  std::vector<ValueId> fixed = {};
};

struct ValuePlace {
  // The value whose memory this one is part of; itself where it has its own. Memory lives from the
  // first write to the last read of any value in it.
  ValueId allocation = -1;
  Storage storage;  // A view of that allocation.
};

struct StorageAssignment {
  std::vector<ValuePlace> places;  // By value. Of a value inside a group: not used by anything.
  std::vector<bool> copy_free;     // By group: a concat or reshape that storage made a no-op.
};

// Graph inputs, outputs and constants are dense, without border: they are the caller's memory, or
// packed. A concat is free where each part is written by a node, is no output, and has no other
// place: parts lie in the whole, and that may be part of another concat along any axis, or an
// output.
//
// Borders are as wide as the widest reader asks; 0 where anyone asks for that, else the least
// value: a reader that wants another one gets none. So does one that wants a border where the
// whole's other parts lie. By default channels-last inputs of convolutions and pools ask, for 0, or
// max pools for -inf.
StorageAssignment AssignStorage(const Graph& graph, const Fusion& fusion,
                                const StorageOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_GRAPH_ASSIGN_STORAGE_H_
