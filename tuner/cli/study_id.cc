#include "tuner/cli/study_id.h"

#include <nlohmann/json.hpp>

#include "tuner/app/error.h"

namespace burnish {

void PrintStudyId(Context& context, absl::string_view event, const std::string& study_id) {
  if (context.json()) {
    const nlohmann::ordered_json json = {
        {"schema", 1}, {"event", std::string(event)}, {"study", study_id}};
    context.out() << json.dump() << "\n" << std::flush;
  } else {
    context.out() << "study " << study_id << "\n" << std::flush;
  }
}

absl::Status NoServer(absl::string_view command) {
  return MakeError(ErrorCode::kNoServer,
                   "--detach needs a tuner daemon that goes on with the study", command,
                   "start one: tuner serve --listen ADDR --tracker ADDR; then --server ADDR");
}

}  // namespace burnish
