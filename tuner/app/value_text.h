// Sizes and shapes as people write them.
#ifndef TUNER_APP_VALUE_TEXT_H_
#define TUNER_APP_VALUE_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace burnish {

// "512 B", "1.5 KiB", "23 MiB"
std::string FormatBytes(double bytes);
// "[1,3,224,224]"
std::string FormatShape(const std::vector<int64_t>& shape);
// "1x3x224x224" or "1,3,224,224" back; empty where it is neither.
std::vector<int64_t> ParseShape(absl::string_view text);

}  // namespace burnish

#endif  // TUNER_APP_VALUE_TEXT_H_
