#include "tuner/app/study_failures.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "tuner/app/database.h"
#include "tuner/app/study_view.h"
#include "tuner/study/study_log.h"
#include "tuner/study/study_storage.h"

namespace burnish {
namespace {

// Beyond so many, failures of a kind are one group: messages come from workers.
constexpr size_t kGroupsMax = 100;

// Times, addresses and sizes differ from trial to trial.
std::string WithoutNumbers(absl::string_view message) {
  const auto is_digit = [&](size_t i) {
    return i < message.size() && absl::ascii_isdigit(static_cast<unsigned char>(message[i]));
  };
  std::string text;
  for (size_t i = 0; i < message.size(); ++i) {
    const bool goes_on = !text.empty() && text.back() == '#';
    const bool is_number =
        is_digit(i) || (goes_on && (absl::ascii_isxdigit(static_cast<unsigned char>(message[i])) ||
                                    (message[i] == '.' && is_digit(i + 1))));
    if (!is_number) {
      text.push_back(message[i]);
    } else if (!goes_on) {
      text.push_back('#');
    }
  }
  return text;
}

}  // namespace

void FailureGroups::Add(absl::Span<const MeasurementEntry> entries) {
  for (const MeasurementEntry& entry : entries) {
    if (entry.purpose != Purpose::kTrial || lifted_.contains(entry.trial_id)) continue;
    ++trial_count_;
    const Failure* const failure = entry.measurement.failure();
    if (failure == nullptr) continue;
    const std::string kind = absl::StrCat(static_cast<int>(failure->kind), "\n");
    std::string key = kind + WithoutNumbers(failure->message);
    if (groups_.size() >= kGroupsMax && !number_.contains(key)) key = kind;
    const auto [found, is_new] = number_.try_emplace(std::move(key), groups_.size());
    if (is_new) {
      groups_.push_back(
          {.kind = failure->kind, .message = failure->message, .trial_id = entry.trial_id});
    }
    FailureGroup& group = groups_[found->second];
    ++group.count;
    const std::string& worker = entry.measurement.environment.worker;
    if (!worker.empty()) group.workers.insert(worker);
  }
}

std::vector<FailureGroup> FailureGroups::Sorted() const {
  std::vector<std::pair<int64_t, size_t>> order;
  for (size_t i = 0; i < groups_.size(); ++i) order.emplace_back(-groups_[i].count, i);
  std::sort(order.begin(), order.end());
  std::vector<FailureGroup> sorted;
  for (const auto& [count, i] : order) sorted.push_back(groups_[i]);
  return sorted;
}

absl::StatusOr<StudyFailures> LoadFailures(const Database& database, const std::string& id) {
  StudyFailures loaded;
  ASSIGN_OR_RETURN(loaded.study_id, ResolveStudyId(database, id));
  const absl::StatusOr<StudyLog> log = StudyLog::Open(database.studies.get(), loaded.study_id);
  RETURN_IF_ERROR(DatabaseError(log.status(), database.url));
  FailureGroups groups(LiftedTrials(log->events()));
  RETURN_IF_ERROR(VisitEntries(database, loaded.study_id,
                               [&](absl::Span<const MeasurementEntry> page) { groups.Add(page); }));
  loaded.trial_count = groups.trial_count();
  loaded.groups = groups.Sorted();
  return loaded;
}

}  // namespace burnish
