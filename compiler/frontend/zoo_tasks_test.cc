// Which tasks the zoo's models are cut into, by the names that databases know them by.
//
// A task is named by the SHA-256 of its workload text. A pass that fuses, turns or orders nodes in
// another way gives other texts, and every record under the old ones is lost to the model, without
// an error. Where that is meant, `./dev golden compiler/frontend` writes the new list;
// `graph_main MODEL --stage=workloads` before and after shows what changed.
#include "absl/strings/str_cat.h"
#include "base/golden.h"
#include "base/sha256.h"
#include "base/status_matchers.h"
#include "compiler/frontend/zoo.h"
#include "compiler/graph/assign_storage.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/fuse_pass.h"
#include "compiler/graph/prepare.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// One line a task, in the model's order: uses, name, the first 16 digits of the workload's name.
std::string TaskLines(const TaskList& list) {
  std::string lines;
  for (const ExtractedTask& task : list.tasks) {
    absl::StrAppend(&lines, task.weight, " ", task.name, " ",
                    Sha256Hex(task.workload).substr(0, 16), "\n");
  }
  return lines;
}

TEST(ZooTasksTest, ModelsAreCutIntoTheTasksThatAreOnRecord) {
  std::string got;
  for (const std::string& name : ZooModelNames()) {
    ASSERT_OK_AND_ASSIGN(Graph graph, BuildZooModel(name));
    ASSERT_THAT(PrepareGraph(graph), IsOk());
    const Fusion fusion = Fuse(graph);
    const StorageAssignment storage = AssignStorage(graph, fusion);
    ASSERT_OK_AND_ASSIGN(const TaskList list, ExtractTasks(graph, fusion, storage.copy_free));
    absl::StrAppend(&got, "# ", name, "\n", TaskLines(list));
  }
  EXPECT_TRUE(MatchesGolden("compiler/frontend/testdata/zoo_tasks.txt", got));
}

}  // namespace
}  // namespace burnish
