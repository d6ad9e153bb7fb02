// Updates at places that the data says. In the order of the updates: where two meet without a
// reduction the last one stays, and sums do not depend on threads.
#include <algorithm>
#include <cstring>

#include "compiler/runtime/host/kernels.h"

namespace burnish::host {
namespace {

constexpr const char* kReductions[] = {"none", "add", "mul", "max", "min"};

RuntimeStatus CheckCommon(const HostSignature& call) {
  if (call.inputs.size() != 3) return Got(std::to_string(call.inputs.size()) + " inputs", "3");
  const HostType &data = call.inputs[0], &indices = call.inputs[1], &updates = call.inputs[2];
  if (data.shape.empty()) return Got("data " + Text(data), "1 dimension at least");
  if (!IsIndex(indices.type)) return Got("indices " + Text(indices), "i32 or i64");
  if (updates.type != data.type) {
    return Got("updates " + Text(updates) + " for data " + Text(data), "the same element type");
  }
  const std::string& reduction = call.Text("reduction");
  if (std::find(std::begin(kReductions), std::end(kReductions), reduction) ==
      std::end(kReductions)) {
    return Got("reduction \"" + reduction + "\"", "none, add, mul, max or min");
  }
  if (reduction != "none" && data.type == ElementType::kBool) {
    return Got("reduction \"" + reduction + "\" of bool", "numbers, or none");
  }
  return RuntimeStatus();
}

RuntimeOr<std::vector<HostType>> InferElements(const HostSignature& call) {
  RUNTIME_RETURN_IF_ERROR(CheckCommon(call));
  const HostType &data = call.inputs[0], &indices = call.inputs[1], &updates = call.inputs[2];
  RUNTIME_ASSIGN_OR_RETURN(const size_t axis, AxisOf(call.Number("axis"), data.shape.size()));
  bool fits = indices.shape.size() == data.shape.size() && indices.shape == updates.shape;
  for (size_t d = 0; fits && d < data.shape.size(); ++d) {
    fits = d == axis || indices.shape[d] <= data.shape[d];
  }
  if (!fits) {
    return Got("indices " + Text(indices) + " and updates " + Text(updates),
               "one shape, no larger than data " + Text(data) + " but along the axis");
  }
  return std::vector<HostType>{data};
}

RuntimeOr<std::vector<HostType>> InferNd(const HostSignature& call) {
  RUNTIME_RETURN_IF_ERROR(CheckCommon(call));
  const HostType &data = call.inputs[0], &indices = call.inputs[1], &updates = call.inputs[2];
  const auto depth = indices.shape.empty() ? int64_t{-1} : indices.shape.back();
  if (depth < 1 || depth > static_cast<int64_t>(data.shape.size())) {
    return Got("indices " + Text(indices),
               "1 to " + std::to_string(data.shape.size()) + " coordinates in the last dimension");
  }
  std::vector<int64_t> want(indices.shape.begin(), indices.shape.end() - 1);
  want.insert(want.end(), data.shape.begin() + depth, data.shape.end());
  if (updates.shape != want) {
    return Got("updates " + Text(updates), Text({updates.type, want}) + " for indices " +
                                               Text(indices) + " and data " + Text(data));
  }
  return std::vector<HostType>{data};
}

// Calls `visit` with how an old element and an update become the new one: chosen once, and not for
// each of millions of elements.
template <typename T, typename Visit>
void VisitReduction(const std::string& reduction, Visit visit) {
  if (reduction == "none") visit([](T, T update) { return update; });
  if (reduction == "add") visit([](T old, T update) { return WrappingAdd(old, update); });
  if (reduction == "mul") visit([](T old, T update) { return WrappingMul(old, update); });
  // What is no number stays, whichever of both it is.
  if (reduction == "max") {
    visit([](T old, T update) { return old < update || update != update ? update : old; });
  }
  if (reduction == "min") {
    visit([](T old, T update) { return update < old || update != update ? update : old; });
  }
}

// How many of the indices from `first` to below `end` are the first one again: at least 1.
int64_t RunLength(const HostType& indices, const uint8_t* places, int64_t first, int64_t end) {
  const auto count = [&](const auto* index) {
    int64_t i = first + 1;
    if (i == end || index[i] != index[first]) return int64_t{1};
    // Whole vectors are asked at a time.
    for (constexpr int64_t kBlock = 16; i + kBlock <= end; i += kBlock) {
      bool differs = false;
      for (int64_t j = i; j < i + kBlock; ++j) differs |= index[j] != index[first];
      if (differs) break;
    }
    while (i < end && index[i] == index[first]) ++i;
    return i - first;
  };
  return indices.type == ElementType::kI32 ? count(reinterpret_cast<const int32_t*>(places))
                                           : count(reinterpret_cast<const int64_t*>(places));
}

// Rows, one after the other: of the last dimension, with all before it that indices and data have
// alike, but for the axis. False: an index was out of bounds.
template <typename T, typename Reduce>
bool ScatterRows(const HostSignature& call, size_t axis, const uint8_t* places, const T* updates,
                 T* to, Reduce reduced) {
  const HostType &data = call.inputs[0], &indices = call.inputs[1];
  const size_t rank = data.shape.size();
  std::vector<int64_t> strides(rank, 1);  // Of data.
  for (size_t d = rank - 1; d-- > 0;) strides[d] = strides[d + 1] * data.shape[d + 1];
  size_t last = rank - 1;  // Where the row begins.
  while (last > axis + 1 && data.shape[last] == indices.shape[last]) --last;
  const bool is_along_axis = axis == rank - 1;
  const int64_t row = Count(
                    {indices.shape.begin() + static_cast<int64_t>(last), indices.shape.end()}),
                rows = row == 0 ? 0 : Count(indices.shape) / row;
  bool inside = true;
  std::vector<int64_t> at(rank, 0);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t begin = 0;
    for (size_t d = 0; d < last; ++d) begin += d == axis ? 0 : at[d] * strides[d];
    const int64_t end = (r + 1) * row;
    for (int64_t i = r * row, count = 1; i < end; i += count) {
      // Exporters spread one index over whole rows, which then lie side by side.
      count = is_along_axis ? 1 : RunLength(indices, places, i, end);
      const int64_t index = IndexAt(indices.type, places, i, data.shape[axis]);
      inside = inside && index >= 0;
      if (index >= 0) {
        T* const element = to + begin + index * strides[axis];
        for (int64_t k = 0; k < count; ++k) element[k] = reduced(element[k], updates[i + k]);
      }
      begin += is_along_axis ? 0 : count;
    }
    for (size_t d = last; d-- > 0;) {
      if (++at[d] < indices.shape[d]) break;
      at[d] = 0;
    }
  }
  return inside;
}

int32_t RunElements(const HostSignature& call, std::span<const uint8_t* const> inputs,
                    std::span<uint8_t* const> outputs) {
  const HostType& data = call.inputs[0];
  const auto rank = static_cast<int64_t>(data.shape.size());
  const int64_t given = call.Number("axis");
  const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
  std::memcpy(outputs[0], inputs[0], Count(data.shape) * ElementBytes(data.type));
  bool inside = true;
  VisitNumber(data.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    VisitReduction<T>(call.Text("reduction"), [&](auto reduced) {
      inside = ScatterRows(call, axis, inputs[1], reinterpret_cast<const T*>(inputs[2]),
                           reinterpret_cast<T*>(outputs[0]), reduced);
    });
  });
  return inside ? BURNISH_KERNEL_OK : BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS;
}

