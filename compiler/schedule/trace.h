// A trace: the list of schedule primitives that turns a definition into one schedule.
//
// Text form, one step a line, `primitive@version inputs -> outputs key=value ..`:
//   fuse@1 (Y.n,Y.y,Y.x)->m
//   split@1 m->(mt,mi) max=6
//   stage@1 Y->acc inside=mt scope=register
// Decisions are stored as values (max=6), never as positions in a list of choices.
#ifndef COMPILER_SCHEDULE_TRACE_H_
#define COMPILER_SCHEDULE_TRACE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"

namespace burnish {

struct Step {
  std::string primitive;
  int version = 1;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, std::string>> attributes;  // In order; a value may be (a,b).

  // The value of an attribute. NOT_FOUND / INVALID_ARGUMENT name the step and the key.
  bool Has(absl::string_view key) const;
  absl::StatusOr<std::string> Get(absl::string_view key) const;
  absl::StatusOr<int64_t> GetInt(absl::string_view key) const;
  absl::StatusOr<std::vector<std::string>> GetList(absl::string_view key) const;

  bool operator==(const Step&) const = default;
};

using Trace = std::vector<Step>;

std::string PrintStep(const Step& step);
std::string PrintTrace(const Trace& trace);
// Hostile input: at most 1,000 steps of 10,000 bytes. Lines that start with # are comments.
absl::StatusOr<Trace> ParseTrace(absl::string_view text);

// Applies the steps in order. INVALID_ARGUMENT names the step, its number and the reason.
absl::StatusOr<Program> ApplyTrace(const Trace& trace, const Program& program);

// One step. `program` is unchanged when the step is refused.
absl::Status ApplyStep(const Step& step, Program& program);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_TRACE_H_
