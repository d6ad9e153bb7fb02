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

// Writes `count` updates from `to` on.
template <typename T>
void Update(const std::string& reduction, T* to, const T* updates, int64_t count) {
  const auto each = [&](auto reduced) {
    for (int64_t i = 0; i < count; ++i) to[i] = reduced(to[i], updates[i]);
  };
  if (reduction == "none") each([](T, T update) { return update; });
  if (reduction == "add") each([](T old, T update) { return WrappingAdd(old, update); });
  if (reduction == "mul") each([](T old, T update) { return WrappingMul(old, update); });
  if (reduction == "max") each([](T old, T update) { return std::max(old, update); });
  if (reduction == "min") each([](T old, T update) { return std::min(old, update); });
}

int32_t RunElements(const HostSignature& call, std::span<const uint8_t* const> inputs,
                    std::span<uint8_t* const> outputs) {
  const HostType &data = call.inputs[0], &indices = call.inputs[1];
  const auto rank = data.shape.size();
  const int64_t given = call.Number("axis");
  const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(rank) : given);
  std::memcpy(outputs[0], inputs[0], Count(data.shape) * ElementBytes(data.type));
  const std::string& reduction = call.Text("reduction");
  std::vector<int64_t> strides(rank, 1);  // Of data.
  for (size_t d = rank - 1; d-- > 0;) strides[d] = strides[d + 1] * data.shape[d + 1];
  int32_t code = BURNISH_KERNEL_OK;
  VisitNumber(data.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* to = reinterpret_cast<T*>(outputs[0]);
    const T* updates = reinterpret_cast<const T*>(inputs[2]);
    std::vector<int64_t> at(rank, 0);
    for (int64_t i = 0; i < Count(indices.shape); ++i) {
      const int64_t index = IndexAt(indices.type, inputs[1], i, data.shape[axis]);
      if (index < 0) code = BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS;
      int64_t place = std::max<int64_t>(index, 0) * strides[axis];
      for (size_t d = 0; d < rank; ++d) place += d == axis ? 0 : at[d] * strides[d];
      if (index >= 0) Update(reduction, to + place, updates + i, 1);
      for (size_t d = rank; d-- > 0;) {
        if (++at[d] < indices.shape[d]) break;
        at[d] = 0;
      }
    }
  });
  return code;
}

int32_t RunNd(const HostSignature& call, std::span<const uint8_t* const> inputs,
              std::span<uint8_t* const> outputs) {
  const HostType &data = call.inputs[0], &indices = call.inputs[1];
  const int64_t depth = indices.shape.back();
  const int64_t rows = Count(indices.shape) / depth;
  const int64_t size = Count({data.shape.begin() + depth, data.shape.end()});
  std::memcpy(outputs[0], inputs[0], Count(data.shape) * ElementBytes(data.type));
  const std::string& reduction = call.Text("reduction");
  int32_t code = BURNISH_KERNEL_OK;
  VisitNumber(data.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* to = reinterpret_cast<T*>(outputs[0]);
    const T* updates = reinterpret_cast<const T*>(inputs[2]);
    for (int64_t row = 0; row < rows; ++row) {
      int64_t place = 0;
      bool inside = true;
      for (int64_t d = 0; d < depth; ++d) {
        const int64_t index = IndexAt(indices.type, inputs[1], row * depth + d, data.shape[d]);
        inside = inside && index >= 0;
        place = place * data.shape[d] + index;
      }
      if (!inside) code = BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS;
      if (inside) Update(reduction, to + place * size, updates + row * size, size);
    }
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
