#include "tuner/service/study_refiner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "proto/workload.h"
#include "tuner/refine/pass_plan.h"

namespace burnish {
namespace {

// Whoever is further behind alone is no better inside the model; candidate 0 may be, since what it
// is built for is the whole.
constexpr double kNearRatio = 1.15;
constexpr double kDefaultNearRatio = 1.5;
constexpr int kRecordsLookedAt = 32;
// Each entry's latency of a process is the median of about so many.
constexpr int kBlocksMin = 4, kBlocksMax = 12;
// Of its time; the rest goes into loading: weights of every step are a page fault a page.
constexpr double kPassShare = 0.5;
// Beside the passes: loading, filling memory, other people's measurements.
constexpr absl::Duration kProcessOverhead = absl::Seconds(60);
constexpr double kPassSlack = 10;

bool IsTwin(const Record& a, const Record& b) {
  return a.candidate_id == b.candidate_id ||
         (!a.code_sha256.empty() && a.code_sha256 == b.code_sha256);
}

// In proportion to the incumbent's, and below it.
int64_t RankOf(int64_t incumbent_rank_ns, double ratio) {
  const int64_t rank_ns = std::llround(static_cast<double>(incumbent_rank_ns) * ratio);
  return std::max<int64_t>(1, std::min(incumbent_rank_ns - 1, rank_ns));
}

}  // namespace

absl::StatusOr<std::vector<StudyRefiner::Winner>> StudyRefiner::Run(
    absl::Duration time_max, const std::function<bool()>& stop) {
  CHECK(options_.network != nullptr && !options_.model_order.empty());
  size_t width = 1;
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    ASSIGN_OR_RETURN(entries_.emplace_back(), EntriesOf(i));
    width = std::max(width, entries_.back().size());
  }
  if (width == 1) return Conclude();
  progress_.process_count_max = kRefineProcesses;
  const double block_ns = PassNs() * static_cast<double>(width);
  const double share_ns = kPassShare * absl::ToDoubleNanoseconds(time_max) / kRefineProcesses;
  // One more block is the warm-up.
  const int block_count =
      static_cast<int>(std::clamp(share_ns / block_ns - 1, double{kBlocksMin}, double{kBlocksMax}));
  for (int process = 0; process < kRefineProcesses; ++process) {
    if (stop()) return absl::CancelledError("stopped");
    RETURN_IF_ERROR(RunProcess(process, block_count, stop));
    progress_.process_count = process + 1;
    if (!KeepContenders()) break;
  }
  return Conclude();
}

absl::StatusOr<std::vector<StudyRefiner::Entry>> StudyRefiner::EntriesOf(int task_index) const {
  const StudyTaskSpec& task = options_.tasks[task_index];
  const std::string& default_trace = tasks_[task_index].default_trace;
  const AccuracyLimit accuracy{.error_max = options_.spec.error_max,
                               .strict = options_.spec.strict};
  ASSIGN_OR_RETURN(const BestAnswer best,
                   options_.records->Best({.workload_id = task.workload.id,
                                           .target = options_.target.ToText(),
                                           .contract = task.contract,
                                           .accuracy = accuracy,
                                           .method_version = options_.method_version,
                                           .codegen_epoch = options_.codegen_epoch,
                                           .limit = kRecordsLookedAt}));
  std::vector<Record> records;
  std::optional<Record> default_record;
  const auto is_known = [&records](const Record& record) {
    return std::any_of(records.begin(), records.end(),
                       [&record](const Record& known) { return IsTwin(known, record); });
  };
  if (best.workload_match == WorkloadMatch::kExact) {
    for (const Record& record : best.records) {
      if (record.trace == default_trace) {
        if (options_.spec.no_default) continue;
        default_record = record;
      }
      const bool has_room = static_cast<int>(records.size()) < kCandidatesMax;
      if (has_room && !is_known(record)) records.push_back(record);
    }
  }
  if (records.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("task ", task.name, " has nothing that runs"));
  }
  // Alone: what an earlier verdict made of a rank says nothing of how near the others are.
  double best_ns = std::numeric_limits<double>::infinity();
  for (const Record& record : records) {
    best_ns = std::min(best_ns, static_cast<double>(record.isolated_rank_ns()));
  }
  // Never the incumbent.
  records.erase(std::remove_if(records.begin() + 1, records.end(),
                               [best_ns](const Record& record) {
                                 return static_cast<double>(record.isolated_rank_ns()) >
                                        kNearRatio * best_ns;
                               }),
                records.end());
  if (!default_record.has_value() && !options_.spec.no_default) {
    const MeasureTask& shared = *tasks_[task_index].measure_task;
    ASSIGN_OR_RETURN(const std::vector<Record> found,
                     options_.records->FindCandidate(
                         CandidateId(task.workload.id, shared.target.ToText(), task.contract,
                                     default_trace, options_.codegen_epoch)));
    for (const Record& record : found) {
      if (record.method_version != options_.method_version || !record.successful()) continue;
      if (accuracy.Accepts(record.numerics)) default_record = record;
    }
  }
  if (default_record.has_value() && !is_known(*default_record) &&
      static_cast<double>(default_record->isolated_rank_ns()) <= kDefaultNearRatio * best_ns) {
    records.push_back(*std::move(default_record));
  }
  std::vector<Entry> entries;
  entries.push_back({.record = records.front()});
  if (records.size() == 1) return entries;
  for (Record& record : records) entries.push_back({.record = std::move(record)});
  return entries;
}

