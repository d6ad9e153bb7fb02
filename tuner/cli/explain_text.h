// An explanation of a schedule for people, and as JSON.
#ifndef TUNER_CLI_EXPLAIN_TEXT_H_
#define TUNER_CLI_EXPLAIN_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tuner/app/explain_record.h"

namespace burnish {

// `columns`: of the terminal; 0: as wide as it gets.
std::string ExplainText(const Explanation& explanation, int columns);

nlohmann::ordered_json ExplainJson(const Explanation& explanation);

}  // namespace burnish

#endif  // TUNER_CLI_EXPLAIN_TEXT_H_
