// A running `tuner serve`, as commands see it.
#ifndef TUNER_SERVE_TUNER_CLIENT_H_
#define TUNER_SERVE_TUNER_CLIENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "db/record_store.h"
#include "proto/protocol.h"
#include "proto/study.h"
#include "tuner/app/query_records.h"
#include "tuner/app/studies.h"
#include "tuner/study/study_types.h"

namespace burnish {

// How a run that was followed ended.
struct FollowedRun {
  StopReason reason = StopReason::kNone;  // kNone: the study does not run there.
  absl::Status error;                     // Why it ended before it was done; OK: it is done.
  std::optional<StudyProgress> progress;  // The last.
};

// Thread-safe, as far as its secret's source is. Errors are the daemon's, with their numbers,
// B0704: no daemon answers there, and B0707: the daemon speaks another protocol.
class TunerClient : public Studies {
 public:
  // Gives what the daemon knows this client by, when something is to be changed.
  using SecretSource = std::function<absl::StatusOr<std::string>()>;

  // `secret` null: the client may look; what it submits is changed on the daemon's machine only.
  // `self`: another one in tests.
  explicit TunerClient(const std::string& server, SecretSource secret = nullptr,
                       const Speaker& self = ThisVersion("tuner"));
  ~TunerClient() override;

  absl::StatusOr<StudyView> Get(const std::string& id) override;
  absl::StatusOr<std::vector<StudySummary>> List(const StudyQuery& query) override;
  absl::StatusOr<std::string> Cancel(const std::string& id) override;
  absl::StatusOr<RetriedStudy> Retry(const std::string& what) override;
  absl::Status Watch(const std::string& id, absl::Duration interval,
                     const std::function<bool(const StudyView&)>& look) override;

  // Sends the study with the bytes of its model file, where it has one; returns its id. Errors
  // also: B02xx.
  absl::StatusOr<std::string> Submit(const StudySpec& spec);
  // `trials`: as ExtendStudy takes them; empty: as they are.
  absl::StatusOr<std::string> Resume(const std::string& id, const std::string& trials = "");
  // Follows a run until it ends. CANCELLED: StopFollowing was called.
  absl::StatusOr<FollowedRun> Follow(const std::string& id,
                                     const std::function<void(const StudyProgress&)>& on_progress);
  // From any thread; also ends a Follow that comes later.
  void StopFollowing();

  // As RecordStore::Best, exact workloads only.
  absl::StatusOr<BestAnswer> Best(const BestQuery& query);
  // All pages of `question`. B0704 also where the daemon is of a version without the call.
  absl::StatusOr<RecordsAnswer> QueryRecords(RecordsQuestion question);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace burnish

#endif  // TUNER_SERVE_TUNER_CLIENT_H_
