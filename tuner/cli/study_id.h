// What commands say of a study: its name, and how to go on with it.
#ifndef TUNER_CLI_STUDY_ID_H_
#define TUNER_CLI_STUDY_ID_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tuner/cli/context.h"

namespace burnish {

// The first line of `submit` and `resume`: the study is durable now. `event`: what JSON says has
// happened. An error: it could not be printed.
absl::Status PrintStudyId(Context& context, absl::string_view event, const std::string& study_id);

// "tuner resume ID", with the daemon that is set.
std::string HowToGoOn(const Context& context, const std::string& study_id);

// Why a run ended before the study was done, with what to do about it.
absl::Status WithHowToGoOn(const Context& context, const absl::Status& error,
                           const std::string& study_id);

// B0705, of a --detach without a daemon. `command`: "tuner submit".
absl::Status NoServer(absl::string_view command);

}  // namespace burnish

#endif  // TUNER_CLI_STUDY_ID_H_
