// What a command says about a bundle that was built, and how accurate it may be asked to be.
#ifndef TUNER_CLI_BUILD_REPORT_H_
#define TUNER_CLI_BUILD_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/build_model.h"
#include "compiler/target/target.h"

namespace burnish {

// `text`: of --accuracy, the bound on the error of the whole model, or "strict"; empty: the one of
// the precision. Errors: B0101.
absl::StatusOr<SelectOptions> ParseAccuracy(const std::string& text, const std::string& precision);

// One run's time, by what is recorded of its tasks and, where nothing is, by the cost model.
struct ExpectedTime {
  double ns = 0;                                 // Of the tasks that are known.
  int measured = 0, estimated = 0, unknown = 0;  // Tasks.
};
ExpectedTime ExpectedTimeOf(const BuiltModel& built);

struct BuildReportFacts {
  std::string out;  // Where the bundle is.
  Target target;
  bool has_sizes = false;  // Runs choose some: what is said is of the greatest.
};

// What was written, how fast it is expected to be, and what to do next, a line each. Where layers
// were chosen for fewer bits, a fourth one says which.
std::string BuildReportText(const BuiltModel& built, const BuildReportFacts& facts);
// One line a task: how often, operations, where its schedule came from, and its time.
std::string BuildTableText(const BuiltModel& built, int columns = 0);  // See TextTable::ToText.
nlohmann::ordered_json BuildReportJson(const BuiltModel& built);

}  // namespace burnish

#endif  // TUNER_CLI_BUILD_REPORT_H_
