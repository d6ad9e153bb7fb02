// What a study's candidates failed with, for people and programs.
#ifndef TUNER_CLI_FAILURES_TEXT_H_
#define TUNER_CLI_FAILURES_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tuner/app/study_failures.h"

namespace burnish {

// How many failed, and a line for each group. `columns`, `color`: see TextTable::ToText.
std::string FailuresText(const StudyFailures& found, int columns, bool color = false);
// A list.
nlohmann::ordered_json FailureGroupsJson(const StudyFailures& found);

}  // namespace burnish

#endif  // TUNER_CLI_FAILURES_TEXT_H_
