#include "tuner/serve/tuner_messages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "proto/record.pb.h"
#include "proto/rpc.h"
#include "proto/study.h"
#include "proto/study.pb.h"
#include "tuner/app/error.h"
#include "tuner/serve/wire_enums.h"

namespace burnish {
namespace {

// Bounds of one question, guesses: a daemon answers many, and none may hold its database for long.
constexpr int kBestMax = 100;
constexpr int kQueryTasksMax = 1000;
constexpr size_t kQueryTextMax = 4096;  // A target with all of its features has less than half.
// Half of what a message may have: the last task may go beyond, and records are more than traces.
constexpr int64_t kQueryBytesMax = kRpcMessageBytesMax / 2;

using FailureMap = google::protobuf::Map<int32_t, int64_t>;

void SetFailures(const std::map<FailureKind, int64_t>& counts, FailureMap& map) {
  for (const auto& [kind, count] : counts) map[static_cast<int32_t>(kind)] = count;
}

// Kinds of a newer version are passed over.
std::map<FailureKind, int64_t> GetFailures(const FailureMap& map) {
  std::map<FailureKind, int64_t> counts;
  for (const auto& [kind, count] : map) {
    if (kind >= 1 && kind <= kFailureKindCount) counts[static_cast<FailureKind>(kind)] = count;
  }
  return counts;
}

using PausedField = google::protobuf::RepeatedPtrField<v1::PausedWorker>;

void SetPaused(const std::vector<PausedWorker>& paused, PausedField& field) {
  for (const PausedWorker& worker : paused) {
    v1::PausedWorker* out = field.Add();
    out->set_worker_id(worker.worker_id);
    out->set_until_ns(worker.until_ns);
    out->set_count(worker.count);
  }
}

std::vector<PausedWorker> GetPaused(const PausedField& field) {
  std::vector<PausedWorker> paused;
  for (const v1::PausedWorker& in : field) {
    paused.push_back({.worker_id = in.worker_id(), .until_ns = in.until_ns(), .count = in.count()});
  }
  return paused;
}

}  // namespace

v1::StudySummary ToProto(const StudySummary& summary) {
  v1::StudySummary message;
  const Study& study = summary.study;
  message.set_id(study.id);
  message.set_title(study.title);
  message.set_target(study.target);
  message.set_state(ToProto(study.state));
  message.set_detail(study.detail);
  message.set_created_ns(study.created_ns);
  message.set_updated_ns(study.updated_ns);
  message.set_task_count(summary.task_count);
  message.set_log_length(summary.log_length);
  message.set_open_job_count(summary.open_job_count);
  message.set_owner(summary.lease.owner);
  message.set_lease_expires_ns(summary.lease.expires_ns);
  message.set_crash_count(summary.crash_count);
  return message;
}

absl::StatusOr<StudySummary> FromProto(const v1::StudySummary& message) {
  ASSIGN_OR_RETURN(const StudyState state, FromProto(message.state()));
  return StudySummary{.study = {.id = message.id(),
                                .title = message.title(),
                                .target = message.target(),
                                .state = state,
                                .detail = message.detail(),
                                .created_ns = message.created_ns(),
                                .updated_ns = message.updated_ns()},
                      .task_count = message.task_count(),
                      .log_length = message.log_length(),
                      .open_job_count = message.open_job_count(),
                      .lease = {.owner = message.owner(), .expires_ns = message.lease_expires_ns()},
                      .crash_count = message.crash_count()};
}

v1::StudyView ToProto(const StudyView& view) {
  v1::StudyView message;
  *message.mutable_summary() = ToProto(view.summary);
  *message.mutable_spec() = ToProto(view.spec);
  // Whose the study is, is between its client and the daemon.
  message.mutable_spec()->clear_client_sha256();
  message.set_trial_count(view.counts.trial_count);
  SetFailures(view.counts.failure_counts, *message.mutable_failure_counts());
  for (const TaskView& task : view.tasks) {
    v1::TaskView* out = message.add_tasks();
    out->set_workload_id(task.task.workload_id);
    out->set_name(task.task.name);
    out->set_weight(task.task.weight);
    if (task.flop_count.has_value()) out->set_flop_count(*task.flop_count);
    if (task.best.has_value()) *out->mutable_best() = ToProto(*task.best);
  }
  SetPaused(view.paused, *message.mutable_paused_workers());
  return message;
}

absl::StatusOr<StudyView> FromProto(const v1::StudyView& message) {
  StudyView view;
  ASSIGN_OR_RETURN(view.summary, FromProto(message.summary()));
  ASSIGN_OR_RETURN(view.spec, FromProto(message.spec()));
  view.paused = GetPaused(message.paused_workers());
  view.counts = {.trial_count = message.trial_count(),
                 .failure_counts = GetFailures(message.failure_counts())};
  for (const v1::TaskView& in : message.tasks()) {
    TaskView task{
        .task = {.workload_id = in.workload_id(), .name = in.name(), .weight = in.weight()}};
    if (in.has_flop_count()) task.flop_count = in.flop_count();
    if (in.has_best()) {
      ASSIGN_OR_RETURN(task.best, FromProto(in.best()));
    }
    view.tasks.push_back(std::move(task));
  }
  return view;
}

v1::StudyProgress ToProto(const StudyProgress& progress) {
  v1::StudyProgress message;
  message.set_study_id(progress.study_id);
  message.set_trial_count(progress.trial_count);
  message.set_trials_max(progress.trials_max);
  message.set_pending_count(progress.pending_count);
  SetFailures(progress.failure_counts, *message.mutable_failure_counts());
  message.set_elapsed_ns(absl::ToInt64Nanoseconds(progress.elapsed));
  message.set_predicted_gain(progress.predicted_gain);
  message.set_health_code(ToProto(progress.health.code()));
  message.set_health_message(std::string(progress.health.message()));
  SetPaused(progress.paused, *message.mutable_paused_workers());
  for (const TaskStatus& task : progress.tasks) {
    v1::TaskProgress* out = message.add_tasks();
    out->set_name(task.name);
    out->set_weight(task.weight);
    out->set_bound_ns(task.bound_ns);
    out->set_default_ns(task.default_ns);
    out->set_best_origin(ToProto(task.best.origin));
    out->set_best_ns(task.best.latency_ns);
    out->set_trial_count(task.trial_count);
    out->set_pending_count(task.pending_count);
    out->set_exhausted(task.exhausted);
    out->set_refined(task.best.refined);
  }
  v1::RefineProgress* refine = message.mutable_refine();
  refine->set_process_count(progress.refine.process_count);
  refine->set_process_count_max(progress.refine.process_count_max);
  refine->set_changed_count(progress.refine.changed_count);
  refine->set_gain(progress.refine.gain);
  refine->set_error(progress.refine.error);
  refine->set_network_ratio(progress.refine.network_ratio);
  refine->set_network_spread(progress.refine.network_spread);
  refine->set_defaults_taken(progress.refine.defaults_taken);
  refine->set_gains_only(progress.refine.gains_only);
  refine->mutable_task_gains()->Assign(progress.refine.task_gains.begin(),
                                       progress.refine.task_gains.end());
  v1::StudyTimes* times = message.mutable_times();
  times->set_search_ns(absl::ToInt64Nanoseconds(progress.times.search));
  times->set_wait_ns(absl::ToInt64Nanoseconds(progress.times.wait));
  times->set_refine_ns(absl::ToInt64Nanoseconds(progress.times.refine));
  times->set_build_ns(absl::ToInt64Nanoseconds(progress.times.build));
  times->set_check_ns(absl::ToInt64Nanoseconds(progress.times.check));
  times->set_run_ns(absl::ToInt64Nanoseconds(progress.times.run));
  times->set_queue_ns(absl::ToInt64Nanoseconds(progress.times.queue));
  return message;
}

absl::StatusOr<StudyProgress> FromProto(const v1::StudyProgress& message) {
  StudyProgress progress{
      .study_id = message.study_id(),
      .trial_count = message.trial_count(),
      .trials_max = message.trials_max(),
      .pending_count = message.pending_count(),
      .failure_counts = GetFailures(message.failure_counts()),
      .elapsed = absl::Nanoseconds(message.elapsed_ns()),
      .predicted_gain = message.predicted_gain(),
      .health = absl::Status(FromProto(message.health_code()), message.health_message()),
      .refine = {.process_count = message.refine().process_count(),
                 .process_count_max = message.refine().process_count_max(),
                 .changed_count = message.refine().changed_count(),
                 .gain = message.refine().gain(),
                 .network_ratio = message.refine().network_ratio(),
                 .network_spread = message.refine().network_spread(),
                 .defaults_taken = message.refine().defaults_taken(),
                 .task_gains = {message.refine().task_gains().begin(),
                                message.refine().task_gains().end()},
                 .gains_only = message.refine().gains_only(),
                 .error = message.refine().error()},
      .times = {.search = absl::Nanoseconds(message.times().search_ns()),
                .wait = absl::Nanoseconds(message.times().wait_ns()),
                .refine = absl::Nanoseconds(message.times().refine_ns()),
                .build = absl::Nanoseconds(message.times().build_ns()),
                .check = absl::Nanoseconds(message.times().check_ns()),
                .run = absl::Nanoseconds(message.times().run_ns()),
                .queue = absl::Nanoseconds(message.times().queue_ns())},
      .paused = GetPaused(message.paused_workers())};
  for (const v1::TaskProgress& in : message.tasks()) {
    ASSIGN_OR_RETURN(const BestOrigin origin, FromProto(in.best_origin()));
    progress.tasks.push_back(
        {.name = in.name(),
         .weight = in.weight(),
         .bound_ns = in.bound_ns(),
         .default_ns = in.default_ns(),
         .best = {.origin = origin, .latency_ns = in.best_ns(), .refined = in.refined()},
         .trial_count = in.trial_count(),
         .pending_count = in.pending_count(),
         .exhausted = in.exhausted()});
  }
  return progress;
}

v1::StudyEnd ToProto(const StudyEnding& ending) {
  v1::StudyEnd message;
  message.set_reason(ToProto(ending.reason));
  message.set_status_code(ToProto(ending.error.code()));
  message.set_message(std::string(ending.error.message()));
  message.mutable_detail()->ParseFromString(ErrorDetailOf(ending.error));
  return message;
}

StudyEnding FromProto(const v1::StudyEnd& message) {
  const absl::Status error(FromProto(message.status_code()), message.message());
  // A newer daemon's reason is none that this client can name; whether it is an error it sees.
  return {.reason = FromProto(message.reason()).value_or(StopReason::kNone),
          .error = WithErrorDetail(error, message.detail().SerializeAsString())};
}

v1::FindBestRequest ToProto(const BestQuery& query) {
  v1::FindBestRequest message;
  message.set_workload_id(query.workload_id);
  message.set_anchor_id(query.anchor_id);
  message.set_target(query.target);
  message.set_isa_key(query.isa_key);
  const AccuracyLimit accuracy = query.accuracy.value_or(AccuracyLimit());
  message.set_error_max(accuracy.error_max);
  message.set_strict(accuracy.strict);
  message.set_limit(query.limit);
  message.set_method_version(query.method_version.value_or(0));  // 0, which is none: any.
  return message;
}

absl::StatusOr<BestQuery> FromProto(const v1::FindBestRequest& message) {
  if (message.limit() < 1 || message.limit() > kBestMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("got limit ", message.limit(), ", want 1..", kBestMax));
  }
  BestQuery query{
      .workload_id = message.workload_id(),
      .anchor_id = message.anchor_id(),
      .target = message.target(),
      .isa_key = message.isa_key(),
      .accuracy = AccuracyLimit{.error_max = message.error_max(), .strict = message.strict()},
      .limit = message.limit()};
  if (message.method_version() != 0) query.method_version = message.method_version();
  return query;
}

