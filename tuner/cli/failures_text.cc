#include "tuner/cli/failures_text.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/measurement.h"
#include "tuner/cli/format.h"

namespace burnish {

std::string FailuresText(const StudyFailures& found, int columns, bool color) {
  if (found.groups.empty()) return absl::StrCat("none of ", found.trial_count, " trials failed\n");
  TextTable table({{"trials", TextTable::kRight},
                   {"kind"},
                   {"workers"},
                   {.title = "first trial", .is_id = true},
                   {"what it said", TextTable::kLeft, /*wraps=*/true}});
  int64_t failed = 0;
  for (const FailureGroup& group : found.groups) {
    failed += group.count;
    table.AddRow({absl::StrCat(group.count), std::string(FailureKindName(group.kind)),
                  absl::StrJoin(group.workers, " "), group.trial_id, group.message});
    table.SetColor(1, TextTable::kBad);
  }
  return absl::StrCat(failed, " of ", found.trial_count, " trials failed\n",
                      table.ToText(columns, color));
}

nlohmann::ordered_json FailureGroupsJson(const StudyFailures& found) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const FailureGroup& group : found.groups) {
    groups.push_back({{"kind", std::string(FailureKindName(group.kind))},
                      {"count", group.count},
                      {"workers", group.workers},
                      {"trial", group.trial_id},
                      {"message", group.message}});
  }
  return groups;
}

}  // namespace burnish
