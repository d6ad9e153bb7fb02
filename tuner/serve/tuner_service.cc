#include "tuner/serve/tuner_service.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/rpc.h"
#include "proto/rpc_server.h"
#include "proto/study.h"
#include "proto/tuner.grpc.pb.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/extend_study.h"
#include "tuner/app/query_records.h"
#include "tuner/app/retry_study.h"
#include "tuner/app/studies.h"
#include "tuner/app/study_spec.h"
#include "tuner/serve/client_identity.h"
#include "tuner/serve/tuner_messages.h"
#include "tuner/serve/upload_watch.h"
#include "tuner/serve/wire_enums.h"

namespace burnish {
namespace {

constexpr absl::Duration kIntervalMin = absl::Milliseconds(100);
constexpr absl::Duration kIntervalMax = absl::Seconds(2);
constexpr int kListMax = 1000;
constexpr int kThreadsMax = 128;  // Of calls; those that watch hold one each.

grpc::Status WithDetail(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
          ErrorDetailOf(status)};
}

// One of a bounded number of things, for as long as it lives.
class Slot {
 public:
  Slot(std::atomic<int>& count, int max) : count_(count), ok_(++count <= max) {}
  ~Slot() { --count_; }
  bool ok() const { return ok_; }

 private:
  std::atomic<int>& count_;
  const bool ok_;
};

v1::StudyEnd EndOf(const StudyNews& news) {
  if (!news.ended) return {};
  return ToProto(StudyEnding{.reason = news.reason, .error = news.error});
}

}  // namespace

// A thread a call: calls are few, and two of them are streams.
class TunerService::Impl : public v1::Tuner::Service {
 public:
  explicit Impl(const TunerServiceOptions& options)
      : options_(options),
        greeter_(options.self, options.secret),
        studies_(options.database, options.clock),
        upload_watch_(options.upload_silence_max) {}
  ~Impl() override;
  absl::Status Listen();
  const std::string& address() const { return server_->address(); }

  grpc::Status SubmitStudy(grpc::ServerContext* context,
                           grpc::ServerReader<v1::SubmitStudyRequest>* reader,
                           v1::SubmitStudyResponse* response) override;
  grpc::Status ResumeStudy(grpc::ServerContext* context, const v1::ResumeStudyRequest* request,
                           v1::ResumeStudyResponse* response) override;
  grpc::Status CancelStudy(grpc::ServerContext* context, const v1::CancelStudyRequest* request,
                           v1::CancelStudyResponse* response) override;
  grpc::Status RetryStudy(grpc::ServerContext* context, const v1::RetryStudyRequest* request,
                          v1::RetryStudyResponse* response) override;
  grpc::Status GetStudy(grpc::ServerContext* context, const v1::GetStudyRequest* request,
                        v1::GetStudyResponse* response) override;
  grpc::Status ListStudies(grpc::ServerContext* context, const v1::ListStudiesRequest* request,
                           v1::ListStudiesResponse* response) override;
  grpc::Status WatchStudy(grpc::ServerContext* context, const v1::WatchStudyRequest* request,
                          grpc::ServerWriter<v1::StudyUpdate>* writer) override;
  grpc::Status FindBest(grpc::ServerContext* context, const v1::FindBestRequest* request,
                        v1::FindBestResponse* response) override;
  grpc::Status QueryRecords(grpc::ServerContext* context, const v1::QueryRecordsRequest* request,
                            v1::QueryRecordsResponse* response) override;

 private:
  // With its model kept, where it came with one.
  absl::StatusOr<StudySpec> Receive(grpc::ServerContext& context,
                                    grpc::ServerReader<v1::SubmitStudyRequest>& reader);
  absl::Status WatchView(const std::string& id, absl::Duration interval,
                         const grpc::ServerContext& context,
                         grpc::ServerWriter<v1::StudyUpdate>& writer);
  void WatchProgress(const std::string& id, absl::Duration interval,
                     const grpc::ServerContext& context,
                     grpc::ServerWriter<v1::StudyUpdate>& writer);

