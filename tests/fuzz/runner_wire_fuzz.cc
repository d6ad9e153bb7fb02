// libFuzzer target: what the worker and its children runner and checker say to each other is
// malformed, or means the same after it was sent on. A kernel may have made the runner lie. The
// first byte says which message follows.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"
#include "worker/runner/runner_wire.h"

namespace burnish {
namespace {

template <typename Decoder>
void Fuzz(std::span<const uint8_t> bytes, Decoder decode) {
  const auto value = decode(bytes);
  if (!value.has_value()) return;
  const std::string frame = EncodeFrame(*value);
  const auto again =
      decode(std::span(reinterpret_cast<const uint8_t*>(frame.data()), frame.size()));
  CHECK(again.has_value());
  // By bytes and not by ==: a number may be NaN.
  CHECK_EQ(EncodeFrame(*again), frame);
}

}  // namespace
}  // namespace burnish

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      Fuzz(bytes, DecodeRunnerRequest);
      break;
    case 1:
      Fuzz(bytes, DecodeRunnerReply);
      break;
    case 2:
      Fuzz(bytes, DecodeCheckerRequest);
      break;
    case 3:
      Fuzz(bytes, DecodeCheckerReply);
      break;
  }
  return 0;
}
