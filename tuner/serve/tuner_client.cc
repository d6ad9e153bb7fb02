#include "tuner/serve/tuner_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/rpc.h"
#include "proto/tuner.grpc.pb.h"
#include "tuner/app/error.h"
#include "tuner/app/model_source.h"
#include "tuner/serve/tuner_messages.h"
#include "tuner/serve/wire_enums.h"

namespace burnish {
namespace {

constexpr std::chrono::seconds kCallTimeout(20);
// It reads the model and cuts it into tasks before it answers.
constexpr std::chrono::minutes kSubmitTimeout(10);
constexpr size_t kPartBytes = 1 << 20;
constexpr int kListMax = 1000;  // A call's, by the service.

void SetTimeout(grpc::ClientContext& context, std::chrono::seconds timeout) {
  context.set_deadline(std::chrono::system_clock::now() + timeout);
}

}  // namespace

class TunerClient::Impl {
 public:
  Impl(const std::string& server, SecretSource secret, const Speaker& self)
      : server_(server),
        secret_(std::move(secret)),
        stub_(v1::Tuner::NewStub(OpenChannel(server, self))) {}

  absl::StatusOr<std::string> Secret() const {
    return secret_ == nullptr ? absl::StatusOr<std::string>("") : secret_();
  }

  v1::Tuner::Stub& stub() { return *stub_; }

  absl::Status FromCall(const grpc::Status& status) const {
    if (const absl::Status refusal = FromGrpc(status); IsProtocolRefusal(refusal)) {
      return WithError(refusal, ErrorCode::kServerProtocol, server_);
    }
    const absl::Status result = WithErrorDetail(FromGrpc(status), status.error_details());
    switch (status.error_code()) {
      case grpc::StatusCode::OK:
        return absl::OkStatus();
      case grpc::StatusCode::UNAVAILABLE:
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        return WithError(result, ErrorCode::kServerUnreachable, server_);
      case grpc::StatusCode::UNIMPLEMENTED:
        return WithError(result, ErrorCode::kServerUnreachable, server_,
                         "something else answers there: a tracker, or another version");
      default:
        return WithError(result, ErrorCodeOf(result), server_);
    }
  }

  // The context of a call that StopFollowing ends; one at a time.
  void BeginFollowing(grpc::ClientContext* context) {
    const std::lock_guard<std::mutex> lock(mutex_);
    following_ = context;
    if (stopped_ && context != nullptr) context->TryCancel();
  }
  void StopFollowing() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    if (following_ != nullptr) following_->TryCancel();
  }

 private:
  const std::string server_;
  const SecretSource secret_;
  const std::unique_ptr<v1::Tuner::Stub> stub_;
  std::mutex mutex_;
  grpc::ClientContext* following_ = nullptr;
  bool stopped_ = false;
};

TunerClient::TunerClient(const std::string& server, SecretSource secret, const Speaker& self)
    : impl_(std::make_unique<Impl>(server, std::move(secret), self)) {}
TunerClient::~TunerClient() = default;

absl::StatusOr<StudyView> TunerClient::Get(const std::string& id) {
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  v1::GetStudyRequest request;
  v1::GetStudyResponse response;
  request.set_study_id(id);
  RETURN_IF_ERROR(impl_->FromCall(impl_->stub().GetStudy(&context, request, &response)));
  return FromProto(response.study());
}

absl::StatusOr<std::vector<StudySummary>> TunerClient::List(const StudyQuery& query) {
  std::vector<StudySummary> studies;
  v1::ListStudiesRequest request;
  request.set_after_id(query.after_id);
  if (query.state.has_value()) request.set_state(ToProto(*query.state));
  while (static_cast<int>(studies.size()) < query.limit) {
    grpc::ClientContext context;
    SetTimeout(context, kCallTimeout);
    request.set_limit(std::min(kListMax, query.limit - static_cast<int>(studies.size())));
    v1::ListStudiesResponse response;
    RETURN_IF_ERROR(impl_->FromCall(impl_->stub().ListStudies(&context, request, &response)));
    for (const v1::StudySummary& summary : response.studies()) {
      ASSIGN_OR_RETURN(studies.emplace_back(), FromProto(summary));
    }
    if (response.studies_size() < request.limit()) break;
    request.set_after_id(studies.back().study.id);
  }
  return studies;
}

absl::StatusOr<RecordsAnswer> TunerClient::QueryRecords(RecordsQuestion question) {
  RecordsAnswer answer;
  const int64_t tasks_end = question.tasks_skipped + question.tasks_max;
  while (true) {
    grpc::ClientContext context;
    SetTimeout(context, kCallTimeout);
    v1::QueryRecordsResponse response;
    RETURN_IF_ERROR(
        impl_->FromCall(impl_->stub().QueryRecords(&context, ToProto(question), &response)));
    ASSIGN_OR_RETURN(RecordsAnswer page, FromProto(response));
    std::move(page.tasks.begin(), page.tasks.end(), std::back_inserter(answer.tasks));
    answer.tasks_left = page.tasks_left;
    // A daemon that does not get on must not keep us here.
    if (page.tasks_left == 0 || page.tasks_next >= tasks_end ||
        page.tasks_next <= question.tasks_skipped) {
      break;
    }
    question.tasks_skipped = page.tasks_next;
    question.tasks_max = tasks_end - page.tasks_next;
  }
  return answer;
}

