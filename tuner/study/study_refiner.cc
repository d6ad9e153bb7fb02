#include "tuner/study/study_refiner.h"

#include <algorithm>
#include <array>
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
#include "db/record_summary.h"
#include "proto/workload.h"
#include "tuner/refine/median.h"
#include "tuner/refine/pass_plan.h"

namespace burnish {
namespace {

// Whoever is further behind alone is taken to be no better inside the model: a bound beyond
// the 1.09 by which one that won there was behind (docs/adr/0002-refine-in-the-model-order.md, 529
// and 486 us). Defaults may be better from further behind, since what they are built for is the
// whole: a guess.
constexpr double kNearRatio = 1.15;
constexpr double kDefaultNearRatio = 1.5;
// Best first, of which a contest takes kCandidatesMax: others are twins of these, or defaults where
// the study is to have none. A guess; where it is too few a task has fewer contestants.
constexpr int kRecordsLookedAt = 32;
// Each entry's latency of a process is the median of about so many passes. Both are guesses: below
// four one bad pass would move it, beyond twelve a process would only take longer.
constexpr int kTimedPassesMin = 4, kTimedPassesMax = 12;
// Of two sets: at least as many passes, and each set first in one of two blocks or so.
constexpr int kSetBlocksMin = 2;
constexpr int kSetBlocksMax = kTimedPassesMax / kCountedPasses;
// Of its time; the rest goes into loading: weights of every step are a page fault a page.
constexpr double kPassShare = 0.5;
// Beside the passes: loading, filling memory, other people's measurements.
constexpr absl::Duration kProcessOverhead = absl::Seconds(60);
constexpr double kPassSlack = 10;
// Each begins with less: what made the one before it end is recorded as wrong. A builder that makes
// all of them wrong ends it.
constexpr int kAttemptsMax = 32;
// A made-up model has each task so often: the weights of a step were last read so many steps ago,
// and are in no near cache, as in a real one.
constexpr int kOwnModelCopies = 8;

bool IsTwin(const Record& a, const Record& b) {
  return a.candidate_id == b.candidate_id ||
         (!a.code_sha256.empty() && a.code_sha256 == b.code_sha256);
}

// In proportion to the incumbent's, and below it.
int64_t RankOf(int64_t incumbent_rank_ns, double ratio) {
  const int64_t rank_ns = std::llround(static_cast<double>(incumbent_rank_ns) * ratio);
  return std::max<int64_t>(1, std::min(incumbent_rank_ns - 1, rank_ns));
}

// Index of the record that is the same candidate; none: the size.
size_t FindTwin(const std::vector<Record>& records, const Record& record) {
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&](const Record& known) { return IsTwin(known, record); });
  return static_cast<size_t>(found - records.begin());
}

// Of a candidate in the one process of a job.
absl::StatusOr<ProcessLatencies> ProcessOf(const Measurement& measurement) {
  if (const Failure* failure = measurement.failure()) {
    return absl::InternalError(
        absl::StrCat(FailureKindName(failure->kind), ": ", failure->message));
  }
  const std::vector<ProcessLatencies>& processes = measurement.latencies()->processes;
  if (processes.size() != 1 || processes[0].latency_ns.empty()) {
    return absl::InternalError("a candidate has no latency in its process");
  }
  return processes[0];
}

}  // namespace

absl::StatusOr<std::vector<StudyRefiner::Winner>> StudyRefiner::Run(
    absl::Duration time_max, const std::function<bool()>& stop) {
  CHECK(options_.network != nullptr && !options_.model_order.empty());
  return Repeat([&] { return Contend(time_max, stop); });
}

absl::StatusOr<std::vector<StudyRefiner::Winner>> StudyRefiner::MeasureGains(
    const std::function<bool()>& stop) {
  CHECK(options_.network != nullptr);
  return Repeat([&] { return CompareBest(stop); });
}

