#include "tuner/cli/study_id.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tuner/app/error.h"

namespace burnish {

absl::Status PrintStudyId(Context& context, absl::string_view event, const std::string& study_id) {
  if (context.json()) {
    const nlohmann::ordered_json json = {
        {"schema", 1}, {"event", std::string(event)}, {"study", study_id}};
    context.out() << json.dump() << "\n";
  } else {
    context.out() << "study " << study_id << "\n";
  }
  // Nobody would know of it for as long as it runs.
  const absl::Status printed = context.CheckOutput();
  if (printed.ok()) return printed;
  return MakeError(ErrorCodeOf(printed), printed.message(), "stdout",
                   absl::StrCat("the study is stored: ", HowToGoOn(context, study_id)));
}

std::string HowToGoOn(const Context& context, const std::string& study_id) {
  const std::string& server = context.settings().Get("server");
  return absl::StrCat("tuner resume ", study_id,
                      server.empty() ? "" : absl::StrCat(" --server ", server));
}

absl::Status WithHowToGoOn(const Context& context, const absl::Status& error,
                           const std::string& study_id) {
  const std::string resume = HowToGoOn(context, study_id);
  switch (ErrorCodeOf(error)) {
    case ErrorCode::kInterrupted:
      return WithHint(error, resume);
    case ErrorCode::kTrackerUnreachable:
      return WithHint(error, absl::StrCat("start it again; then ", resume));
    case ErrorCode::kNoMatchingWorker:
      return WithHint(error, absl::StrCat("tuner workers shows what there is; then ", resume));
    default:
      return error;
  }
}

absl::Status NoServer(absl::string_view command) {
  return MakeError(ErrorCode::kNoServer,
                   "--detach needs a tuner daemon that goes on with the study", command,
                   "start one: tuner serve --listen ADDR --tracker ADDR; then --server ADDR");
}

}  // namespace burnish