  const TunerServiceOptions options_;
  const Greeter greeter_;
  LocalStudies studies_;
  std::unique_ptr<RpcServer> server_;
  std::atomic<bool> stopping_ = false;
  UploadWatch upload_watch_;
  std::atomic<int> uploads_ = 0;
  std::atomic<int> watchers_ = 0;
};

absl::Status TunerService::Impl::Listen() {
  ASSIGN_OR_RETURN(server_, RpcServer::Start(options_.listen, [this](grpc::ServerBuilder& builder) {
                     builder.RegisterService(this);
                     grpc::ResourceQuota quota("tuner");
                     quota.SetMaxThreads(kThreadsMax);
                     builder.SetResourceQuota(quota);
                   }));
  return absl::OkStatus();
}

TunerService::Impl::~Impl() {
  if (server_ == nullptr) return;
  server_->SetNotServing();
  stopping_ = true;
  server_.reset();
}

// ---- Changes

absl::StatusOr<StudySpec> TunerService::Impl::Receive(
    grpc::ServerContext& context, grpc::ServerReader<v1::SubmitStudyRequest>& reader) {
  std::optional<UploadWatch::Upload> watched;
  watched.emplace(upload_watch_, [&context] { context.TryCancel(); });
  v1::SubmitStudyRequest part;
  if (!reader.Read(&part) || !part.has_spec()) {
    return absl::InvalidArgumentError("got no specification, want it first");
  }
  ASSIGN_OR_RETURN(StudySpec spec, FromProto(part.spec()));
  // Before its model comes.
  RETURN_IF_ERROR(CheckStudySpec(spec));
  // Never as the client says: it could give its study to somebody else.
  ASSIGN_OR_RETURN(spec.client_sha256, StoredClient(part.client_secret()));
  // A study without a model's file takes nobody's place.
  std::optional<Slot> slot;
  std::string model;
  while (reader.Read(&part)) {
    if (!slot.has_value()) slot.emplace(uploads_, options_.uploads_max);
    if (!slot->ok()) return absl::ResourceExhaustedError("too many models are sent at a time");
    watched->Received(static_cast<int64_t>(part.model_bytes().size()));
    const auto size = static_cast<int64_t>(model.size() + part.model_bytes().size());
    if (size > options_.model_bytes_max) {
      return MakeError(ErrorCode::kModelTooLarge,
                       absl::StrCat("the daemon takes models of at most ",
                                    options_.model_bytes_max >> 20, " MiB"),
                       spec.model_path, "submit it on the machine with the farm, without --server");
    }
    model += part.model_bytes();
  }
  watched.reset();
  // What was cut off on its way is no study.
  if (context.IsCancelled()) {
    return absl::CancelledError("the client has gone, or sent nothing for too long");
  }
  if (!spec.model_path.empty()) RETURN_IF_ERROR(options_.host->KeepModel(spec, model));
  return spec;
}

grpc::Status TunerService::Impl::SubmitStudy(grpc::ServerContext* context,
                                             grpc::ServerReader<v1::SubmitStudyRequest>* reader,
                                             v1::SubmitStudyResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok()) return ToGrpc(fit);
  absl::StatusOr<StudySpec> spec = Receive(*context, *reader);
  if (!spec.ok()) return WithDetail(spec.status());
  absl::StatusOr<std::string> id = options_.host->Submit(*std::move(spec));
  if (!id.ok()) return WithDetail(id.status());
  response->set_study_id(*std::move(id));
  return grpc::Status::OK;
}

grpc::Status TunerService::Impl::ResumeStudy(grpc::ServerContext* context,
                                             const v1::ResumeStudyRequest* request,
                                             v1::ResumeStudyResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok()) return ToGrpc(fit);
  const absl::StatusOr<std::string> id = ResolveStudyId(*options_.database, request->study_id());
  if (!id.ok()) return WithDetail(id.status());
  const absl::Status own = CheckClient(*options_.database, *id, request->client_secret());
  if (!own.ok()) return WithDetail(own);
  response->set_study_id(*id);
  if (!request->trials().empty()) {
    const absl::StatusOr<StudySpec> extended =
        ExtendStudy(*options_.database, *options_.clock, *id, request->trials());
    if (!extended.ok()) return WithDetail(extended.status());
  }
  return WithDetail(options_.host->Resume(*id));
}

