// Traces from text, at the border: what records, job messages, tests and people write.
//
// One step a line, `primitive@version inputs->outputs key=value ..`; lines that start with # are
// comments:
//   fuse@1 (Y.n,Y.y,Y.x)->m
//   split@1 m->(mt,mi) max=6
//   stage@1 Y->acc inside=mt scope=register
// Decisions are stored as values (max=6), never as positions in a list of choices. PrintTrace
// (step.h) is the way back, and ParseTrace(PrintTrace(t)) == t for every trace.
#ifndef COMPILER_SCHEDULE_TRACE_TEXT_H_
#define COMPILER_SCHEDULE_TRACE_TEXT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/schedule/step.h"

namespace burnish {

// Hostile input: at most 1,000 steps of 10,000 bytes. INVALID_ARGUMENT names the line: a malformed
// step, a primitive or version that there is not, an argument that it does not have or of another
// type. Whether names exist and numbers fit, ApplyTrace says.
absl::StatusOr<Trace> ParseTrace(absl::string_view text);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_TRACE_TEXT_H_
