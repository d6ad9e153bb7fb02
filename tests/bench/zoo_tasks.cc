#include "tests/bench/zoo_tasks.h"

#include <utility>

#include "base/check.h"
#include "compiler/frontend/zoo.h"
#include "compiler/graph/assign_storage.h"
#include "compiler/graph/prepare.h"

namespace burnish {

ZooTasks MakeZooTasks(const std::string& model, DType type) {
  auto graph = BuildZooModel(model);
  CHECK_OK(graph);
  return TasksOfGraph(*std::move(graph), type);
}

ZooTasks TasksOfGraph(Graph graph, DType type) {
  CHECK_OK(PrepareGraph(graph, {.storage = {.type = type}}));
  Fusion fusion = Fuse(graph);
  const StorageAssignment storage = AssignStorage(graph, fusion);
  auto tasks = ExtractTasks(graph, fusion, storage.copy_free);
  CHECK_OK(tasks);
  return {std::move(graph), std::move(fusion), *std::move(tasks)};
}

}  // namespace burnish
