#include "compiler/driver/ladder_sizes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

absl::Status Misfit(absl::string_view what, size_t tensor, size_t axis) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", tensor, " of smaller bounds differs in axis ", axis));
}

// Of a tensor's axis, or nothing: there is none.
std::optional<int64_t> BoundOf(const std::vector<ModelTensor>& tensors, size_t tensor,
                               size_t axis) {
  if (tensor >= tensors.size() || axis >= tensors[tensor].tensor.shape.size()) return std::nullopt;
  return tensors[tensor].tensor.shape[axis];
}

class Sizes {
 public:
  Sizes(const BundleManifest& whole, BundleManifest& variant)
      : whole_(whole.run_sizes), variant_(variant), old_(variant.run_sizes) {}

  absl::Status Rewrite() {
    made_.sizes.resize(whole_.sizes.size());
    is_made_.assign(whole_.sizes.size(), false);
    new_of_.assign(old_.sizes.size(), -1);
    RETURN_IF_ERROR(TakeGiven());
    RETURN_IF_ERROR(CheckInputs());
    RETURN_IF_ERROR(TakeExtents());
    made_.inputs = whole_.inputs;
    made_.axes = whole_.axes;
    RETURN_IF_ERROR(Renumber());
    variant_.run_sizes = std::move(made_);
    return absl::OkStatus();
  }

 private:
  // A number of the arena that holds `value` from the start.
  Place NumberOf(int64_t value) {
    constexpr uint64_t kBytes = sizeof(int64_t);
    variant_.arena_bytes = (variant_.arena_bytes + kBytes - 1) / kBytes * kBytes;
    const Place place{.region = Region::kArena, .index = 0, .offset_bytes = variant_.arena_bytes};
    variant_.arena_bytes += kBytes;
    variant_.fills.push_back({.place = place,
                              .size_bytes = kBytes,
                              .element_bytes = kBytes,
                              .element_bits = static_cast<uint64_t>(value)});
    return place;
  }

  RunSize Fixed(const std::string& name, int64_t value) {
    return {.name = name, .place = NumberOf(value), .least = value, .greatest = value};
  }

  // Those that callers give, by name; one that the variant lacks is what its input says.
  absl::Status TakeGiven() {
    const std::vector<bool> is_given = old_.GivenSizes();
    for (const InputAxis& axis : whole_.inputs) {
      if (!axis.GivesSize()) continue;
      const uint32_t size = axis.parts[0].size;
      if (is_made_[size]) continue;
      is_made_[size] = true;
      RunSize& made = made_.sizes[size];
      const std::string& name = whole_.sizes[size].name;
      size_t i = 0;
      while (i < old_.sizes.size() && !(is_given[i] && old_.sizes[i].name == name)) ++i;
      if (i < old_.sizes.size()) {
        made = old_.sizes[i];
        new_of_[i] = size;
        continue;
      }
      const auto bound = BoundOf(variant_.inputs, axis.input, axis.axis);
      if (!bound.has_value()) return Misfit("input", axis.input, axis.axis);
      made = Fixed(name, *bound);
    }
    return absl::OkStatus();
  }

  // That each input's axis holds the same sum: fixed sizes are part of the constant.
  absl::Status CheckInputs() const {
    using Sum = std::map<uint32_t, int64_t>;  // By size of the whole.
    std::map<std::pair<uint32_t, uint32_t>, std::pair<int64_t, Sum>> sums;
    for (const InputAxis& axis : old_.inputs) {
      auto& [constant, sum] = sums[{axis.input, axis.axis}];
      constant = axis.constant;
      for (const InputAxis::Part& part : axis.parts) {
        if (new_of_[part.size] < 0) return Misfit("input", axis.input, axis.axis);
        sum[static_cast<uint32_t>(new_of_[part.size])] += part.factor;
      }
    }
    size_t matched = 0;
    for (const InputAxis& axis : whole_.inputs) {
      int64_t constant = axis.constant;
      Sum sum;
      for (const InputAxis::Part& part : axis.parts) {
        const RunSize& size = made_.sizes[part.size];
        if (std::find(new_of_.begin(), new_of_.end(), part.size) != new_of_.end()) {
          sum[part.size] += part.factor;
        } else {
          constant += size.greatest * part.factor;
        }
      }
      const auto found = sums.find({axis.input, axis.axis});
      const bool is_same = found != sums.end() ? found->second == std::pair(constant, sum)
                                               : sum.empty() && BoundOf(variant_.inputs, axis.input,
                                                                        axis.axis) == constant;
      if (!is_same) return Misfit("input", axis.input, axis.axis);
      if (found != sums.end()) ++matched;
    }
    if (matched != sums.size()) return absl::InvalidArgumentError("smaller bounds ask for more");
    return absl::OkStatus();
  }

  // Those that outputs' axes have: the same axis says which one of the variant is meant.
  absl::Status TakeExtents() {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> theirs;
    for (const BoundedAxis& axis : old_.axes) theirs[{axis.tensor, axis.axis}] = axis.size;
    for (const BoundedAxis& axis : whole_.axes) {
      const auto found = theirs.find({axis.tensor, axis.axis});
      const auto bound = BoundOf(variant_.outputs, axis.tensor, axis.axis);
      if (!bound.has_value()) return Misfit("output", axis.tensor, axis.axis);
      RunSize& made = made_.sizes[axis.size];
      const std::string& name = whole_.sizes[axis.size].name;
      if (!is_made_[axis.size] && found != theirs.end()) {
        made = old_.sizes[found->second];
        made.name = name;
      } else if (!is_made_[axis.size]) {
        made = Fixed(name, *bound);
      }
      is_made_[axis.size] = true;
      const bool is_same = found != theirs.end() ? old_.sizes[found->second].place == made.place
                                                 : made.least == *bound && made.greatest == *bound;
      if (!is_same) return Misfit("output", axis.tensor, axis.axis);
      theirs.erase({axis.tensor, axis.axis});
    }
    if (!theirs.empty() || std::find(is_made_.begin(), is_made_.end(), false) != is_made_.end()) {
      return absl::InvalidArgumentError("outputs of smaller bounds have other extents");
    }
    return absl::OkStatus();
  }

  absl::Status Renumber() {
    bool is_known = true;
    const auto renumber = [&](std::vector<TrimAxis>& axes) {
      for (TrimAxis& axis : axes) {
        for (TrimPart& part : axis.parts) {
          for (TrimProduct& product : part.holds) {
            for (uint32_t& size : product.sizes) {
              is_known = is_known && new_of_[size] >= 0;
              size = static_cast<uint32_t>(new_of_[size]);
            }
          }
        }
      }
    };
    for (StepTrim& trim : variant_.trims) renumber(trim.axes);
    for (LiveTable& table : variant_.live) {
      for (LoopFlags& loop : table.loops) renumber(loop.axes);
    }
    // Only what callers give is asked (CheckManifest), and all of that has a number by now.
    if (!is_known) return absl::InternalError("a loop asks for a size that nobody gives");
    return absl::OkStatus();
  }

  const RunSizes& whole_;
  BundleManifest& variant_;
  const RunSizes old_;
  RunSizes made_;
  std::vector<bool> is_made_;    // By size of the whole.
  std::vector<int64_t> new_of_;  // By size of the variant that callers give; -1: none of these.
};

}  // namespace

absl::Status TakeSizesOf(const BundleManifest& whole, BundleManifest& variant) {
  return Sizes(whole, variant).Rewrite();
}

}  // namespace burnish
