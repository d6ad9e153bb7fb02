// A tracker with a worker, all of them real processes, and whether they still serve.
#ifndef TESTS_E2E_FIELDS_FARM_H_
#define TESTS_E2E_FIELDS_FARM_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/file.h"
#include "tracker/tracker_client.h"

namespace burnish {

inline constexpr char kHonest[] = "honest";
constexpr absl::Duration kServedWithin = absl::Seconds(20);  // Milliseconds, when all is well.

// One call of anything that can be encoded; ends with this object, whatever became of it.
class RawCall {
 public:
  RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
          const std::string& message);
  ~RawCall();
  // Its status, once it ends.
  grpc::Status Wait();

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call_;
  grpc::ByteBuffer response_;
  grpc::Status status_;
  bool ended_ = false;
};

class Farm {
 public:
  Farm();
  ~Farm();

  const std::string& tracker() const { return tracker_address_; }
  const std::string& folder() const { return folder_.path(); }

  // No daemon has ended, the honest worker is alive and not paused, and a worker and a tuner that
  // nobody knows yet do a job together. Else what is wrong.
  absl::Status Check();
  // No job is queued or leased any more.
  absl::Status CheckClean();
  // What the honest worker makes of a job; CANCELLED: no end within `patience`.
  absl::StatusOr<JobOutcome> Do(JobKind kind, const std::string& payload, absl::Duration patience);

 private:
  absl::Status CheckWorker() const;
  absl::Status CheckFresh();

  const TempDir folder_;
  const std::string tracker_address_;
  std::unique_ptr<Child> tracker_, worker_;
  std::unique_ptr<TrackerClient> tuner_;
  int count_ = 0;  // Of fresh ones, and of jobs.
};

// OK while it runs. Drains what it says.
absl::Status CheckRuns(Child& child, const std::string& name);

}  // namespace burnish

#endif  // TESTS_E2E_FIELDS_FARM_H_