absl::StatusOr<std::vector<StudyRefiner::Winner>> StudyRefiner::Repeat(
    absl::FunctionRef<absl::StatusOr<std::vector<Winner>>()> attempt) {
  for (int left = kAttemptsMax;; --left) {
    contests_.clear();
    progress_ = {};
    for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
      ASSIGN_OR_RETURN(contests_.emplace_back(), ContestOf(i));
    }
    absl::StatusOr<std::vector<Winner>> winners = attempt();
    if (!absl::IsAborted(winners.status()) || left == 1) return winners;
  }
}

absl::StatusOr<std::vector<StudyRefiner::Winner>> StudyRefiner::Contend(
    absl::Duration time_max, const std::function<bool()>& stop) {
  size_t width = 1;
  for (const Contest& contest : contests_) width = std::max(width, contest.entries.size());
  std::vector<Choice> choices(tasks_.size());
  if (width == 1) return Conclude(choices);
  const double share_ns = kPassShare * absl::ToDoubleNanoseconds(time_max) / kRefineProcesses;
  // Blocks of so many passes for which there is time, within the bounds.
  const auto block_count = [&](size_t pass_count, int warm_up, int least, int most) {
    const double block_ns = PassNs() * static_cast<double>(pass_count);
    return static_cast<int>(std::clamp<double>(share_ns / block_ns - warm_up, least, most));
  };
  RETURN_IF_ERROR(
      RunContests(block_count(width, /*warm_up=*/1, kTimedPassesMin, kTimedPassesMax), stop));
  const std::vector<RefineVerdict> verdicts = Judge(Times());
  for (size_t i = 0; i < choices.size(); ++i) choices[i] = {verdicts[i].winner, verdicts[i].ratio};
  RETURN_IF_ERROR(CompareSets(
      block_count(2 * kPassesOfSet, /*warm_up=*/0, kSetBlocksMin, kSetBlocksMax), stop, choices));
  return Conclude(choices);
}

absl::StatusOr<std::vector<StudyRefiner::Winner>> StudyRefiner::CompareBest(
    const std::function<bool()>& stop) {
  progress_.gains_only = true;
  // Nobody contends: the best alone, or the default schedules.
  std::vector<Choice> choices(tasks_.size());
  RETURN_IF_ERROR(CompareSets(kSetBlocksMax, stop, choices));
  if (!progress_.defaults_taken) return std::vector<Winner>();
  return Conclude(choices);
}

std::vector<int> StudyRefiner::ModelOrderOrOwn() const {
  if (!options_.model_order.empty()) return options_.model_order;
  std::vector<int> order;
  for (int copy = 0; copy < kOwnModelCopies; ++copy) {
    for (int task = 0; task < static_cast<int>(tasks_.size()); ++task) order.push_back(task);
  }
  return order;
}