v1::FindBestResponse ToProto(const BestAnswer& answer) {
  v1::FindBestResponse message;
  message.set_workload_match(ToProto(answer.workload_match));
  message.set_exact_target(answer.exact_target);
  for (const Record& record : answer.records) *message.add_records() = ToProto(record);
  return message;
}

absl::StatusOr<BestAnswer> FromProto(const v1::FindBestResponse& message) {
  ASSIGN_OR_RETURN(const WorkloadMatch match, FromProto(message.workload_match()));
  BestAnswer answer{.workload_match = match, .exact_target = message.exact_target()};
  for (const v1::Record& in : message.records()) {
    ASSIGN_OR_RETURN(answer.records.emplace_back(), FromProto(in));
  }
  return answer;
}

v1::QueryRecordsRequest ToProto(const RecordsQuestion& question) {
  v1::QueryRecordsRequest message;
  message.set_task(question.task);
  message.set_model_sha256(question.model_sha256);
  message.set_target(question.target);
  message.set_top(question.top);
  message.set_tasks_max(
      static_cast<int32_t>(std::min<int64_t>(question.tasks_max, kQueryTasksMax)));
  message.set_tasks_skipped(question.tasks_skipped);
  return message;
}

absl::StatusOr<RecordsQuestion> FromProto(const v1::QueryRecordsRequest& message) {
  const bool in_bounds = message.top() >= 1 && message.top() <= kBestMax &&
                         message.tasks_max() >= 1 && message.tasks_max() <= kQueryTasksMax &&
                         message.tasks_skipped() >= 0 && message.task().size() <= kQueryTextMax &&
                         message.target().size() <= kQueryTextMax &&
                         message.model_sha256().size() <= kQueryTextMax;
  if (!in_bounds) {
    return absl::InvalidArgumentError(
        absl::StrCat("got a question out of bounds, want the best 1..", kBestMax, " of each of 1..",
                     kQueryTasksMax, " tasks, and texts of at most ", kQueryTextMax, " bytes"));
  }
  return RecordsQuestion{.task = message.task(),
                         .model_sha256 = message.model_sha256(),
                         .target = message.target(),
                         .top = message.top(),
                         .tasks_max = message.tasks_max(),
                         .tasks_skipped = message.tasks_skipped(),
                         .bytes_max = kQueryBytesMax};
}

