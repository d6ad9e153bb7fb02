// Traces as records, study logs and seeds hold them: text that was written by this or by another
// version, by this or by somebody else's tuner. Whoever takes them from a store asks here for the
// typed steps; inside the process schedules are (sketch, point).
#ifndef DB_STORED_TRACE_H_
#define DB_STORED_TRACE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/schedule/step.h"

namespace burnish {

// INVALID_ARGUMENT: no trace that this version knows, with the line and what is wrong with it.
absl::StatusOr<Trace> ParseStoredTrace(absl::string_view text);

}  // namespace burnish

#endif  // DB_STORED_TRACE_H_
