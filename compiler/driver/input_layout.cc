#include "compiler/driver/input_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "compiler/ir/contract.h"

namespace burnish {
namespace {

// Of a shown input, whose axes callers size; empty: they size none of them, or it is no input.
std::vector<bool> SizedAxes(const Graph& graph, ValueId value) {
  const auto end = graph.inputs.begin() + static_cast<std::ptrdiff_t>(graph.shown_inputs());
  const auto input = std::find(graph.inputs.begin(), end, value);
  std::vector<bool> sized;
  for (const GraphInputAxis& axis : graph.input_axes) {
    if (input == end || axis.input != input - graph.inputs.begin()) continue;
    sized.resize(graph.value(value).type.shape.size());
    sized[axis.axis] = true;
  }
  return sized;
}

// By leading axis of `merged`, which has the axes of `shape` in groups, the number that is its
// stride. nullopt: that is no number, or rows are no rows.
std::optional<std::vector<int>> NumbersOf(const std::vector<int64_t>& shape,
                                          const std::vector<bool>& sized,
                                          const std::vector<int64_t>& merged) {
  const auto last_sized =
      static_cast<int>(std::find(sized.rbegin(), sized.rend(), true).base() - sized.begin() - 1);
  std::vector<int> numbers;
  size_t d = 0;  // Of `shape`.
  for (const int64_t extent : merged) {
    int stride = -1;
    for (int64_t product = 1; product < extent; ++d) {
      if (d == shape.size()) return std::nullopt;
      product *= shape[d];
      if (product > extent) return std::nullopt;
      if (shape[d] == 1) continue;
      // Positions of the axes before it would lie apart by what the run has of it.
      if (stride >= 0 && sized[d]) return std::nullopt;
      stride = static_cast<int>(d);
    }
    if (stride > last_sized) return std::nullopt;
    if (stride == last_sized) {
      // Behind it all is whole, and so is its own stride.
      numbers.push_back(-1);
      return numbers;
    }
    numbers.push_back(stride < 0 ? -1 : 1 + stride);  // Of one element, there is none.
  }
  return std::nullopt;
}

}  // namespace

std::vector<RunStrides> StridesOf(const PlannedModel& model, const TaskCall& call) {
  std::vector<RunStrides> all;
  const Program& program = model.tasks.tasks[call.task].program;
  const std::vector<BufferId> parameters = ParametersOf(program);
  for (size_t p = 0; p < call.arguments.size(); ++p) {
    const ValueId value = call.arguments[p];
    const std::vector<bool> sized = SizedAxes(model.graph, value);
    if (sized.empty()) continue;
    const std::vector<int64_t>& shape = model.graph.value(value).type.shape;
    const std::vector<int64_t>& merged = program.buffers[parameters[p]].shape;
    const ValuePlace& place = model.storage.places[value];
    if (place.allocation != value || !SameStorage(place.storage, DenseStorage(merged))) continue;
    const std::optional<std::vector<int>> numbers = NumbersOf(shape, sized, merged);
    if (!numbers.has_value() || numbers->size() == merged.size()) continue;
    all.push_back({.parameter = static_cast<int>(p), .numbers = *numbers});
  }
  return all;
}

}  // namespace burnish
