#include "compiler/graph/random_concats.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/graph/graph_testing.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

// Concats of larger values would make the interpreter slow.
constexpr int64_t kElementsMax = 4000;

class Grower {
 public:
  explicit Grower(uint64_t seed) : rng_(seed), seed_(seed) { graph_.name = "concats"; }

  Graph Run() {
    // Even seeds: images, which windows slide over.
    const auto rank = seed_ % 2 == 0 ? 4 : rng_.Between(1, 4);
    dtype_ = seed_ % 4 == 3 ? DType::kI64 : DType::kF32;
    Shape shape;
    for (int64_t d = 0; d < rank; ++d) shape.push_back(rng_.Between(1, 5));
    values_.push_back(AddInput(graph_, "x", {dtype_, shape}));
    values_.push_back(AddInput(graph_, "y", {dtype_, shape}));
    values_.push_back(AddConstant(graph_, "c", {dtype_, shape},
                                  FromTensorValue(RandomValue({dtype_, shape}, seed_))));
    const auto steps = rng_.Between(5, 12);
    for (int64_t i = 0; i < steps; ++i) values_.push_back(Step());
    AddOutputs();
    return std::move(graph_);
  }

 private:
  struct Concat {
    int64_t axis = 0;
    std::vector<ValueId> parts;
  };

  ValueId Pick() { return values_[rng_.Below(values_.size())]; }
  const Shape& ShapeOf(ValueId v) const { return graph_.value(v).type.shape; }

  ValueId Step() {
    switch (rng_.Below(8)) {
      case 0:
      case 1:
        return Elementwise(Pick());
      case 2:
        return Window(Pick());
      case 3:
        return Reshaped(Pick());
      case 4:
        return concats_.empty() ? Joined() : Extended(concats_[rng_.Below(concats_.size())]);
      default:
        return Joined();
    }
  }

  ValueId Elementwise(ValueId x) {
    return Op(graph_, rng_.Below(2) == 0 || dtype_ == DType::kI64 ? "neg" : "tanh", {x});
  }

  ValueId Window(ValueId x) {
    const Shape shape = ShapeOf(x);
    if (shape.size() != 4 || dtype_ != DType::kF32) return Elementwise(x);
    const Shape pads(4, 1);
    if (rng_.Below(2) == 0) {
      return Op(graph_, "max_pool", {x}, {{"kernel_shape", Shape{3, 3}}, {"pads", pads}});
    }
    const ValueId w = AddRandomConstant(graph_, "w", {shape[1], shape[1], 3, 3}, seed_);
    return Op(graph_, "conv", {x, w}, {{"pads", pads}});
  }

  ValueId Reshaped(ValueId x) {
    Shape shape = ShapeOf(x);
    if (rng_.Below(2) == 0 && shape.size() > 1) {  // Two neighbours become one dimension.
      const auto d = static_cast<std::ptrdiff_t>(rng_.Below(shape.size() - 1));
      shape[d] *= shape[d + 1];
      shape.erase(shape.begin() + d + 1);
    } else if (shape.size() < 4) {
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(rng_.Below(shape.size() + 1)), 1);
    }
    return Op(graph_, "reshape", {x}, {{"shape", shape}});
  }

  // What can stand beside values of this shape, along `axis`.
  std::vector<ValueId> Neighbours(Shape shape, int64_t axis) const {
    std::vector<ValueId> fitting;
    for (const ValueId v : values_) {
      const Shape& other = ShapeOf(v);
      if (other.size() != shape.size()) continue;
      shape[axis] = other[axis];
      if (other == shape) fitting.push_back(v);
    }
    return fitting;
  }

  ValueId Joined() {
    const ValueId first = Pick();
    const auto axis = static_cast<int64_t>(rng_.Below(ShapeOf(first).size()));
    return Finished({axis, {first}}, rng_.Between(1, 4));
  }

  // The parts of an earlier concat and some more, before or behind them.
  ValueId Extended(Concat concat) { return Finished(std::move(concat), rng_.Between(1, 2)); }

  ValueId Finished(Concat concat, int64_t more) {
    const std::vector<ValueId> fitting = Neighbours(ShapeOf(concat.parts[0]), concat.axis);
    for (; more > 0; --more) {
      const ValueId part = fitting[rng_.Below(fitting.size())];
      concat.parts.insert(rng_.Below(4) == 0 ? concat.parts.begin() : concat.parts.end(), part);
    }
    int64_t elements = 0;
    for (const ValueId part : concat.parts) elements += ElementCount(ShapeOf(part));
    if (elements > kElementsMax) return Elementwise(concat.parts[0]);
    const auto rank = static_cast<int64_t>(ShapeOf(concat.parts[0]).size());
    const int64_t axis = rng_.Below(2) == 0 ? concat.axis : concat.axis - rank;
    concats_.push_back(concat);
    return Op(graph_, "concat", concat.parts, {{"axis", axis}});
  }

  // The last value and some others.
  void AddOutputs() {
    for (const ValueId v : values_) {
      if (graph_.value(v).producer < 0 || (v != values_.back() && rng_.Below(5) > 0)) continue;
      graph_.values[v].name = absl::StrCat("out", graph_.outputs.size());
      graph_.outputs.push_back(v);
    }
  }

  Rng rng_;
  uint64_t seed_;
  DType dtype_ = DType::kF32;
  Graph graph_;
  std::vector<ValueId> values_;
  std::vector<Concat> concats_;
};

}  // namespace

Graph RandomConcats(uint64_t seed) { return Grower(seed).Run(); }

}  // namespace burnish