int32_t RunNd(const HostSignature& call, std::span<const uint8_t* const> inputs,
              std::span<uint8_t* const> outputs) {
  const HostType &data = call.inputs[0], &indices = call.inputs[1];
  const int64_t depth = indices.shape.back();
  const int64_t rows = Count(indices.shape) / depth;
  const int64_t size = Count({data.shape.begin() + depth, data.shape.end()});
  std::memcpy(outputs[0], inputs[0], Count(data.shape) * ElementBytes(data.type));
  int32_t code = BURNISH_KERNEL_OK;
  VisitNumber(data.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* to = reinterpret_cast<T*>(outputs[0]);
    const T* updates = reinterpret_cast<const T*>(inputs[2]);
    VisitReduction<T>(call.Text("reduction"), [&](auto reduced) {
      for (int64_t row = 0; row < rows; ++row) {
        int64_t place = 0;
        bool inside = true;
        for (int64_t d = 0; d < depth; ++d) {
          const int64_t index = IndexAt(indices.type, inputs[1], row * depth + d, data.shape[d]);
          inside = inside && index >= 0;
          place = place * data.shape[d] + index;
        }
        if (!inside) code = BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS;
        for (int64_t i = 0; i < size && inside; ++i) {
          T& element = to[place * size + i];
          element = reduced(element, updates[row * size + i]);
        }
      }
    });
  });
  return code;
}

}  // namespace

HostKernel ScatterElements() {
  return {
      "scatter_elements", {{"axis", 0}, {"reduction", 0, "none"}}, &InferElements, &RunElements};
}

HostKernel ScatterNd() { return {"scatter_nd", {{"reduction", 0, "none"}}, &InferNd, &RunNd}; }

}  // namespace burnish::host
