// When to try again: a duration that travels with a status.
#ifndef TRACKER_RETRY_AFTER_H_
#define TRACKER_RETRY_AFTER_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace burnish {

// The name of the gRPC trailing metadata in which it crosses the wire, in milliseconds.
inline constexpr char kRetryAfterMetadata[] = "retry-after-ms";

// `status` is not OK. Whole milliseconds are kept.
void SetRetryAfter(absl::Duration delay, absl::Status& status);
// Nothing: the status does not say.
std::optional<absl::Duration> GetRetryAfter(const absl::Status& status);

}  // namespace burnish

#endif  // TRACKER_RETRY_AFTER_H_
