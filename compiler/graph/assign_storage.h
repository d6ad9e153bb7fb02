// Decides how every value that crosses groups lies in memory: borders (halos) that its consumers
// read instead of testing for padding, and views that make concat and reshape free.
#ifndef COMPILER_GRAPH_ASSIGN_STORAGE_H_
#define COMPILER_GRAPH_ASSIGN_STORAGE_H_

#include <vector>

#include "compiler/graph/fuse_pass.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct StorageOptions {
  bool borders = true;
  bool concat_views = true;
  bool reshape_views = true;
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
// packed. Borders: on channels-last inputs of convolutions and pools, as wide as the widest reader
// asks; 0, or -inf where only max pools ask. A reader that wants another value keeps its own test.
StorageAssignment AssignStorage(const Graph& graph, const Fusion& fusion,
                                const StorageOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_GRAPH_ASSIGN_STORAGE_H_
