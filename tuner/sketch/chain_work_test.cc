// What choosing schedules for long chains of elementwise operators takes, in pieces of memory that
// it asks for: as many on every machine.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/fuse_pass.h"
#include "compiler/graph/graph.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "compiler/te/operator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/default_schedule.h"

namespace {
std::atomic<int64_t> allocation_count = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocation_count;
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace burnish {
namespace {

const TensorType kType = {DType::kF32, {64, 64}};

// x = x + f(x), again and again.
absl::StatusOr<Graph> Chain(const std::string& f, int length) {
  Graph graph;
  ValueId x = AddInput(graph, "x", kType);
  for (int i = 0; i < length; ++i) {
    ASSIGN_OR_RETURN(const ValueId y, AddOp(graph, f, {x}));
    ASSIGN_OR_RETURN(x, AddOp(graph, "add", {x, y}));
  }
  graph.outputs.push_back(x);
  return graph;
}

// Pieces of memory that tasks and their default schedules ask for.
int64_t WorkOf(const Graph& graph) {
  absl::StatusOr<Target> target = ParseTarget("cpu:arch=znver3,threads=2");
  CHECK_OK(target);
  const DeviceModel device = DeviceModelOf(*target);
  const int64_t before = allocation_count;
  absl::StatusOr<TaskList> tasks = ExtractTasks(graph, Fuse(graph));
  CHECK_OK(tasks);
  for (const ExtractedTask& task : tasks->tasks) DefaultSchedules(task.program, device);
  return allocation_count - before;
}

// Functions of one float that need no attribute.
std::vector<std::string> Functions() {
  std::vector<std::string> names;
  for (const OperatorDef* def : AllOperators()) {
    if (def->fusion != FusionKind::kElementwise) continue;
    const auto types = def->infer(Attributes(), {kType});
    if (types.ok() && types->size() == 1 && (*types)[0] == kType) names.push_back(def->name());
  }
  return names;
}

// Softplus takes the most, 4.8 million. When all combinations of blocks' points were looked at, and
// canonicalization tried again what it had found too large, chains of forty took 9 to 15 million
// and more.
constexpr int64_t kWorkMax = 6'000'000;

TEST(ChainWorkTest, ChainsTakeWorkByTheirLength) {
  const std::vector<std::string> functions = Functions();
  EXPECT_GT(functions.size(), 25u);
  std::set<int64_t> seen;  // Work of short chains: functions of one structure take the same.
  for (const std::string& f : functions) {
    SCOPED_TRACE(f);
    ASSERT_OK_AND_ASSIGN(const Graph two, Chain(f, 2));
    if (!seen.insert(WorkOf(two)).second) continue;
    ASSERT_OK_AND_ASSIGN(const Graph twenty, Chain(f, 20));
    ASSERT_OK_AND_ASSIGN(const Graph forty, Chain(f, 40));
    const int64_t half = WorkOf(twenty), work = WorkOf(forty);
    EXPECT_LE(work, kWorkMax);
    // Twice as much and some more: the trees of twenty are smaller than those of forty may be.
    EXPECT_LE(static_cast<double>(work), 3.0 * static_cast<double>(half));
  }
  EXPECT_GT(seen.size(), 10u);
}

}  // namespace
}  // namespace burnish
