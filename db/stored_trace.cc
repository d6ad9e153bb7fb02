#include "db/stored_trace.h"

#include <utility>

#include "base/status_macros.h"
#include "compiler/ir/verifier.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"

namespace burnish {

absl::StatusOr<Trace> ParseStoredTrace(absl::string_view text) { return ParseTrace(text); }

absl::StatusOr<Program> ApplyStoredTrace(absl::string_view text, const Program& definition) {
  ASSIGN_OR_RETURN(const Trace trace, ParseStoredTrace(text));
  ASSIGN_OR_RETURN(Program scheduled, ApplyTrace(trace, definition));
  RETURN_IF_ERROR(Verify(scheduled));
  return scheduled;
}

}  // namespace burnish
