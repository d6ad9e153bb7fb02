// Boxes of each class without those that overlap a better one. Order, ties and arithmetic are ONNX
// Runtime's, in f32: an overlap at the threshold decides about a box.
#include <algorithm>
#include <limits>

#include "compiler/runtime/host/kernels.h"

namespace burnish::host {
namespace {

// Inputs: boxes [batch, n, 4], scores [batch, classes, n], and one element each: how many a class
// may have, the overlap above which a box goes, the score that a box must be above, how many boxes
// hold. Outputs: [at most all, 3] of batch, class, box; count.
enum Input : size_t { kBoxes, kScores, kLimit, kOverlap, kThreshold, kHolding, kInputs };

RuntimeStatus CheckNumber(const HostSignature& call, size_t i, ElementType type) {
  const HostType& got = call.inputs[i];
  if (got.type == type && Count(got.shape) == 1) return RuntimeStatus();
  return Got("input " + std::to_string(i) + " " + Text(got),
             "one element of " + std::string(ElementTypeName(type)));
}

RuntimeOr<std::vector<HostType>> Infer(const HostSignature& call) {
  if (call.inputs.size() != kInputs) {
    return Got(std::to_string(call.inputs.size()) + " inputs", std::to_string(kInputs));
  }
  const HostType &boxes = call.inputs[kBoxes], &scores = call.inputs[kScores];
  if (boxes.type != ElementType::kF32 || scores.type != ElementType::kF32 ||
      boxes.shape.size() != 3 || scores.shape.size() != 3 || boxes.shape[2] != 4 ||
      boxes.shape[0] != scores.shape[0] || boxes.shape[1] != scores.shape[2]) {
    return Got("boxes " + Text(boxes) + " and scores " + Text(scores),
               "f32[batch,n,4] and f32[batch,classes,n]");
  }
  for (const size_t i : {kLimit, kHolding}) {
    RUNTIME_RETURN_IF_ERROR(CheckNumber(call, i, ElementType::kI64));
  }
  for (const size_t i : {kOverlap, kThreshold}) {
    RUNTIME_RETURN_IF_ERROR(CheckNumber(call, i, ElementType::kF32));
  }
  const int64_t most = call.Number("most");
  if (most < 1) return Got("most=" + std::to_string(most), "1 at least");
  const int64_t bound = scores.shape[0] * scores.shape[1] * std::min(most, boxes.shape[1]);
  return std::vector<HostType>{{ElementType::kI64, {BoundOf(bound), 3}}, {ElementType::kI64, {}}};
}

struct Box {
  float y_min, x_min, y_max, x_max;
};

Box BoxOf(const float* b, bool centers) {
  if (centers) {  // x, y, width, height
    const float w = b[2] / 2, h = b[3] / 2;
    return {b[1] - h, b[0] - w, b[1] + h, b[0] + w};
  }
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

bool Overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min);
  const float height = std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min);
  if (!(width > 0) || !(height > 0)) return false;
  const float both = width * height;
  const float area_a = (a.x_max - a.x_min) * (a.y_max - a.y_min);
  const float area_b = (b.x_max - b.x_min) * (b.y_max - b.y_min);
  const float either = area_a + area_b - both;
  if (both <= 0 || area_a <= 0 || area_b <= 0 || either <= 0) return false;
  return both / either > threshold;
}

int32_t Run(const HostSignature& call, std::span<const uint8_t* const> inputs,
            std::span<uint8_t* const> outputs) {
  const auto* const boxes = reinterpret_cast<const float*>(inputs[kBoxes]);
  const auto* const scores = reinterpret_cast<const float*>(inputs[kScores]);
  const int64_t batches = call.inputs[kScores].shape[0], classes = call.inputs[kScores].shape[1],
                stride = call.inputs[kBoxes].shape[1];
  const auto integer = [&](size_t i) { return *reinterpret_cast<const int64_t*>(inputs[i]); };
  const auto number = [&](size_t i) { return *reinterpret_cast<const float*>(inputs[i]); };
  const float overlap = number(kOverlap);
  if (!(overlap >= 0 && overlap <= 1)) return kHostValueOutOfRange;
  const int64_t n = std::clamp<int64_t>(integer(kHolding), 0, stride);
  const int64_t limit = std::clamp<int64_t>(integer(kLimit), 0, call.Number("most"));
  const bool centers = call.Number("center_point_box") != 0;
  auto* const selected = reinterpret_cast<int64_t*>(outputs[0]);
  std::fill_n(selected, Count(call.outputs[0].shape), 0);
  int64_t found = 0;
  std::vector<int64_t> order;
  std::vector<Box> kept;
  for (int64_t c = 0; c < batches * classes; ++c) {
    const float* const score = scores + c * stride;
    order.clear();
    kept.clear();
    for (int64_t i = 0; i < n; ++i) {
      if (score[i] > number(kThreshold)) order.push_back(i);  // No NaN is.
    }
    std::sort(order.begin(), order.end(), [score](int64_t a, int64_t b) {
      return score[a] != score[b] ? score[a] > score[b] : a < b;
    });
    for (const int64_t i : order) {
      if (static_cast<int64_t>(kept.size()) == limit) break;
      const Box box = BoxOf(boxes + (c / classes * stride + i) * 4, centers);
      const auto overlaps = [&](const Box& better) { return Overlaps(box, better, overlap); };
      if (std::any_of(kept.begin(), kept.end(), overlaps)) continue;
      kept.push_back(box);
      const int64_t row[3] = {c / classes, c % classes, i};
      std::copy_n(row, 3, selected + 3 * found++);
    }
  }
  *reinterpret_cast<int64_t*>(outputs[1]) = found;
  return BURNISH_KERNEL_OK;
}

}  // namespace

HostKernel NonMaxSuppression() {
  return {"non_max_suppression",
          {{"center_point_box", 0}, {"most", std::numeric_limits<int32_t>::max()}},
          &Infer,
          &Run};
}

}  // namespace burnish::host
