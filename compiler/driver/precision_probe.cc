#include "compiler/driver/precision_probe.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "base/small_float.h"
#include "base/status_macros.h"
#include "compiler/driver/to_status.h"
#include "compiler/runtime/session.h"

namespace burnish {
namespace {

template <typename Narrow>
void Round(float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(Narrow(values[i]));
}

// All elements of a tensor that lies in `base` with gaps.
void RoundTensor(DType type, const TensorInfo& tensor, uint8_t* base) {
  if (tensor.element_count() == 0) return;
  auto* const first = reinterpret_cast<float*>(base + tensor.offset_bytes);
  const size_t rank = tensor.shape.size();
  const bool has_rows = rank > 0 && tensor.strides[rank - 1] == 1;
  const int64_t row = has_rows ? tensor.shape[rank - 1] : 1;
  const size_t outer = has_rows ? rank - 1 : rank;
  std::vector<int64_t> index(outer, 0);
  int64_t offset = 0;
  while (true) {
    RoundFloats(type, first + offset, row);
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

}  // namespace

void RoundFloats(DType type, float* values, int64_t count) {
  if (type == DType::kBf16) Round<Bfloat16>(values, count);
  if (type == DType::kF16) Round<Float16>(values, count);
}

DType PrecisionProbe::ReadAs(const std::vector<int>& readers,
                             const std::vector<DType>& types) const {
  DType read = DType::kF32;
  for (const int layer : readers) {
    if (types[layer] == DType::kBf16) return DType::kBf16;  // 8 bits of fraction, f16 has 11.
    if (types[layer] == DType::kF16) read = DType::kF16;
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
      RoundFloats(types[l], reinterpret_cast<float*>(at),
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
      std::vector<uint8_t> rounded = meter_.examples()[example][i].dense;
      RoundFloats(type, reinterpret_cast<float*>(rounded.data()),
                  static_cast<int64_t>(rounded.size() / sizeof(float)));
      RETURN_IF_ERROR(ToStatus(session.SetInput(i, rounded)));
    }
    const auto round = [&](size_t step, std::span<void* const> buffers) {
      const std::vector<std::vector<int>>& readers = model_.step_readers[step];
      for (size_t o = 0; o < std::min(readers.size(), manifest.steps[step].outputs.size()); ++o) {
        const StepOutput& output = manifest.steps[step].outputs[o];
        const DType type = ReadAs(readers[o], types);
        if (type == DType::kF32 || output.tensor.type != ElementType::kF32) continue;
        RoundTensor(type, output.tensor, static_cast<uint8_t*>(buffers[output.buffer]));
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
