#include "tuner/cli/study_id.h"

#include <nlohmann/json.hpp>
#include <random>

#include "absl/strings/str_cat.h"
#include "tuner/app/error.h"

namespace burnish {

std::string NewStudyId(absl::Time now) {
  std::random_device device;
  return absl::StrCat(absl::FormatTime("%Y%m%d-%H%M%S", now, absl::UTCTimeZone()), "-",
                      absl::Hex(device() & 0xffff, absl::kZeroPad4));
}

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
