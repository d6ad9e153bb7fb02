#include "tracker/retry_after.h"

#include <cstdint>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace burnish {
namespace {

constexpr char kPayloadType[] = "burnish/retry-after-ms";

}  // namespace

void SetRetryAfter(absl::Duration delay, absl::Status& status) {
  // As a view: the constructor from std::string&& is a template, which GCC (of Debian's library)
  // and Clang 19 do not mangle alike.
  const std::string text = absl::StrCat(absl::ToInt64Milliseconds(delay));
  status.SetPayload(kPayloadType, absl::Cord(absl::string_view(text)));
}

std::optional<absl::Duration> GetRetryAfter(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadType);
  int64_t milliseconds = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &milliseconds)) {
    return std::nullopt;
  }
  return absl::Milliseconds(milliseconds);
}

}  // namespace burnish
