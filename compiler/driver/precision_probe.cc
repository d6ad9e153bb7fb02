#include "compiler/driver/precision_probe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/small_float.h"
#include "base/status_macros.h"
#include "compiler/driver/to_status.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {
namespace {

// Rounds f32 where it lies.
using Rounding = std::function<void(float* values, int64_t count)>;

template <typename Narrow>
void Round(float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(Narrow(values[i]));
}

// As `quantize` and `dequantize` do (te/ops/quantize.h).
Rounding ToBytes(ByteScale to) {
  const auto least = static_cast<float>(-to.zero), greatest = static_cast<float>(255 - to.zero);
  return [=](float* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const float number = std::nearbyint(values[i] / to.scale);
      values[i] = std::clamp(number, least, greatest) * to.scale;
    }
  };
}

Rounding RoundingTo(DType type) {
  if (type == DType::kBf16) return &Round<Bfloat16>;
  return &Round<Float16>;
}

// Of all elements of a tensor that lies in `base` with gaps.
void ForRows(const TensorInfo& tensor, uint8_t* base, const Rounding& visit) {
  if (tensor.element_count() == 0) return;
  auto* const first = reinterpret_cast<float*>(base + tensor.offset_bytes);
  const size_t rank = tensor.shape.size();
  const bool has_rows = rank > 0 && tensor.strides[rank - 1] == 1;
  const int64_t row = has_rows ? tensor.shape[rank - 1] : 1;
  const size_t outer = has_rows ? rank - 1 : rank;
  std::vector<int64_t> index(outer, 0);
  int64_t offset = 0;
  while (true) {
    visit(first + offset, row);
    size_t d = outer;
    for (; d > 0; --d) {
      offset += tensor.strides[d - 1];
      if (++index[d - 1] < tensor.shape[d - 1]) break;
      offset -= tensor.strides[d - 1] * tensor.shape[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

// In `type`; in 8 bits with `scale`, or where nobody knows one, by the values that there are.
void RoundTensor(DType type, const std::optional<ByteScale>& scale, const TensorInfo& tensor,
                 uint8_t* base) {
  if (type != DType::kI8) return ForRows(tensor, base, RoundingTo(type));
  if (scale.has_value()) return ForRows(tensor, base, ToBytes(*scale));
  ValueRange range;
  ForRows(tensor, base, [&](const float* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      range.least = std::min<double>(range.least, values[i]);
      range.greatest = std::max<double>(range.greatest, values[i]);
    }
  });
  ForRows(tensor, base, ToBytes(ByteScaleOf(range)));
}

}  // namespace

DType PrecisionProbe::ReadAs(const std::vector<int>& readers,
                             const std::vector<DType>& types) const {
  DType read = DType::kF32;
  // From the finest: 11 bits of fraction, 8 bits of fraction, 8 bits.
  for (const DType type : {DType::kF16, DType::kBf16, DType::kI8}) {
    const auto reads = [&](int layer) { return types[layer] == type; };
    if (std::any_of(readers.begin(), readers.end(), reads)) read = type;
  }
  return read;
}

std::function<void()> PrecisionProbe::RoundWeights(const std::vector<DType>& types) {
  const BundleManifest& manifest = meter_.session().manifest();
  uint8_t* const weights = meter_.session().model()->weights().data();
  auto saved = std::make_shared<std::vector<std::pair<uint8_t*, std::vector<uint8_t>>>>();
  for (size_t l = 0; l < types.size(); ++l) {
    if (types[l] == DType::kF32) continue;
    for (const ProbedLayer::Weights& each : model_.layers[l].weights) {
      const ModelStep& step = manifest.steps[each.step];
      const uint64_t size = manifest.kernels[step.kernel].compute.buffers[each.buffer].size_bytes;
      uint8_t* const at = weights + step.buffers[each.buffer].offset_bytes;
      saved->emplace_back(at, std::vector<uint8_t>(at, at + size));
      if (types[l] == DType::kI8) {
        const ModelStep& rounded = in_bytes_->manifest().steps[each.step];
        std::memcpy(at, in_bytes_->weights().data() + rounded.buffers[each.buffer].offset_bytes,
                    size);
        continue;
      }
      RoundingTo(types[l])(reinterpret_cast<float*>(at),
                           static_cast<int64_t>(size / sizeof(float)));
    }
  }
  return [saved] {
    // Backwards: constants that two layers share were rounded twice.
    for (auto each = saved->rbegin(); each != saved->rend(); ++each) {
      std::memcpy(each->first, each->second.data(), each->second.size());
    }
  };
}

absl::StatusOr<double> PrecisionProbe::ErrorOf(const std::vector<DType>& types, size_t examples) {
  Session& session = meter_.session();
  const BundleManifest& manifest = session.manifest();
  const std::function<void()> restore = RoundWeights(types);
  const auto run = [&](size_t example) -> absl::StatusOr<double> {
    RETURN_IF_ERROR(meter_.SetInputs(session, example));
    for (size_t i = 0; i < manifest.inputs.size(); ++i) {
      const DType type = ReadAs(model_.input_readers[i], types);
      if (type == DType::kF32 || manifest.inputs[i].tensor.type != ElementType::kF32) continue;
      const ExampleInputs::Array& given = meter_.examples()[example][i];
      std::vector<uint8_t> rounded = given.dense;
      RoundTensor(type, model_.input_scales[i], DenseTensor("", ElementType::kF32, given.shape),
                  rounded.data());
      RETURN_IF_ERROR(ToStatus(session.SetInput(i, rounded)));
    }
    const auto round = [&](size_t step, std::span<void* const> buffers) {
      const std::vector<std::vector<int>>& readers = model_.step_readers[step];
      for (size_t o = 0; o < std::min(readers.size(), manifest.steps[step].outputs.size()); ++o) {
        const StepOutput& output = manifest.steps[step].outputs[o];
        const DType type = ReadAs(readers[o], types);
        if (type == DType::kF32 || output.tensor.type != ElementType::kF32) continue;
        RoundTensor(type, model_.step_scales[step][o], output.tensor,
                    static_cast<uint8_t*>(buffers[output.buffer]));
      }
    };
    RETURN_IF_ERROR(ToStatus(session.RunObserved(round)));
    return meter_.ErrorOf(session, example);
  };
  absl::StatusOr<double> worst = 0.0;
  for (size_t e = 0; e < std::min(examples, meter_.examples().size()) && worst.ok(); ++e) {
    const absl::StatusOr<double> error = run(e);
    if (!error.ok() || *error > *worst) worst = error;
  }
  restore();
  return worst;
}

}  // namespace burnish
