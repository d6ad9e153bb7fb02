// Which name somebody meant who mistyped one.
#ifndef TUNER_CLI_NEAREST_NAME_H_
#define TUNER_CLI_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace burnish {

// The one with the fewest letters to insert, delete, replace or swap with its neighbour; the first
// of several. "" where none is near: more than a third of the letters differ, or more than three.
std::string NearestName(absl::string_view typed, const std::vector<std::string>& names);

}  // namespace burnish

#endif  // TUNER_CLI_NEAREST_NAME_H_
