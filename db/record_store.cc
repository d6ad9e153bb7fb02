#include "db/record_store.h"

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

constexpr int kLimitMax = 10000;
constexpr size_t kHashBytes = 32;

}  // namespace

bool AccuracyLimit::Accepts(const Numerics& numerics) const {
  switch (numerics.kind) {
    case NumericsClass::kExact:
    case NumericsClass::kReassociated:
      return numerics.error <= error_max;  // Not measured is negative.
    case NumericsClass::kAlgorithm:
    case NumericsClass::kLowPrecision:
      return !strict && numerics.error >= 0 && numerics.error <= error_max;
    case NumericsClass::kUnknown:
      return false;
  }
  return false;
}

absl::StatusOr<AppendOutcome> RecordStore::Append(const MeasurementEntry& entry) {
  ASSIGN_OR_RETURN(const std::vector<AppendOutcome> outcomes, AppendBatch({&entry, 1}));
  return outcomes.front();
}

absl::Status ValidateLimit(int limit) {
  if (limit >= 1 && limit <= kLimitMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("query: got limit=%d, want 1..%d", limit, kLimitMax));
}

absl::Status ValidateQuery(const BestQuery& query) {
  if (query.workload_id.size() != kHashBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("query: got workload_id of %d bytes, want 32", query.workload_id.size()));
  }
  if (query.target.empty()) return absl::InvalidArgumentError("query: got no target");
  return ValidateLimit(query.limit);
}

}  // namespace burnish