absl::StatusOr<std::string> TunerClient::Cancel(const std::string& id) {
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  v1::CancelStudyRequest request;
  v1::CancelStudyResponse response;
  request.set_study_id(id);
  ASSIGN_OR_RETURN(*request.mutable_client_secret(), impl_->Secret());
  RETURN_IF_ERROR(impl_->FromCall(impl_->stub().CancelStudy(&context, request, &response)));
  return response.study_id();
}

absl::StatusOr<RetriedStudy> TunerClient::Retry(const std::string& what) {
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  v1::RetryStudyRequest request;
  v1::RetryStudyResponse response;
  request.set_what(what);
  ASSIGN_OR_RETURN(*request.mutable_client_secret(), impl_->Secret());
  RETURN_IF_ERROR(impl_->FromCall(impl_->stub().RetryStudy(&context, request, &response)));
  return RetriedStudy{.study_id = response.study_id(),
                      .lifted_count = response.lifted_count(),
                      .open_count = response.open_count()};
}

absl::Status TunerClient::Watch(const std::string& id, absl::Duration interval,
                                const std::function<bool(const StudyView&)>& look) {
  grpc::ClientContext context;
  v1::WatchStudyRequest request;
  request.set_study_id(id);
  request.set_what(v1::WatchStudyRequest::VIEW);
  request.set_interval_ns(absl::ToInt64Nanoseconds(interval));
  const auto reader = impl_->stub().WatchStudy(&context, request);
  v1::StudyUpdate update;
  absl::Status status;
  bool wanted = true;
  while (wanted && reader->Read(&update)) {
    if (!update.has_view()) continue;
    const absl::StatusOr<StudyView> view = FromProto(update.view());
    status.Update(view.status());
    wanted = view.ok() && look(*view);
  }
  if (!wanted) {
    context.TryCancel();
    reader->Finish();
    return status;
  }
  return impl_->FromCall(reader->Finish());
}

absl::StatusOr<std::string> TunerClient::Submit(const StudySpec& spec) {
  StudySpec sent = spec;
  sent.out_path.clear();  // The bundle is built here.
  std::string model;
  if (!spec.model_path.empty()) {
    ASSIGN_OR_RETURN(model, ReadModelFile(spec.model_path));
    sent.model_path = std::filesystem::path(spec.model_path).filename().string();
  }
  v1::SubmitStudyRequest part;
  *part.mutable_spec() = ToProto(sent);
  ASSIGN_OR_RETURN(*part.mutable_client_secret(), impl_->Secret());
  grpc::ClientContext context;
  SetTimeout(context, kSubmitTimeout);
  v1::SubmitStudyResponse response;
  const auto writer = impl_->stub().SubmitStudy(&context, &response);
  bool accepted = writer->Write(part);
  part.clear_client_secret();
  for (size_t at = 0; accepted && at < model.size(); at += kPartBytes) {
    part.set_model_bytes(model.substr(at, kPartBytes));
    accepted = writer->Write(part);
  }
  writer->WritesDone();
  RETURN_IF_ERROR(impl_->FromCall(writer->Finish()));
  return response.study_id();
}

absl::StatusOr<std::string> TunerClient::Resume(const std::string& id, const std::string& trials) {
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  v1::ResumeStudyRequest request;
  v1::ResumeStudyResponse response;
  request.set_study_id(id);
  request.set_trials(trials);
  ASSIGN_OR_RETURN(*request.mutable_client_secret(), impl_->Secret());
  RETURN_IF_ERROR(impl_->FromCall(impl_->stub().ResumeStudy(&context, request, &response)));
  return response.study_id();
}

absl::StatusOr<FollowedRun> TunerClient::Follow(
    const std::string& id, const std::function<void(const StudyProgress&)>& on_progress) {
  grpc::ClientContext context;
  impl_->BeginFollowing(&context);
  v1::WatchStudyRequest request;
  request.set_study_id(id);
  request.set_what(v1::WatchStudyRequest::PROGRESS);
  const auto reader = impl_->stub().WatchStudy(&context, request);
  FollowedRun run;
  v1::StudyUpdate update;
  bool ended = false;
  absl::Status status;
  while (reader->Read(&update) && status.ok()) {
    if (update.has_progress()) {
      absl::StatusOr<StudyProgress> progress = FromProto(update.progress());
      status.Update(progress.status());
      if (!progress.ok()) {
        context.TryCancel();
        continue;
      }
      on_progress(*progress);
      run.progress = *std::move(progress);
    }
    if (!update.has_end()) continue;
    ended = true;
    const StudyEnding ending = FromProto(update.end());
    run.reason = ending.reason;
    run.error = ending.error;
  }
  impl_->BeginFollowing(nullptr);
  const grpc::Status finished = reader->Finish();
  RETURN_IF_ERROR(status);
  if (finished.error_code() == grpc::StatusCode::CANCELLED) return absl::CancelledError("stopped");
  RETURN_IF_ERROR(impl_->FromCall(finished));
  if (!ended) return absl::InternalError("the daemon ended its answer without an end");
  return run;
}

void TunerClient::StopFollowing() { impl_->StopFollowing(); }

absl::StatusOr<BestAnswer> TunerClient::Best(const BestQuery& query) {
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  v1::FindBestResponse response;
  RETURN_IF_ERROR(impl_->FromCall(impl_->stub().FindBest(&context, ToProto(query), &response)));
  return FromProto(response);
}

}  // namespace burnish