v1::QueryRecordsResponse ToProto(const RecordsAnswer& answer) {
  v1::QueryRecordsResponse message;
  for (const RecordedTask& task : answer.tasks) {
    v1::QueryRecordsResponse::Task& out = *message.add_tasks();
    out.set_name(task.name);
    if (task.flop_count.has_value()) out.set_flop_count(*task.flop_count);
    for (const Record& record : task.records) *out.add_records() = ToProto(record);
  }
  message.set_tasks_left(answer.tasks_left);
  message.set_tasks_next(answer.tasks_next);
  return message;
}

absl::StatusOr<RecordsAnswer> FromProto(const v1::QueryRecordsResponse& message) {
  RecordsAnswer answer{.tasks_left = message.tasks_left(), .tasks_next = message.tasks_next()};
  if (answer.tasks_left < 0 || answer.tasks_next < 0) {
    return absl::InvalidArgumentError("got a negative number of tasks");
  }
  for (const v1::QueryRecordsResponse::Task& in : message.tasks()) {
    RecordedTask& task = answer.tasks.emplace_back();
    task.name = in.name();
    if (in.has_flop_count()) task.flop_count = in.flop_count();
    for (const v1::Record& record : in.records()) {
      ASSIGN_OR_RETURN(task.records.emplace_back(), FromProto(record));
    }
  }
  return answer;
}

std::string ErrorDetailOf(const absl::Status& status) {
  const ErrorParts parts = PartsOf(status);
  if (!parts.code.has_value()) return "";
  v1::ErrorDetail detail;
  detail.set_code(static_cast<int32_t>(*parts.code));
  detail.set_where(parts.where);
  detail.set_hint(parts.hint);
  return detail.SerializeAsString();
}

absl::Status WithErrorDetail(const absl::Status& status, absl::string_view detail) {
  v1::ErrorDetail message;
  if (status.ok() || detail.empty() ||
      !message.ParseFromArray(detail.data(), static_cast<int>(detail.size()))) {
    return status;
  }
  const std::optional<ErrorCode> code = FindErrorCode(message.code());
  return code.has_value() ? WithError(status, *code, message.where(), message.hint()) : status;
}

}  // namespace burnish
