// Traces as records, study logs and seeds hold them: text that was written by this or by another
// version, by this or by somebody else's tuner. Whoever takes them from a store asks here for the
// typed steps; inside the process schedules are (sketch, point).
#ifndef DB_STORED_TRACE_H_
#define DB_STORED_TRACE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/step.h"

namespace burnish {

// INVALID_ARGUMENT: no trace that this version knows, with the line and what is wrong with it.
absl::StatusOr<Trace> ParseStoredTrace(absl::string_view text);

// The program with such a trace applied; names as in `definition`. INVALID_ARGUMENT: as
// above, the trace does not apply, or what it gives is no program: stores are files that somebody
// may have edited, and the primitives do not verify (compiler/schedule/README.md).
absl::StatusOr<Program> ApplyStoredTrace(absl::string_view text, const Program& definition);

}  // namespace burnish

#endif  // DB_STORED_TRACE_H_
