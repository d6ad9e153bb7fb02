#include "compiler/runtime/call_tensor.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compiler/runtime/kernel_manifest.h"

namespace burnish {
namespace {

std::string NumbersText(const int64_t* numbers, size_t count) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ",";
    text += std::to_string(numbers[i]);
  }
  return text + "]";
}

// Offsets in bytes from element 0: of the first byte of any element, and behind the last. nullopt:
// further away than any memory is.
struct Extent {
  int64_t first = 0, end = 0;
};
std::optional<Extent> ExtentOf(const TensorInfo& model, const int64_t* strides) {
  Extent extent;
  const int64_t element_bytes = ElementBytes(model.type);
  for (size_t axis = 0; axis < model.shape.size(); ++axis) {
    if (model.shape[axis] == 0) return Extent();
    int64_t reach = 0;
    int64_t& side = strides[axis] < 0 ? extent.first : extent.end;
    constexpr auto kFarthest = static_cast<int64_t>(kMemoryBytesMax);
    if (__builtin_mul_overflow(model.shape[axis] - 1, strides[axis], &reach) ||
        __builtin_mul_overflow(reach, element_bytes, &reach) || reach > kFarthest ||
        reach < -kFarthest) {
      return std::nullopt;
    }
    side += reach;  // At most kRankMax times: no overflow.
  }
  extent.end += element_bytes;
  return extent;
}

// Whether each element has a place of its own. Sufficient, and true of every view that slices and
// transposes make of a dense tensor: sorted by stride, an axis steps over all that is inside of it.
bool PlacesDiffer(const TensorInfo& model, const int64_t* strides) {
  std::vector<std::pair<uint64_t, int64_t>> axes;  // Stride, extent.
  for (size_t axis = 0; axis < model.shape.size(); ++axis) {
    if (model.shape[axis] == 0) return true;
    if (model.shape[axis] == 1) continue;
    axes.emplace_back(strides[axis] < 0 ? -strides[axis] : strides[axis], model.shape[axis]);
  }
  std::sort(axes.begin(), axes.end());
  uint64_t inside = 1;  // Elements from the first to the last of the axes so far.
  for (const auto& [stride, extent] : axes) {
    if (stride < inside) return false;
    inside += stride * static_cast<uint64_t>(extent - 1);  // ExtentOf has bounded it.
  }
  return true;
}

}  // namespace

std::string TypeText(ElementType type, const int64_t* shape, size_t rank) {
  return ElementTypeName(type) + NumbersText(shape, rank);
}

bool Overlap(const CallTensor& a, const CallTensor& b) {
  return a.begin < b.end && b.begin < a.end && a.begin != a.end && b.begin != b.end;
}

RuntimeOr<CallTensor> CheckCallTensor(const std::string& what, const TensorInfo& model,
                                      const GivenTensor& given, bool is_written) {
  const auto invalid = [&what](const std::string& text) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, what + ": " + text);
  };
  const size_t rank = model.shape.size();
  const bool same_shape =
      given.shape == nullptr || (given.rank == static_cast<int32_t>(rank) &&
                                 std::equal(model.shape.begin(), model.shape.end(), given.shape));
  if (given.type != model.type || !same_shape) {
    if (given.rank < 0 || given.rank > static_cast<int32_t>(kRankMax)) {
      return invalid("got rank " + std::to_string(given.rank) + ", want " + std::to_string(rank));
    }
    const std::string got = given.shape == nullptr ? TypeText(given.type, model.shape.data(), rank)
                                                   : TypeText(given.type, given.shape, given.rank);
    return invalid("got " + got + ", want " + TypeText(model.type, model.shape.data(), rank));
  }
  if (given.strides != nullptr && given.rank != static_cast<int32_t>(rank)) {
    return invalid("got " + std::to_string(given.rank) + " strides, want " + std::to_string(rank));
  }
  CallTensor tensor{.data = given.data};
  TensorInfo placed = DenseTensor("", model.type, model.shape);
  if (given.strides != nullptr) placed.strides.assign(given.strides, given.strides + rank);
  std::copy(placed.strides.begin(), placed.strides.end(), tensor.strides.begin());
  tensor.is_dense = placed.IsDense();
  tensor.has_strides = given.strides != nullptr;
  const std::optional<Extent> extent = ExtentOf(model, placed.strides.data());
  const std::string strides_text = "strides " + NumbersText(placed.strides.data(), rank);
  if (!extent.has_value()) return invalid("got " + strides_text + ", beyond any memory");
  if (extent->first == extent->end) return tensor;  // No elements: no memory is wanted.
  if (given.data == nullptr) return invalid("got no memory");
  if (given.size_bytes.has_value() &&
      (extent->first < 0 || static_cast<uint64_t>(extent->end) > *given.size_bytes)) {
    return invalid("got " + std::to_string(*given.size_bytes) + " bytes, but " +
                   TypeText(model.type, model.shape.data(), rank) + " with " + strides_text +
                   " lies in bytes " + std::to_string(extent->first) + " to " +
                   std::to_string(extent->end));
  }
  if (is_written && !PlacesDiffer(model, placed.strides.data())) {
    return invalid("got " + strides_text + ", by which elements may share a place");
  }
  tensor.begin = given.data + extent->first;
  tensor.end = given.data + extent->end;
  return tensor;
}

}  // namespace burnish
