#include "proto/artifact_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/artifact_codec.h"
#include "proto/rpc.h"
#include "proto/tracker.grpc.pb.h"

namespace burnish {
namespace {

constexpr std::chrono::seconds kTimeout(10);

void Prepare(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kTimeout);
  context.set_wait_for_ready(true);  // Over a tracker's restart.
}

}  // namespace

struct ArtifactClient::Stub {
  explicit Stub(const std::shared_ptr<grpc::Channel>& channel)
      : rpc(v1::Tracker::NewStub(channel)) {}
  std::unique_ptr<v1::Tracker::Stub> rpc;
};

ArtifactClient::ArtifactClient(const std::string& address) : ArtifactClient(OpenChannel(address)) {}

ArtifactClient::ArtifactClient(std::shared_ptr<grpc::Channel> channel)
    : stub_(std::make_unique<Stub>(channel)) {}

ArtifactClient::~ArtifactClient() = default;

absl::StatusOr<std::string> ArtifactClient::Put(absl::string_view artifact) {
  v1::PutArtifactRequest request;
  ASSIGN_OR_RETURN(*request.mutable_zstd(), CompressArtifact(artifact));
  request.set_sha256(ArtifactSha256(artifact));
  v1::PutArtifactResponse response;
  grpc::ClientContext context;
  Prepare(context);
  RETURN_IF_ERROR(FromGrpc(stub_->rpc->PutArtifact(&context, request, &response)));
  return request.sha256();
}

absl::StatusOr<std::string> ArtifactClient::Get(const std::string& sha256) {
  v1::GetArtifactRequest request;
  request.set_sha256(sha256);
  v1::GetArtifactResponse response;
  grpc::ClientContext context;
  Prepare(context);
  RETURN_IF_ERROR(FromGrpc(stub_->rpc->GetArtifact(&context, request, &response)));
  absl::StatusOr<std::string> artifact = DecompressArtifact(response.zstd(), sha256);
  if (!artifact.ok()) return absl::DataLossError(artifact.status().message());
  return artifact;
}

}  // namespace burnish
