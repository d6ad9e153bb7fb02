// The first `sequence_lens[b]` steps of each batch, turned round.
#include <cstring>

#include "compiler/runtime/host/kernels.h"

namespace burnish::host {
namespace {

RuntimeOr<std::vector<HostType>> Infer(const HostSignature& call) {
  if (call.inputs.size() != 2) return Got(std::to_string(call.inputs.size()) + " inputs", "2");
  const HostType& x = call.inputs[0];
  const int64_t time = call.Number("time_axis"), batch = call.Number("batch_axis");
  if (x.shape.size() < 2 || time + batch != 1 || (time != 0 && time != 1)) {
    return Got("X " + Text(x) + ", time_axis=" + std::to_string(time) +
                   ", batch_axis=" + std::to_string(batch),
               "the first two dimensions, one each");
  }
  const HostType& lengths = call.inputs[1];
  if (!IsIndex(lengths.type) || lengths.shape != std::vector<int64_t>{x.shape[batch]}) {
    return Got("sequence_lens " + Text(lengths),
               "i64[" + std::to_string(x.shape[batch]) + "] for X " + Text(x));
  }
  return std::vector<HostType>{x};
}

int32_t Run(const HostSignature& call, std::span<const uint8_t* const> inputs,
            std::span<uint8_t* const> outputs) {
  const std::vector<int64_t>& shape = call.inputs[0].shape;
  const int64_t time_axis = call.Number("time_axis");
  const int64_t times = shape[time_axis], batches = shape[1 - time_axis];
  const int64_t row_bytes = Count(shape) / (times * batches) * ElementBytes(call.inputs[0].type);
  const int64_t time_step = time_axis == 0 ? batches : 1, batch_step = time_axis == 0 ? 1 : times;
  int32_t code = BURNISH_KERNEL_OK;
  for (int64_t b = 0; b < batches; ++b) {
    // A length is an index into 0 .. times.
    int64_t length = IndexAt(call.inputs[1].type, inputs[1], b, times + 1);
    if (length < 0) code = BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS;
    if (length < 0) length = 0;
    for (int64_t t = 0; t < times; ++t) {
      const int64_t from = t < length ? length - 1 - t : t;
      std::memcpy(outputs[0] + (t * time_step + b * batch_step) * row_bytes,
                  inputs[0] + (from * time_step + b * batch_step) * row_bytes, row_bytes);
    }
  }
  return code;
}

}  // namespace

HostKernel ReverseSequence() {
  return {"reverse_sequence", {{"time_axis", 0}, {"batch_axis", 1}}, &Infer, &Run};
}

}  // namespace burnish::host