absl::Status StudyRefiner::RunContests(int block_count, const std::function<bool()>& stop) {
  progress_.process_count_max = kRefineProcesses;
  for (int process = 0; process < kRefineProcesses; ++process) {
    if (stop()) return absl::CancelledError("stopped");
    RETURN_IF_ERROR(RunProcess(process, block_count, stop));
    progress_.process_count = process + 1;
    if (!KeepContenders()) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Record>> StudyRefiner::BestFew(int task_index) const {
  const StudyTaskSpec& task = options_.tasks[task_index];
  ASSIGN_OR_RETURN(
      const BestAnswer best,
      options_.records->Best({.workload_id = task.workload.id,
                              .target = options_.target.ToText(),
                              .contract = task.contract,
                              .accuracy = AccuracyLimit{.error_max = options_.spec.error_max,
                                                        .strict = options_.spec.strict},
                              .method_version = options_.method_version,
                              .codegen_epoch = options_.codegen_epoch,
                              .limit = kRecordsLookedAt}));
  const std::vector<std::string>& defaults = tasks_[task_index].default_traces;
  std::vector<Record> few;
  if (best.workload_match == WorkloadMatch::kExact) {
    for (const Record& record : best.records) {
      if (static_cast<int>(few.size()) == kCandidatesMax) break;
      const bool is_default =
          std::find(defaults.begin(), defaults.end(), record.trace) != defaults.end();
      if (is_default && options_.spec.no_default) continue;
      if (FindTwin(few, record) == few.size()) few.push_back(record);
    }
  }
  if (!few.empty()) return few;
  return absl::FailedPreconditionError(absl::StrCat("task ", task.name, " has nothing that runs"));
}

absl::StatusOr<std::optional<Record>> StudyRefiner::DefaultRecord(int task_index,
                                                                  const std::string& trace) const {
  const StudyTaskSpec& task = options_.tasks[task_index];
  const AccuracyLimit accuracy{.error_max = options_.spec.error_max,
                               .strict = options_.spec.strict};
  ASSIGN_OR_RETURN(
      const std::vector<Record> found,
      options_.records->FindCandidate(CandidateId(task.workload.id, options_.target.ToText(),
                                                  task.contract, trace, options_.codegen_epoch)));
  for (const Record& record : found) {
    if (record.method_version != options_.method_version || !record.successful()) continue;
    if (accuracy.Accepts(record.numerics)) return record;
  }
  return std::nullopt;
}

absl::StatusOr<StudyRefiner::Contest> StudyRefiner::ContestOf(int task_index) const {
  ASSIGN_OR_RETURN(std::vector<Record> records, BestFew(task_index));
  // Alone: what an earlier verdict made of a rank says nothing of how near the others are.
  double best_ns = std::numeric_limits<double>::infinity();
  for (const Record& record : records) {
    best_ns = std::min(best_ns, static_cast<double>(record.isolated_rank_ns()));
  }
  const auto is_near = [best_ns](const Record& record, double ratio) {
    return static_cast<double>(record.isolated_rank_ns()) <= ratio * best_ns;
  };
  // Never the incumbent.
  records.erase(std::remove_if(records.begin() + 1, records.end(),
                               [&](const Record& record) { return !is_near(record, kNearRatio); }),
                records.end());
  std::optional<size_t> untuned;  // Index into `records`.
  for (const std::string& trace : tasks_[task_index].default_traces) {
    if (options_.spec.no_default) break;
    ASSIGN_OR_RETURN(const std::optional<Record> record, DefaultRecord(task_index, trace));
    if (!record.has_value()) continue;
    const size_t at = FindTwin(records, *record);
    // The first one always: alone it may have met a busy moment.
    const bool joins =
        at == records.size() && (!untuned.has_value() || is_near(*record, kDefaultNearRatio));
    if (joins) records.push_back(*record);
    if (!untuned.has_value()) untuned = at;
  }
  Contest contest;
  contest.entries.push_back({.record = records.front()});
  // Entry 1 is the incumbent again.
  if (untuned.has_value()) contest.untuned = *untuned == 0 ? 0 : static_cast<int>(*untuned) + 1;
  if (records.size() == 1) return contest;
  for (Record& record : records) contest.entries.push_back({.record = std::move(record)});
  return contest;
}

double StudyRefiner::PassNs() const {
  double total_ns = 0;
  for (const int task : ModelOrderOrOwn()) {
    total_ns += static_cast<double>(contests_[task].entries.front().record.rank_ns);
  }
  return total_ns;
}

std::string StudyRefiner::ModelId() const {
  std::string model;
  for (const int task : ModelOrderOrOwn()) model += options_.tasks[task].workload.id;
  return Sha256Bytes(model);
}

absl::Duration StudyRefiner::TimeoutOf(int64_t pass_count) const {
  return kProcessOverhead +
         kPassSlack * absl::Nanoseconds(PassNs()) * static_cast<double>(pass_count);
}

NetworkRequest StudyRefiner::MakeRequest(int process, int block_count) const {
  NetworkRequest request;
  std::vector<int> entry_counts;
  for (size_t task = 0; task < contests_.size(); ++task) {
    entry_counts.push_back(0);
    for (const Entry& entry : contests_[task].entries) {
      if (!entry.active) continue;
      ++entry_counts.back();
      request.candidates.push_back(
          {.task = tasks_[task].measure_task, .trace = entry.record.trace});
    }
  }
  request.order =
      PlanPasses(entry_counts, options_.model_order,
                 {.seed = options_.spec.seed, .process = process, .block_count = block_count});
  request.model_id = ModelId();
  request.timeout = TimeoutOf(request.order.pass_count());
  return request;
}

absl::StatusOr<NetworkResult> StudyRefiner::MeasureAll(const NetworkRequest& request,
                                                       const std::function<bool()>& stop) const {
  ASSIGN_OR_RETURN(NetworkResult result, options_.network->Measure(request, stop));
  if (result.measurements.size() != request.candidates.size()) {
    return absl::InternalError(absl::StrCat("got ", result.measurements.size(),
                                            " measurements, want ", request.candidates.size()));
  }
  RETURN_IF_ERROR(RecordFailuresAlone(request, result));
  return result;
}

absl::Status StudyRefiner::RecordFailuresAlone(const NetworkRequest& request,
                                               const NetworkResult& result) const {
  if (result.has_run) return absl::OkStatus();
  std::vector<MeasurementEntry> log;
  std::string names;
  for (size_t i = 0; i < result.measurements.size(); ++i) {
    const Measurement& measurement = result.measurements[i];
    if (!FailedAlone(measurement)) continue;
    const Failure* failure = measurement.failure();
    const auto task = std::find_if(tasks_.begin(), tasks_.end(), [&](const Task& known) {
      return known.measure_task == request.candidates[i].task;
    });
    CHECK(task != tasks_.end());
    const auto index = static_cast<int>(task - tasks_.begin());
    const std::string what = absl::StrCat("task ", options_.tasks[index].name, ": ",
                                          FailureKindName(failure->kind), ": ", failure->message);
    // The machine's doing: the record keeps its times, and the next attempt would meet it again.
    if (!Disqualifies(failure->kind)) return absl::InternalError(what);
    log.push_back(EntryOf(index, request.candidates[i].trace, measurement));
    // A verdict of the same candidate has a number of its own.
    absl::StrAppend(&log.back().trial_id, "/alone");
    absl::StrAppend(&names, names.empty() ? "" : "; ", what);
  }
  if (log.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(options_.records->AppendBatch(log).status());
  return absl::AbortedError(names);
}

absl::Status StudyRefiner::RunProcess(int process, int block_count,
                                      const std::function<bool()>& stop) {
  while (true) {
    const NetworkRequest request = MakeRequest(process, block_count);
    ASSIGN_OR_RETURN(const NetworkResult result, MeasureAll(request, stop));
    if (!result.has_run) {
      RETURN_IF_ERROR(Drop(result));
      continue;
    }
    size_t at = 0;
    for (Contest& contest : contests_) {
      for (Entry& entry : contest.entries) {
        if (!entry.active) continue;
        const Measurement& measurement = result.measurements[at++];
        ASSIGN_OR_RETURN(entry.processes.emplace_back(), ProcessOf(measurement));
        entry.environment = measurement.environment;
      }
    }
    return absl::OkStatus();
  }
}

absl::Status StudyRefiner::Drop(const NetworkResult& result) {
  size_t at = 0;
  bool any = false;
  for (size_t i = 0; i < contests_.size(); ++i) {
    std::vector<Entry>& task = contests_[i].entries;
    for (size_t e = 0; e < task.size(); ++e) {
      if (!task[e].active) continue;
      const Failure* failure = result.measurements[at++].failure();
      if (failure == nullptr || failure->kind == FailureKind::kCancelled) continue;
      if (e < 2) {
        return absl::FailedPreconditionError(absl::StrCat(
            "task ", options_.tasks[i].name, ": the best does not build: ", failure->message));
      }
      task[e].active = false;
      if (contests_[i].untuned == static_cast<int>(e)) contests_[i].untuned = -1;
      any = true;
    }
  }
  return any ? absl::OkStatus() : absl::InternalError("nothing ran, and nothing failed");
}

std::vector<RefineTimes> StudyRefiner::Times() const {
  std::vector<RefineTimes> times;
  for (const Contest& contest : contests_) {
    RefineTimes& out = times.emplace_back();
    for (const Entry& entry : contest.entries) {
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
  for (size_t task = 0; task < contests_.size(); ++task) {
    std::vector<Entry>& entries = contests_[task].entries;
    for (size_t e = 0; e < entries.size(); ++e) {
      entries[e].active = entries[e].active && stays[task][e];
      any = any || (e >= 2 && entries[e].active);
    }
  }
  return any;
}

absl::Status StudyRefiner::CompareSets(int block_count, const std::function<bool()>& stop,
                                       std::vector<Choice>& choices) {
  NetworkRequest request;
  std::vector<std::array<int, 2>> members;
  bool differ = false;
  for (size_t i = 0; i < contests_.size(); ++i) {
    const Contest& contest = contests_[i];
    const auto add = [&](int entry) {
      request.candidates.push_back(
          {.task = tasks_[i].measure_task, .trace = contest.entries[entry].record.trace});
      return static_cast<int>(request.candidates.size()) - 1;
    };
    const int chosen = add(choices[i].entry);
    const bool is_other = contest.untuned >= 0 && contest.untuned != choices[i].entry;
    members.push_back({chosen, is_other ? add(contest.untuned) : chosen});
    differ = differ || is_other;
  }
  std::vector<std::vector<double>> gains(contests_.size());
  if (!differ) {
    for (const Contest& contest : contests_) {
      progress_.task_gains.push_back(contest.untuned < 0 ? 0 : 1);
    }
    return absl::OkStatus();
  }
  request.model_id = ModelId();
  progress_.process_count_max = progress_.process_count + kRefineProcesses;
  const std::vector<int> model_order = ModelOrderOrOwn();
  std::vector<double> ratios;
  for (int process = 0; process < kRefineProcesses; ++process) {
    if (stop()) return absl::CancelledError("stopped");
    const SetPlan plan =
        PlanSets(members, model_order,
                 {.seed = options_.spec.seed, .process = process, .block_count = block_count});
    ASSIGN_OR_RETURN(ratios.emplace_back(), CompareSetsOnce(request, members, plan, stop, gains));
    ++progress_.process_count;
  }
  for (size_t i = 0; i < gains.size(); ++i) {
    const bool has_default = contests_[i].untuned >= 0;
    progress_.task_gains.push_back(has_default ? Median(std::move(gains[i])) : 0);
  }
  const SetVerdict verdict = JudgeSets(ratios);
  progress_.network_ratio = verdict.ratio;
  progress_.network_spread = verdict.spread;
  // Of one task the set is the task, and its default costs nothing where the two are alike.
  const bool is_behind = contests_.size() == 1 && Median(ratios) > 1;
  progress_.defaults_taken = verdict.is_slower || is_behind;
  if (!progress_.defaults_taken) return absl::OkStatus();
  for (size_t i = 0; i < contests_.size(); ++i) {
    const int untuned = contests_[i].untuned;
    if (untuned < 0 || untuned == choices[i].entry) continue;
    choices[i] = {.entry = untuned, .ratio = untuned == 0 ? 1 : 1 / verdict.ratio};
    progress_.task_gains[i] = 1;
  }
  return absl::OkStatus();
}

absl::StatusOr<double> StudyRefiner::CompareSetsOnce(NetworkRequest& request,
                                                     absl::Span<const std::array<int, 2>> members,
                                                     const SetPlan& plan,
                                                     const std::function<bool()>& stop,
                                                     std::vector<std::vector<double>>& gains) {
  request.order = plan.order;
  request.timeout = TimeoutOf(plan.order.pass_count());
  ASSIGN_OR_RETURN(const NetworkResult result, MeasureAll(request, stop));
  std::vector<ProcessLatencies> latencies;
  for (const Measurement& measurement : result.measurements) {
    ASSIGN_OR_RETURN(latencies.emplace_back(), ProcessOf(measurement));
  }
  ASSIGN_OR_RETURN(const SetTimes times, TimesOfSets(plan, latencies));
  for (size_t i = 0; i < members.size(); ++i) {
    const auto [chosen, untuned] = members[i];
    Contest& contest = contests_[i];
    if (progress_.gains_only && contest.untuned >= 0) {
      // What the verdict is from: no contest measured them.
      Entry &best = contest.entries[0], &shipped = contest.entries[contest.untuned];
      best.processes.push_back(times.candidates[0][chosen]);
      best.environment = result.measurements[chosen].environment;
      if (contest.untuned > 0) {
        shipped.processes.push_back(times.candidates[1][untuned]);
        shipped.environment = result.measurements[untuned].environment;
      }
    }
    gains[i].push_back(chosen == untuned ? 1
                                         : MedianNs(times.candidates[1][untuned]) /
                                               MedianNs(times.candidates[0][chosen]));
  }
  return times.pass_ns[0] / times.pass_ns[1];
}

BestOrigin StudyRefiner::OriginOf(int task_index, const Record& record) const {
  const std::vector<std::string>& defaults = tasks_[task_index].default_traces;
  if (std::find(defaults.begin(), defaults.end(), record.trace) != defaults.end()) {
    return BestOrigin::kDefault;
  }
  const bool is_ours = absl::StartsWith(record.first_trial_id, options_.study_id + "/");
  return is_ours ? BestOrigin::kTrial : BestOrigin::kHistory;
}

absl::StatusOr<std::vector<StudyRefiner::Winner>> StudyRefiner::Conclude(
    const std::vector<Choice>& choices) {
  std::vector<Winner> winners;
  std::vector<MeasurementEntry> log;
  double before_ns = 0, saved_ns = 0;
  for (int i = 0; i < static_cast<int>(contests_.size()); ++i) {
    const std::vector<Entry>& task = contests_[i].entries;
    const Choice& choice = choices[i];
    double incumbent_ns = 0;
    for (const ProcessLatencies& process : task[0].processes) {
      incumbent_ns += MedianNs(process) / static_cast<double>(task[0].processes.size());
    }
    incumbent_ns *= options_.tasks[i].weight;
    before_ns += incumbent_ns;
    if (choice.entry == 0 && task[0].record.network_factor != 1) {
      winners.push_back(WinnerOf(i, task[0].record));
    }
    for (int e = 1; e < static_cast<int>(task.size()); ++e) {
      const Record& record = task[e].record;
      double factor = record.network_factor;
      if (e == choice.entry) {
        const int64_t rank_ns = RankOf(task[0].record.rank_ns, choice.ratio);
        factor = static_cast<double>(rank_ns) /
                 static_cast<double>(std::max<int64_t>(record.isolated_rank_ns(), 1));
        saved_ns += incumbent_ns * (1 - choice.ratio);
        winners.push_back(WinnerOf(i, record));
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

StudyRefiner::Winner StudyRefiner::WinnerOf(int task_index, const Record& record) const {
  // Alone, as every other time of a task: what the model's neighbours make of it is the network's
  // ratio, and the record's rank.
  return {.task_index = task_index,
          .best = {.origin = OriginOf(task_index, record),
                   .latency_ns = record.isolated_rank_ns(),
                   .trace = record.trace,
                   .candidate_id = record.candidate_id,
                   .trial_id = record.first_trial_id,
                   .refined = true}};
}

MeasurementEntry StudyRefiner::EntryFor(int task_index, const Entry& entry, double factor) const {
  return EntryOf(task_index, entry.record.trace,
                 {.candidate_id = entry.record.candidate_id,
                  .outcome = Latencies{entry.processes},
                  .environment = entry.environment,
                  .network_factor = factor});
}

MeasurementEntry StudyRefiner::EntryOf(int task_index, const std::string& trace,
                                       Measurement measurement) const {
  const StudyTaskSpec& task = options_.tasks[task_index];
  const std::string digest = absl::BytesToHexString(measurement.candidate_id.substr(0, 8));
  measurement.environment.method_version = options_.method_version;
  return {.study_id = options_.study_id,
          .trial_id = absl::StrCat(options_.study_id, "/t", task_index, "/refine/", digest),
          .purpose = Purpose::kRefine,
          .recorded_ns = absl::ToUnixNanos(options_.clock->WallNow()),
          .candidate = {.workload = task.workload,
                        .target = options_.target,
                        .contract = task.contract,
                        .trace = trace,
                        .codegen_epoch = options_.codegen_epoch},
          .measurement = std::move(measurement)};
}

}  // namespace burnish
