// What a workload's text says about the work.
#ifndef TUNER_CLI_WORKLOAD_FACTS_H_
#define TUNER_CLI_WORKLOAD_FACTS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace burnish {

// Arithmetic operations of one call; nothing where the text is none that this version reads.
std::optional<int64_t> WorkloadFlops(absl::string_view workload_text);

}  // namespace burnish

#endif  // TUNER_CLI_WORKLOAD_FACTS_H_
