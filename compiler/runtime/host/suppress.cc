// Boxes of each class without those that overlap a better one. Order, ties and arithmetic are ONNX
// Runtime's, in f32: an overlap at the threshold decides about a box.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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
  float y_min, x_min, y_max, x_max, area;

  // False: overlaps none, as it has no inside, or NaN for a side.
  bool MayOverlap() const { return x_min < x_max; }
};

Box BoxOf(const float* b, bool centers) {
  Box box = {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3]),
             0};
  if (centers) {  // x, y, width, height
    const float w = b[2] / 2, h = b[3] / 2;
    box = {b[1] - h, b[0] - w, b[1] + h, b[0] + w, 0};
  }
  box.area = (box.x_max - box.x_min) * (box.y_max - box.y_min);
  return box;
}

bool Overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min);
  const float height = std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min);
  if (!(width > 0) || !(height > 0)) return false;
  const float both = width * height;
  const float either = a.area + b.area - both;
  if (both <= 0 || a.area <= 0 || b.area <= 0 || either <= 0) return false;
  return both / either > threshold;
}

// The boxes that stay, by where they lie along x: a box is compared with those alone that share
// some of x with it. Detectors that have classes in one list shift each class to a place of its
// own.
class KeptBoxes {
 public:
  // Forgets those of before. Boxes like these will come: what is beyond them shares the first or
  // the last strip.
  void Begin(const std::vector<Box>& boxes) {
    float least = std::numeric_limits<float>::max(),
          greatest = std::numeric_limits<float>::lowest();
    double widths = 0;
    for (const Box& box : boxes) {
      if (!box.MayOverlap()) continue;
      least = std::min(least, box.x_min);
      greatest = std::max(greatest, box.x_max);
      widths += box.x_max - box.x_min;
    }
    // As wide as the boxes on average, so that all of them together lie in two or three strips for
    // each box.
    const double count = static_cast<double>(boxes.size()), range = double{greatest} - least;
    const double strips = std::min({range * count / widths, count, double{kStripsMax}});
    strip_count_ = strips > 1 ? static_cast<int>(strips) : 1;  // 1 for NaN.
    first_ = least;
    strips_per_x_ = static_cast<float>(strip_count_ / range);
    if (!std::isnormal(strips_per_x_)) strip_count_ = 1;  // Times infinity it is no NaN.
    if (strips_.size() < static_cast<size_t>(strip_count_)) strips_.resize(strip_count_);
    for (int i = 0; i < strip_count_; ++i) {
      strips_[i].beginning.clear();
      strips_[i].reaching.clear();
    }
    count_ = 0;
  }

  int64_t count() const { return count_; }

  bool AnyOverlaps(const Box& box, float threshold) const {
    if (!box.MayOverlap()) return false;
    const auto overlaps = [&](const Box& kept) { return Overlaps(box, kept, threshold); };
    const auto any = [&](const std::vector<Box>& kept) {
      return std::any_of(kept.begin(), kept.end(), overlaps);
    };
    // What shares some of x with it is there where it begins, or begins further on.
    const int begin = StripOf(box.x_min), last = StripOf(box.x_max);
    if (any(strips_[begin].reaching)) return true;
    for (int i = begin + 1; i <= last; ++i) {
      if (any(strips_[i].beginning)) return true;
    }
    return false;
  }

  void Add(const Box& box) {
    ++count_;
    if (!box.MayOverlap()) return;
    const int begin = StripOf(box.x_min), last = StripOf(box.x_max);
    strips_[begin].beginning.push_back(box);
    for (int i = begin; i <= last; ++i) strips_[i].reaching.push_back(box);
  }

 private:
  // More would take longer to forget than boxes take to compare.
  static constexpr int kStripsMax = 1024;

  struct Strip {
    std::vector<Box> beginning, reaching;  // `reaching`: also those that begin in it.
  };

  // Never falls as x rises, also by rounding: then two boxes that share some of x share a strip.
  int StripOf(float x) const {
    if (strip_count_ == 1) return 0;
    const float strip = (x - first_) * strips_per_x_;
    return static_cast<int>(std::clamp(strip, 0.0f, static_cast<float>(strip_count_ - 1)));
  }

  int strip_count_ = 1;
  float first_ = 0, strips_per_x_ = 0;
  std::vector<Strip> strips_;
  int64_t count_ = 0;
};

struct Candidate {
  float score;
  int64_t index;

  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  }
};

constexpr int64_t kPieceMin = 256;  // Less is sorted before it would be cut.

// Places of scores above the threshold; no NaN is. Of most classes none are, so that a block is
// asked as a whole first, in vectors.
void FindAbove(const float* score, int64_t n, float threshold, std::vector<Candidate>& found) {
  constexpr int64_t kBlock = 64;
  found.clear();
  for (int64_t i = 0; i < n;) {
    const int64_t end = std::min(i + kBlock, n);
    bool any = false;
    for (int64_t j = i; j < end; ++j) any |= score[j] > threshold;
    for (; any && i < end; ++i) {
      if (score[i] > threshold) found.push_back({score[i], i});
    }
    i = end;
  }
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
  const int64_t limit = std::clamp<int64_t>(integer(kLimit), 0, std::min(call.Number("most"), n));
  const bool centers = call.Number("center_point_box") != 0;
  auto* const selected = reinterpret_cast<int64_t*>(outputs[0]);
  int64_t found = 0;
  std::vector<Candidate> candidates;
  std::vector<Box> piece;
  KeptBoxes kept;
  for (int64_t c = 0; c < batches * classes; ++c) {
    FindAbove(scores + c * stride, n, number(kThreshold), candidates);
    // Sorted piece by piece: often the first of them are all that a class may have.
    int64_t piece_size = std::max(2 * limit, kPieceMin);
    for (auto begin = candidates.begin(); begin != candidates.end();) {
      const auto end = begin + std::min<int64_t>(piece_size, candidates.end() - begin);
      if (end != candidates.end()) std::nth_element(begin, end, candidates.end());
      std::sort(begin, end);
      piece.clear();
      for (auto each = begin; each != end; ++each) {
        piece.push_back(BoxOf(boxes + (c / classes * stride + each->index) * 4, centers));
      }
      if (begin == candidates.begin()) kept.Begin(piece);
      for (size_t i = 0; i < piece.size() && kept.count() < limit; ++i) {
        if (kept.AnyOverlaps(piece[i], overlap)) continue;
        kept.Add(piece[i]);
        const int64_t row[3] = {c / classes, c % classes, begin[i].index};
        std::copy_n(row, 3, selected + 3 * found++);
      }
      begin = kept.count() < limit ? end : candidates.end();
      piece_size *= 4;
    }
  }
  std::fill(selected + 3 * found, selected + Count(call.outputs[0].shape), 0);
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
