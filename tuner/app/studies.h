// Studies as commands ask for them: in a database of this machine, or behind a daemon.
#ifndef TUNER_APP_STUDIES_H_
#define TUNER_APP_STUDIES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "db/open.h"
#include "db/study_store.h"
#include "tuner/app/retry_study.h"
#include "tuner/app/study_view.h"

namespace burnish {

// An id may be the beginning of only one. Errors: B0601 no such study, those of the database
// (B05xx), and of a daemon (B0704).
class Studies {
 public:
  virtual ~Studies() = default;

  // `id` empty: the newest.
  virtual absl::StatusOr<StudyView> Get(const std::string& id) = 0;
  // Newest first.
  virtual absl::StatusOr<std::vector<StudySummary>> List(const StudyQuery& query) = 0;
  // Returns the whole id. Errors: B0602.
  virtual absl::StatusOr<std::string> Cancel(const std::string& id) = 0;
  // See RetryStudy.
  virtual absl::StatusOr<RetriedStudy> Retry(const std::string& what) = 0;
  // Shows the study at once and then at least when something has changed, until it will not go on
  // by itself or `look` returns false.
  virtual absl::Status Watch(const std::string& id, absl::Duration interval,
                             const std::function<bool(const StudyView&)>& look) = 0;
};

// Whether the study is said to run, and its process is known to have ended or was not heard of for
// the time of its lease.
bool IsAbandoned(const StudySummary& summary, int64_t now_ns);

// Of a database; what another process does there is seen.
class LocalStudies : public Studies {
 public:
  LocalStudies(const Database* database, const Clock* clock) : database_(database), clock_(clock) {}

  absl::StatusOr<StudyView> Get(const std::string& id) override;
  absl::StatusOr<std::vector<StudySummary>> List(const StudyQuery& query) override;
  absl::StatusOr<std::string> Cancel(const std::string& id) override;
  absl::StatusOr<RetriedStudy> Retry(const std::string& what) override;
  // `look` is called every `interval`.
  absl::Status Watch(const std::string& id, absl::Duration interval,
                     const std::function<bool(const StudyView&)>& look) override;

 private:
  absl::StatusOr<StudyView> Load(const std::string& whole) const;
  // In its detail: the store cannot know.
  void SayIfAbandoned(StudySummary& summary) const;

  const Database* database_;
  const Clock* clock_;
};

}  // namespace burnish

#endif  // TUNER_APP_STUDIES_H_
