// The profile of a bundle as one page without scripts or outside files.
#ifndef TUNER_CLI_PROFILE_HTML_H_
#define TUNER_CLI_PROFILE_HTML_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace burnish {

struct ProfileRow {
  std::string name;
  std::string origin;  // Of the schedule: "tuned", "default", ...
  std::string type;    // That the step reads what it works on as: its peak's.
  double ns = 0;
  double gflops = 0;
  double peak_share = 0;  // 0: not known.
  uint64_t moved_bytes = 0;
  double bound_ns = 0;  // Roofline; 0: not known.
  bool bound_by_memory = false;
};

std::string ProfileHtml(absl::string_view model, const std::vector<ProfileRow>& rows);

}  // namespace burnish

#endif  // TUNER_CLI_PROFILE_HTML_H_