grpc::Status TunerService::Impl::CancelStudy(grpc::ServerContext* context,
                                             const v1::CancelStudyRequest* request,
                                             v1::CancelStudyResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok()) return ToGrpc(fit);
  const absl::StatusOr<std::string> id = ResolveStudyId(*options_.database, request->study_id());
  if (!id.ok()) return WithDetail(id.status());
  const absl::Status own = CheckClient(*options_.database, *id, request->client_secret());
  if (!own.ok()) return WithDetail(own);
  // A run of the host sees it in the database, as one of another process would.
  if (const absl::Status status = studies_.Cancel(*id).status(); !status.ok()) {
    return WithDetail(status);
  }
  options_.host->Say("study cancelled", *id, "is cancelled by its client");
  response->set_study_id(*id);
  return grpc::Status::OK;
}

grpc::Status TunerService::Impl::RetryStudy(grpc::ServerContext* context,
                                            const v1::RetryStudyRequest* request,
                                            v1::RetryStudyResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok()) return ToGrpc(fit);
  const absl::StatusOr<std::string> id = FindRetried(*options_.database, request->what());
  if (!id.ok()) return WithDetail(id.status());
  const absl::Status own = CheckClient(*options_.database, *id, request->client_secret());
  if (!own.ok()) return WithDetail(own);
  const absl::StatusOr<RetriedStudy> retried = studies_.Retry(request->what());
  if (!retried.ok()) return WithDetail(retried.status());
  options_.host->Say("study retried", retried->study_id,
                     absl::StrCat("retried: ", retried->lifted_count, " candidates"));
  response->set_study_id(retried->study_id);
  response->set_lifted_count(retried->lifted_count);
  response->set_open_count(retried->open_count);
  return grpc::Status::OK;
}

// ---- Questions

grpc::Status TunerService::Impl::GetStudy(grpc::ServerContext* context,
                                          const v1::GetStudyRequest* request,
                                          v1::GetStudyResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok()) return ToGrpc(fit);
  const absl::StatusOr<StudyView> view = studies_.Get(request->study_id());
  if (!view.ok()) return WithDetail(view.status());
  *response->mutable_study() = ToProto(*view);
  return grpc::Status::OK;
}

grpc::Status TunerService::Impl::ListStudies(grpc::ServerContext* context,
                                             const v1::ListStudiesRequest* request,
                                             v1::ListStudiesResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok()) return ToGrpc(fit);
  if (request->limit() < 1 || request->limit() > kListMax) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "limit is out of its bounds"};
  }
  StudyQuery query{.after_id = request->after_id(), .limit = request->limit()};
  if (request->state() != v1::StudySummary::STATE_UNSPECIFIED) {
    const absl::StatusOr<StudyState> state = FromProto(request->state());
    if (!state.ok()) return WithDetail(state.status());
    query.state = *state;
  }
  const absl::StatusOr<std::vector<StudySummary>> studies = studies_.List(query);
  if (!studies.ok()) return WithDetail(studies.status());
  for (const StudySummary& summary : *studies) *response->add_studies() = burnish::ToProto(summary);
  return grpc::Status::OK;
}

grpc::Status TunerService::Impl::FindBest(grpc::ServerContext* context,
                                          const v1::FindBestRequest* request,
                                          v1::FindBestResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok()) return ToGrpc(fit);
  const absl::StatusOr<BestQuery> query = FromProto(*request);
  if (!query.ok()) return WithDetail(query.status());
  const absl::StatusOr<BestAnswer> answer = options_.database->records->Best(*query);
  if (!answer.ok()) return WithDetail(DatabaseError(answer.status(), options_.database->url));
  *response = burnish::ToProto(*answer);
  return grpc::Status::OK;
}

