// What a workload's text says about the work.
#ifndef TUNER_APP_WORKLOAD_FACTS_H_
#define TUNER_APP_WORKLOAD_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"

namespace burnish {

// Arithmetic operations of one call; nothing where the text is none that this version reads.
std::optional<int64_t> WorkloadFlops(absl::string_view workload_text);

// Of its constants (weights), as the model has them; 0 where the text is none that this version
// reads.
int64_t WorkloadConstantBytes(absl::string_view workload_text);
int64_t WorkloadConstantBytes(const Program& workload);

// `operators` ("conv+relu") with the shapes that tell it from its like: of a convolution the output
// image, channels in and out and the kernel, "conv+relu 14x14 256-256 3x3"; else the first input's
// dimensions and the output's, "dense 1x64 -> 1x10", which are one where both are equal and nothing
// is summed up, "softmax 128x1000". Dimensions of 1 in front are left out. A text that this version
// does not read gives `operators` alone.
std::string WorkloadTitle(absl::string_view operators, absl::string_view workload_text);

}  // namespace burnish

#endif  // TUNER_APP_WORKLOAD_FACTS_H_
