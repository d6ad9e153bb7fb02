// A study as people and scripts read it.
#ifndef TUNER_CLI_STUDY_TEXT_H_
#define TUNER_CLI_STUDY_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/time/time.h"
#include "proto/study.h"
#include "tuner/app/study_view.h"

namespace burnish {

// "120 of 500, 3 failed (2 wrong result, 1 crashed)"
std::string TrialsText(const StudyView& view);
std::string StudyText(const StudyView& view, int columns = 0);  // See TextTable::ToText.
// With "schema": one object.
nlohmann::ordered_json StudyJson(const StudyView& view);

// Who runs it, and since when it is there: a line a fact.
std::string StudyRunText(const StudyView& view, absl::Time now, int columns = 0);
nlohmann::ordered_json StudyRunJson(const StudyView& view);
// What was asked for, likewise.
std::string SpecificationText(const StudySpec& spec, int columns = 0);
nlohmann::ordered_json SpecificationJson(const StudySpec& spec);

}  // namespace burnish

#endif  // TUNER_CLI_STUDY_TEXT_H_
