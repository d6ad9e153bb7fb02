#include "tuner/study/trial_id.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace burnish {
namespace {

constexpr absl::string_view kReference = "ref";

std::string PrefixOf(absl::string_view study_id, int task_index) {
  return absl::StrCat(study_id, "/t", task_index, "/");
}

}  // namespace

std::string TrialIdOf(absl::string_view study_id, int task_index, int64_t number) {
  const std::string prefix = PrefixOf(study_id, task_index);
  return number == kReferenceNumber ? absl::StrCat(prefix, kReference)
                                    : absl::StrCat(prefix, number);
}

absl::StatusOr<int64_t> ParseTrialNumber(absl::string_view study_id, int task_index,
                                         absl::string_view trial_id) {
  absl::string_view rest = trial_id;
  int64_t number = 0;
  if (absl::ConsumePrefix(&rest, PrefixOf(study_id, task_index))) {
    if (rest == kReference) return kReferenceNumber;
    // One number has one spelling: no sign, no leading zero.
    if (absl::SimpleAtoi(rest, &number) && number >= 0 && rest == absl::StrCat(number)) {
      return number;
    }
  }
  return absl::DataLossError(absl::StrCat("got trial ", trial_id, " in the log of task ",
                                          task_index, " of study ", study_id));
}

}  // namespace burnish
