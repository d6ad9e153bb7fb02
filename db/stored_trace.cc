#include "db/stored_trace.h"

#include "compiler/schedule/trace_text.h"

namespace burnish {

absl::StatusOr<Trace> ParseStoredTrace(absl::string_view text) { return ParseTrace(text); }

}  // namespace burnish
