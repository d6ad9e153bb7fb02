// A trace's text cut in two, so that a row stores its numbers only: the sketch is the text with
// every number replaced by a hole, the decisions are the numbers. Trace texts are opaque here
// (compiler/schedule/trace.h has their meaning), and the cut loses nothing:
// JoinTrace(SplitTraceText(text)) == text for every text.
#ifndef PROTO_TRACE_H_
#define PROTO_TRACE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

namespace v1 {
class SplitTrace;
}

// A number is a run of digits without leading zeros, below 10^18, that no letter, digit, '_', '.',
// '@' or '$' touches: `max=6` and `(1,2)` have numbers, `mi0`, `split@1` and `1.5` have none.
struct SplitTrace {
  std::string sketch;     // "$#" for each number, "$$" for each '$' of the text.
  std::string decisions;  // Each number a base-128 varint, in order of the holes.

  bool operator==(const SplitTrace&) const = default;
};

SplitTrace SplitTraceText(absl::string_view text);

// INVALID_ARGUMENT: the decisions do not fill the holes exactly, or the sketch is malformed.
absl::StatusOr<std::string> JoinTrace(const SplitTrace& split);

v1::SplitTrace ToProto(const SplitTrace& split);
absl::StatusOr<SplitTrace> FromProto(const v1::SplitTrace& message);

}  // namespace burnish

#endif  // PROTO_TRACE_H_