double StudyRefiner::PassNs() const {
  double total_ns = 0;
  for (const int task : options_.model_order) {
    total_ns += static_cast<double>(entries_[task].front().record.rank_ns);
  }
  return total_ns;
}

NetworkRequest StudyRefiner::MakeRequest(int process, int block_count) const {
  NetworkRequest request;
  std::vector<int> entry_counts;
  std::string model;
  for (size_t task = 0; task < entries_.size(); ++task) {
    entry_counts.push_back(0);
    for (const Entry& entry : entries_[task]) {
      if (!entry.active) continue;
      ++entry_counts.back();
      request.candidates.push_back(
          {.task = tasks_[task].measure_task, .trace = entry.record.trace});
    }
  }
  request.order =
      PlanPasses(entry_counts, options_.model_order,
                 {.seed = options_.spec.seed, .process = process, .block_count = block_count});
  for (const int task : options_.model_order) model += options_.tasks[task].workload.id;
  request.model_id = Sha256Bytes(model);
  request.timeout = kProcessOverhead + kPassSlack * absl::Nanoseconds(PassNs()) *
                                           static_cast<double>(request.order.pass_count());
  return request;
}

absl::Status StudyRefiner::RunProcess(int process, int block_count,
                                      const std::function<bool()>& stop) {
  while (true) {
    const NetworkRequest request = MakeRequest(process, block_count);
    ASSIGN_OR_RETURN(const NetworkResult result, options_.network->Measure(request, stop));
    if (result.measurements.size() != request.candidates.size()) {
      return absl::InternalError(absl::StrCat("got ", result.measurements.size(),
                                              " measurements, want ", request.candidates.size()));
    }
    if (!result.has_run) {
      RETURN_IF_ERROR(Drop(result));
      continue;
    }
    size_t at = 0;
    for (std::vector<Entry>& task : entries_) {
      for (Entry& entry : task) {
        if (!entry.active) continue;
        const Measurement& measurement = result.measurements[at++];
        if (const Failure* failure = measurement.failure()) {
          return absl::InternalError(
              absl::StrCat(FailureKindName(failure->kind), ": ", failure->message));
        }
        const std::vector<ProcessLatencies>& processes = measurement.latencies()->processes;
        if (processes.size() != 1 || processes[0].latency_ns.empty()) {
          return absl::InternalError("a candidate has no latency in its process");
        }
        entry.processes.push_back(processes[0]);
        entry.environment = measurement.environment;
      }
    }
    return absl::OkStatus();
  }
}

absl::Status StudyRefiner::Drop(const NetworkResult& result) {
  size_t at = 0;
  bool any = false;
  for (size_t i = 0; i < entries_.size(); ++i) {
    std::vector<Entry>& task = entries_[i];
    for (size_t e = 0; e < task.size(); ++e) {
      if (!task[e].active) continue;
      const Failure* failure = result.measurements[at++].failure();
      if (failure == nullptr || failure->kind == FailureKind::kCancelled) continue;
      if (e < 2) {
        return absl::FailedPreconditionError(absl::StrCat(
            "task ", options_.tasks[i].name, ": the best does not build: ", failure->message));
      }
      task[e].active = false;
      any = true;
    }
  }
  return any ? absl::OkStatus() : absl::InternalError("nothing ran, and nothing failed");
}

std::vector<RefineTimes> StudyRefiner::Times() const {
  std::vector<RefineTimes> times;
  for (const std::vector<Entry>& task : entries_) {
    RefineTimes& out = times.emplace_back();
    for (const Entry& entry : task) {
      std::vector<double>& process_ns = out.entry_ns.emplace_back();
      for (const ProcessLatencies& process : entry.processes) {
        process_ns.push_back(MedianNs(process));
      }
    }
  }
  return times;
}

