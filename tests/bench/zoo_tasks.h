// A zoo model cut into tasks, as `tuner compile` cuts it.
#ifndef TESTS_BENCH_ZOO_TASKS_H_
#define TESTS_BENCH_ZOO_TASKS_H_

#include <string>

#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/fuse_pass.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct ZooTasks {
  Graph graph;  // Prepared.
  Fusion fusion;
  TaskList list;
};

// Ends the program where there is no such model. `type`: what layers are stored in
// (precision_pass.h).
ZooTasks MakeZooTasks(const std::string& model, DType type = DType::kF32);

// The same of an imported graph.
ZooTasks TasksOfGraph(Graph graph, DType type = DType::kF32);

}  // namespace burnish

#endif  // TESTS_BENCH_ZOO_TASKS_H_
