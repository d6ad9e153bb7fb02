#include "compiler/driver/share_packs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/ir/contract.h"
#include "compiler/ir/packed_shapes.h"
#include "db/stored_trace.h"

namespace burnish {
namespace {

// Of what a set of tasks shares. Below it another form costs less than a page or two of the file.
constexpr int64_t kSharedBytesMin = int64_t{256} << 10;
// How much longer all readers together may take by the cost model, whose aim is to be within 0.8 to
// 1.25 of what is measured. Small levels may lose much: they are little of the whole.
constexpr double kLongerMax = 0.05;

int64_t BytesOf(const Buffer& buffer) {
  return ElementCount(buffer.shape) * SizeBytes(buffer.dtype);
}

// Bytes of the constants that exactly these tasks read, by the tasks.
std::map<std::set<int>, int64_t> SharedBytes(const TaskList& tasks,
                                             absl::Span<const Program> definitions) {
  struct Constant {
    std::set<int> readers;
    int64_t bytes = 0;
  };
  std::map<ValueId, Constant> constants;
  for (const TaskCall& call : tasks.calls) {
    if (call.task < 0) continue;
    const Program& definition = definitions[call.task];
    const std::vector<BufferId> parameters = ParametersOf(definition);
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const Buffer& buffer = definition.buffers[parameters[i]];
      if (buffer.role != BufferRole::kConstant) continue;
      Constant& constant = constants[call.arguments[i]];
      constant.readers.insert(call.task);
      constant.bytes = BytesOf(buffer);
    }
  }
  std::map<std::set<int>, int64_t> shared;
  for (const auto& [value, constant] : constants) {
    if (constant.readers.size() > 1) shared[constant.readers] += constant.bytes;
  }
  return shared;
}

// Of the model's time, where the task takes `ns` instead.
double LostNs(const KnownSchedule& own, double ns, const ExtractedTask& task) {
  return std::max(0.0, ns - own.estimated_ns) * static_cast<double>(task.weight);
}

}  // namespace

std::vector<SharedPack> SharePacks(const TaskList& tasks, absl::Span<const Program> definitions,
                                   absl::Span<const ChosenSchedule> chosen, ScheduleSource& source,
                                   const Target& target) {
  std::vector<SharedPack> shared;
  std::set<int> decided;
  for (const auto& [readers, bytes] : SharedBytes(tasks, definitions)) {
    if (bytes < kSharedBytesMin) continue;
    const auto ns_of = [&](int task) {
      return chosen[task].schedule.estimated_ns * static_cast<double>(tasks.tasks[task].weight);
    };
    // Those that take longest keep their own schedules.
    std::vector<int> order(readers.begin(), readers.end());
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return std::pair(-ns_of(a), a) < std::pair(-ns_of(b), b); });
    double left_ns = 0;  // That may be lost.
    for (const int task : order) left_ns += kLongerMax * ns_of(task);
    std::vector<int> owners;
    for (const int task : order) {
      const KnownSchedule& own = chosen[task].schedule;
      const PackedShapes shapes = PackedShapesOf(chosen[task].scheduled);
      if (shapes.empty() || decided.contains(task)) continue;
      const bool has_form = std::any_of(owners.begin(), owners.end(), [&](int owner) {
        return PackedShapesOf(chosen[owner].scheduled) == shapes;
      });
      if (has_form) continue;
      std::optional<SharedPack> best;
      for (const int owner : owners) {
        if (own.origin != ScheduleOrigin::kDefault || own.estimated_ns <= 0) break;
        const std::string& trace = chosen[owner].schedule.trace;
        const absl::StatusOr<double> ns = source.Estimate(tasks.tasks[task], trace, target);
        if (!ns.ok() || LostNs(own, *ns, tasks.tasks[task]) > left_ns) continue;
        if (best.has_value() && best->schedule.estimated_ns <= *ns) continue;
        const absl::StatusOr<Program> scheduled = ApplyStoredTrace(trace, definitions[task]);
        if (!scheduled.ok() ||
            PackedShapesOf(*scheduled) != PackedShapesOf(chosen[owner].scheduled)) {
          continue;
        }
        best = SharedPack{.task = task,
                          .schedule = {.trace = trace,
                                       .origin = ScheduleOrigin::kDefault,
                                       .estimated_ns = *ns,
                                       .numerics = chosen[owner].schedule.numerics}};
      }
      decided.insert(task);
      if (best.has_value()) {
        left_ns -= LostNs(own, best->schedule.estimated_ns, tasks.tasks[task]);
        shared.push_back(*std::move(best));
      } else {
        owners.push_back(task);
      }
    }
  }
  return shared;
}

}  // namespace burnish
