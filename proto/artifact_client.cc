#include "proto/artifact_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/artifact_codec.h"
#include "proto/rpc.h"
#include "proto/tracker.grpc.pb.h"

namespace burnish {
namespace {

constexpr std::chrono::seconds kTimeout(10);
// Between attempts to deliver to a tracker that was restarted: tuner and agent come back within
// about as much (tracker/tracker_client.cc, worker/agent/agent_client.cc). Not tuned.
constexpr std::chrono::milliseconds kPutPause(100);

using Deadline = std::chrono::system_clock::time_point;
Deadline Soon() { return std::chrono::system_clock::now() + kTimeout; }

void Prepare(Deadline deadline, grpc::ClientContext& context) {
  context.set_deadline(deadline);
  context.set_wait_for_ready(true);  // Over a tracker's restart.
}

}  // namespace

struct ArtifactClient::Stub {
  explicit Stub(const std::shared_ptr<grpc::Channel>& channel)
      : rpc(v1::Tracker::NewStub(channel)) {}
  std::unique_ptr<v1::Tracker::Stub> rpc;
};

ArtifactClient::ArtifactClient(std::shared_ptr<grpc::Channel> channel)
    : stub_(std::make_unique<Stub>(channel)) {}

ArtifactClient::~ArtifactClient() = default;

absl::StatusOr<std::string> ArtifactClient::Put(absl::string_view artifact,
                                                const ArtifactSource& source) {
  v1::PutArtifactRequest request;
  ASSIGN_OR_RETURN(*request.mutable_zstd(), CompressArtifact(artifact));
  request.set_sha256(ArtifactSha256(artifact));
  request.set_worker_id(source.worker_id);
  request.set_incarnation(source.incarnation);
  request.mutable_lease()->set_job_id(source.lease.job_id);
  request.mutable_lease()->set_epoch(source.lease.epoch);
  const Deadline deadline = Soon();
  while (true) {
    v1::PutArtifactResponse response;
    grpc::ClientContext context;
    Prepare(deadline, context);
    const absl::Status status = FromGrpc(stub_->rpc->PutArtifact(&context, request, &response));
    if (status.ok()) return request.sha256();
    // Putting it twice does no harm.
    const bool may_do_better =
        absl::IsUnavailable(status) && std::chrono::system_clock::now() + kPutPause < deadline;
    if (!may_do_better) return status;
    std::this_thread::sleep_for(kPutPause);
  }
}

absl::StatusOr<std::string> ArtifactClient::Get(const std::string& sha256) {
  v1::GetArtifactRequest request;
  request.set_sha256(sha256);
  v1::GetArtifactResponse response;
  grpc::ClientContext context;
  Prepare(Soon(), context);
  RETURN_IF_ERROR(FromGrpc(stub_->rpc->GetArtifact(&context, request, &response)));
  absl::StatusOr<std::string> artifact = DecompressArtifact(response.zstd(), sha256);
  if (!artifact.ok()) return absl::DataLossError(artifact.status().message());
  return artifact;
}

}  // namespace burnish
