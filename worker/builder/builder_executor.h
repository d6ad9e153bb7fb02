// A worker's slot for build jobs: compiles them with the builder child and puts what was built into
// the tracker's content store.
#ifndef WORKER_BUILDER_BUILDER_EXECUTOR_H_
#define WORKER_BUILDER_BUILDER_EXECUTOR_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "proto/builder.h"
#include "proto/job.h"
#include "proto/synchronize.h"
#include "worker/agent/slot_executor.h"

namespace burnish {

class BuilderExecutor : public SlotExecutor {
 public:
  // Stores an artifact that was built under the lease and returns its SHA-256, as
  // ArtifactClient::Put does.
  using PutArtifact =
      std::function<absl::StatusOr<std::string>(absl::string_view artifact, const Lease& lease)>;

  BuilderExecutor(std::unique_ptr<Builder> builder, PutArtifact put_artifact);
  ~BuilderExecutor() override;

  void Start(const JobSpec& job, const Lease& lease, Done done) override;
  void Cancel() override;

 private:
  struct Execution {
    JobSpec job;
    Lease lease;
    Done done;
  };

  void Loop();
  JobOutcome Execute(const JobSpec& job, const Lease& lease);

  const std::unique_ptr<Builder> builder_;
  const PutArtifact put_artifact_;
  absl::Mutex mutex_;
  std::optional<Execution> next_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace burnish

#endif  // WORKER_BUILDER_BUILDER_EXECUTOR_H_
