// What a command says about a bundle that was built, and how accurate it may be asked to be.
#ifndef TUNER_CLI_BUILD_REPORT_H_
#define TUNER_CLI_BUILD_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/build_model.h"

namespace burnish {

// `text`: of --accuracy, the bound on the error of the whole model, or "strict"; empty: the one of
// the precision. Errors: B0101.
absl::StatusOr<SelectOptions> ParseAccuracy(const std::string& text, const std::string& precision);

// "57 steps, 28 kernels; 28 tuned; weights 98 MiB, ...", and a line for the error of other
// algorithms' steps where there are any.
std::string BuildReportSummary(const BuiltModel& built);
// One line a task: how often, operations, and where its schedule came from; then the summary.
std::string BuildReportText(const BuiltModel& built, int columns = 0);  // See TextTable::ToText.
nlohmann::ordered_json BuildReportJson(const BuiltModel& built);

}  // namespace burnish

#endif  // TUNER_CLI_BUILD_REPORT_H_