bool StudyRefiner::KeepContenders() {
  const std::vector<std::vector<bool>> stays = Contenders(Times());
  bool any = false;
  for (size_t task = 0; task < entries_.size(); ++task) {
    for (size_t e = 0; e < entries_[task].size(); ++e) {
      entries_[task][e].active = entries_[task][e].active && stays[task][e];
      any = any || (e >= 2 && entries_[task][e].active);
    }
  }
  return any;
}

BestOrigin StudyRefiner::OriginOf(int task_index, const Record& record) const {
  if (record.trace == tasks_[task_index].default_trace) return BestOrigin::kDefault;
  const bool is_ours = absl::StartsWith(record.first_trial_id, options_.study_id + "/");
  return is_ours ? BestOrigin::kTrial : BestOrigin::kHistory;
}

absl::StatusOr<std::vector<StudyRefiner::Winner>> StudyRefiner::Conclude() {
  const std::vector<RefineVerdict> verdicts = Judge(Times());
  std::vector<Winner> winners;
  std::vector<MeasurementEntry> log;
  double before_ns = 0, saved_ns = 0;
  for (int i = 0; i < static_cast<int>(entries_.size()); ++i) {
    const std::vector<Entry>& task = entries_[i];
    const RefineVerdict& verdict = verdicts[i];
    const double weight = options_.tasks[i].weight;
    for (const ProcessLatencies& process : task[0].processes) {
      before_ns += weight * MedianNs(process) / static_cast<double>(task[0].processes.size());
    }
    if (verdict.winner == 0 && task[0].record.network_factor != 1) {
      winners.push_back(WinnerOf(i, task[0].record, task[0].record.rank_ns));
    }
    for (int e = 1; e < static_cast<int>(task.size()); ++e) {
      const Record& record = task[e].record;
      double factor = record.network_factor;
      if (e == verdict.winner) {
        const int64_t rank_ns = RankOf(task[0].record.rank_ns, verdict.ratio);
        factor = static_cast<double>(rank_ns) /
                 static_cast<double>(std::max<int64_t>(record.isolated_rank_ns(), 1));
        saved_ns += weight * verdict.incumbent_ns * (1 - verdict.ratio);
        winners.push_back(WinnerOf(i, record, rank_ns));
        ++progress_.changed_count;
      }
      if (task[e].processes.empty()) continue;
      log.push_back(EntryFor(i, task[e], factor));
      if (e > 1) continue;
      // One candidate, of which entry 0 is the other half.
      std::vector<ProcessLatencies>& processes =
          std::get<Latencies>(log.back().measurement.outcome).processes;
      processes.insert(processes.end(), task[0].processes.begin(), task[0].processes.end());
    }
  }
  const absl::Status stored = options_.records->AppendBatch(log).status();
  if (!stored.ok()) {
    progress_.changed_count = 0;
    return stored;
  }
  progress_.gain = before_ns > 0 ? saved_ns / before_ns : 0;
  return winners;
}

StudyRefiner::Winner StudyRefiner::WinnerOf(int task_index, const Record& record,
                                            int64_t rank_ns) const {
  return {.task_index = task_index,
          .best = {.origin = OriginOf(task_index, record),
                   .latency_ns = rank_ns,
                   .trace = record.trace,
                   .candidate_id = record.candidate_id,
                   .trial_id = record.first_trial_id,
                   .refined = true}};
}

MeasurementEntry StudyRefiner::EntryFor(int task_index, const Entry& entry, double factor) const {
  const StudyTaskSpec& task = options_.tasks[task_index];
  const std::string digest = absl::BytesToHexString(entry.record.candidate_id.substr(0, 8));
  MeasurementEntry out{
      .study_id = options_.study_id,
      .trial_id = absl::StrCat(options_.study_id, "/t", task_index, "/refine/", digest),
      .purpose = Purpose::kRefine,
      .recorded_ns = absl::ToUnixNanos(options_.clock->WallNow()),
      .candidate = {.workload = task.workload,
                    .target = options_.target,
                    .contract = task.contract,
                    .trace = entry.record.trace,
                    .codegen_epoch = options_.codegen_epoch},
      .measurement = {.outcome = Latencies{entry.processes},
                      .environment = entry.environment,
                      .network_factor = factor}};
  out.measurement.environment.method_version = options_.method_version;
  return out;
}

}  // namespace burnish