grpc::Status TunerService::Impl::QueryRecords(grpc::ServerContext* context,
                                              const v1::QueryRecordsRequest* request,
                                              v1::QueryRecordsResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok()) return ToGrpc(fit);
  const absl::StatusOr<RecordsQuestion> question = FromProto(*request);
  if (!question.ok()) return WithDetail(question.status());
  const absl::StatusOr<RecordsAnswer> answer = burnish::QueryRecords(*options_.database, *question);
  if (!answer.ok()) return WithDetail(answer.status());
  *response = burnish::ToProto(*answer);
  return grpc::Status::OK;
}

// ---- Streams

grpc::Status TunerService::Impl::WatchStudy(grpc::ServerContext* context,
                                            const v1::WatchStudyRequest* request,
                                            grpc::ServerWriter<v1::StudyUpdate>* writer) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok()) return ToGrpc(fit);
  const Slot slot(watchers_, options_.watchers_max);
  if (!slot.ok()) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watch already"};
  const absl::StatusOr<std::string> id = ResolveStudyId(*options_.database, request->study_id());
  if (!id.ok()) return WithDetail(id.status());
  const absl::Duration interval =
      std::clamp(absl::Nanoseconds(request->interval_ns()), kIntervalMin, kIntervalMax);
  if (request->what() == v1::WatchStudyRequest::PROGRESS) {
    WatchProgress(*id, interval, *context, *writer);
  } else {
    const absl::Status status = WatchView(*id, interval, *context, *writer);
    if (!status.ok()) return WithDetail(status);
  }
  if (stopping_) return {grpc::StatusCode::UNAVAILABLE, "the daemon stops"};
  return grpc::Status::OK;
}

absl::Status TunerService::Impl::WatchView(const std::string& id, absl::Duration interval,
                                           const grpc::ServerContext& context,
                                           grpc::ServerWriter<v1::StudyUpdate>& writer) {
  std::string last;
  RETURN_IF_ERROR(studies_.Watch(id, interval, [&](const StudyView& view) {
    v1::StudyUpdate update;
    *update.mutable_view() = burnish::ToProto(view);
    std::string bytes = update.SerializeAsString();
    if (bytes != last && !writer.Write(update)) return false;
    last = std::move(bytes);
    return !stopping_ && !context.IsCancelled();
  }));
  if (stopping_) return absl::OkStatus();
  v1::StudyUpdate update;
  *update.mutable_end() = EndOf(options_.host->Wait(id, -1, absl::ZeroDuration()));
  writer.Write(update);
  return absl::OkStatus();
}

void TunerService::Impl::WatchProgress(const std::string& id, absl::Duration interval,
                                       const grpc::ServerContext& context,
                                       grpc::ServerWriter<v1::StudyUpdate>& writer) {
  int64_t seen = -1;
  absl::Time sent_at = absl::InfinitePast();
  while (!stopping_ && !context.IsCancelled()) {
    const StudyNews news = options_.host->Wait(id, seen, kIntervalMax);
    seen = news.version;
    const absl::Time now = options_.clock->SteadyNow();
    v1::StudyUpdate update;
    if (news.progress.has_value()) *update.mutable_progress() = burnish::ToProto(*news.progress);
    if (news.version == 0 || news.ended) {
      // A host that stops ends its runs: the next daemon goes on with them.
      if (stopping_) return;
      *update.mutable_end() = EndOf(news);
      writer.Write(update);
      return;
    }
    if (!news.progress.has_value() || now - sent_at < interval) continue;
    sent_at = now;
    if (!writer.Write(update)) return;
  }
}

absl::StatusOr<std::unique_ptr<TunerService>> TunerService::Start(
    const TunerServiceOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  RETURN_IF_ERROR(impl->Listen());
  return std::unique_ptr<TunerService>(new TunerService(std::move(impl)));
}

TunerService::TunerService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TunerService::~TunerService() = default;

const std::string& TunerService::address() const { return impl_->address(); }

}  // namespace burnish
