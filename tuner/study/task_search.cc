#include "tuner/study/task_search.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "tuner/search/rank_latency.h"

namespace burnish {
namespace {

// As many as of near shapes (task_history.cc).
constexpr size_t kElsewhereSeedsMax = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<TaskSearch>> TaskSearch::Create(TaskSearchOptions options) {
  if (options.tools.scorer == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("task ", options.task.name, ": got no scorer, want one"));
  }
  std::unique_ptr<TaskSearch> search(new TaskSearch(std::move(options)));
  RETURN_IF_ERROR(search->Init());
  return search;
}

absl::Status TaskSearch::Init() {
  // The limit stands before history is told: what was accurate enough for another study may not be
  // for this one.
  accuracy_ = {.error_max = options_.spec.error_max, .strict = options_.spec.strict};
  ASSIGN_OR_RETURN(space_,
                   SearchSpace::Create({.sketches = options_.tools.sketches,
                                        .workload_id = options_.task.workload.id,
                                        .target = options_.target.ToText(),
                                        .contract = options_.task.contract,
                                        .codegen_epoch = options_.codegen_epoch,
                                        .enumerated_points_max = options_.enumerated_points_max}));
  // First what `compile` takes without records: a task with few trials is to have that measured.
  std::vector<std::string> seed_traces = options_.tools.seed_traces;
  seed_traces.insert(seed_traces.end(), options_.history.seed_traces.begin(),
                     options_.history.seed_traces.end());
  // Of another target only what this one's rules would write, too: a nest for one thread runs on
  // two, on one of them. On tables of two machines, the best four of a study of the other one take
  // 2.9 % instead of 3.6 above the best after 8 trials (tests/bench/search/README.md).
  const size_t seed_count = seed_traces.size() + kElsewhereSeedsMax;
  for (const std::string& trace : options_.history.elsewhere_traces) {
    if (seed_traces.size() == seed_count) break;
    if (space_->Recognize(trace).sketch_index != Proposal::kNoSketch) seed_traces.push_back(trace);
  }
  ASSIGN_OR_RETURN(strategy_, MakeSearchStrategy(options_.spec.strategy,
                                                 {.space = space_,
                                                  .seed = options_.spec.seed,
                                                  .task = absl::StrCat(options_.task_index),
                                                  .seed_traces = std::move(seed_traces)}));
  // By workload, not by task or trial: candidates of one workload are compared with candidate 0 on
  // the same inputs, in every run of the study.
  const uint64_t input_seed =
      Rng(RngStream{
              .seed = options_.spec.seed, .purpose = "inputs", .task = options_.task.workload.id})
          .Next();
  measure_task_ =
      std::make_shared<MeasureTask>(MeasureTask{.workload = options_.task.workload,
                                                .target = options_.target,
                                                .contract = options_.task.contract,
                                                .codegen_epoch = options_.codegen_epoch,
                                                .reference_trace = options_.tools.default_trace,
                                                .input_seed = input_seed});
  progress_.weight = options_.task.weight;
  progress_.bound_ns = options_.tools.bound_ns;
  return TellHistory();
}

absl::Status TaskSearch::TellHistory() {
  for (const HistoryRecord& record : options_.history.related) {
    // Related records teach the model only. Their latencies are of another contract or epoch, so
    // the strategy must not take them for results of this study.
    untrained_.push_back({space_->Recognize(record.trace), record.measurement});
  }
  std::vector<Observation> observations;
  for (const HistoryRecord& record : options_.history.known) {
    // Candidate 0 is measured by every study. Where it is withheld the search must not hear of it,
    // but may come upon it.
    if (record.trace == options_.tools.default_trace) continue;
    const int64_t latency_ns = AcceptedNs(record.measurement);
    NoteDefault(record.trace, latency_ns);
    Proposal proposal = space_->Recognize(record.trace);
    if (latency_ns > 0 && (best_.latency_ns == 0 || latency_ns < best_.latency_ns)) {
      best_ = {.origin = BestOrigin::kHistory,
               .latency_ns = latency_ns,
               .trace = record.trace,
               .candidate_id = proposal.candidate_id};
    }
    untrained_.push_back({proposal, record.measurement});
    ASSIGN_OR_RETURN(observations.emplace_back(), ObservationOf(proposal, record.measurement));
  }
  strategy_->Update(observations);
  // Before the first trial, so that a gain over history counts as a gain, and history itself does
  // not.
  progress_.start_ns = best_.latency_ns;
  return Train();
}

Trial TaskSearch::reference_trial() const {
  return {.trial_id = TrialIdOf(options_.study_id, options_.task_index, kReferenceNumber),
          .trace = options_.tools.default_trace};
}

bool TaskSearch::IsReference(const std::string& trial_id) const {
  return trial_id == TrialIdOf(options_.study_id, options_.task_index, kReferenceNumber);
}

int64_t TaskSearch::AcceptedNs(const Measurement& measurement) const {
  return accuracy_.Accepts(measurement.numerics) ? RankLatencyNs(measurement) : 0;
}

bool TaskSearch::NoteDefault(const std::string& trace, int64_t accepted_ns) {
  const std::vector<std::string>& defaults = options_.tools.default_traces;
  shipped_ns_.resize(defaults.size());
  const auto at = std::find(defaults.begin(), defaults.end(), trace);
  if (at == defaults.end()) return false;
  shipped_ns_[at - defaults.begin()] = accepted_ns;
  return true;
}

std::optional<int64_t> TaskSearch::ShippedNs() const {
  for (const std::optional<int64_t>& ns : shipped_ns_) {
    // As long as an earlier one is not measured, nobody knows whether it is the one.
    if (!ns.has_value() || *ns > 0) return ns;
  }
  return 0;
}

int64_t TaskSearch::default_ns() const {
  const int64_t shipped_ns = ShippedNs().value_or(0);
  return shipped_ns > 0 ? shipped_ns : reference_ns_;  // Candidate 0 stands in.
}

bool TaskSearch::ShipsUnmeasured() const {
  return !options_.spec.no_default && next_number_ == 0 && !ShippedNs().has_value();
}

absl::StatusOr<Observation> TaskSearch::ObservationOf(const Proposal& proposal,
                                                      const Measurement& measurement) const {
  Observation observation{.proposal = proposal, .latency_ns = AcceptedNs(measurement)};
  // The scorer's hash, not the builder's: they need not be taken of the same text.
  ASSIGN_OR_RETURN(observation.fingerprint, options_.tools.scorer->Fingerprint(proposal));
  return observation;
}

absl::StatusOr<std::vector<Trial>> TaskSearch::Suggest(int count) const {
  std::vector<Proposal> pending;
  for (const auto& [trial_id, trial] : pending_) {
    pending.push_back(*trial.proposal);
  }
  ASSIGN_OR_RETURN(const std::vector<Proposal> proposals,
                   strategy_->Suggest(count, pending, *options_.tools.scorer));
  std::vector<Trial> trials;
  for (const Proposal& proposal : proposals) {
    // The number is not taken yet. Begin takes it when the trial is stored; a crash before leaves
    // no gap, and the same Suggest gives the same id again.
    const int64_t number = next_number_ + static_cast<int64_t>(trials.size());
    trials.push_back({TrialIdOf(options_.study_id, options_.task_index, number), number,
                      proposal.trace, proposal});
  }
  return trials;
}

void TaskSearch::Begin(absl::Span<const Trial> trials) {
  for (const Trial& trial : trials) {
    Trial& pending = pending_[trial.trial_id] = trial;
    // From the log: the store keeps traces, not points.
    if (!pending.proposal.has_value()) pending.proposal = space_->Recognize(trial.trace);
    // Dropped trials keep their numbers: ids are unique for ever, as the tracker and the records
    // need them.
    next_number_ = std::max(next_number_, trial.number + 1);
  }
}

void TaskSearch::Drop(absl::Span<const std::string> trial_ids) {
  for (const std::string& id : trial_ids) pending_.erase(id);
}

absl::Status TaskSearch::TellReference(const TrialResult& result, Proposal proposal) {
  // Successful or not: the session holds the task's trials back until it is known.
  reference_told_ = true;
  reference_ns_ = AcceptedNs(result.measurement);
  NoteDefault(result.trace, reference_ns_);
  // A reference that fails can neither be timed around others nor give the outputs to compare with.
  // A new value, not a change: requests in flight share the old one.
  if (result.measurement.latencies() == nullptr) {
    MeasureTask without = *measure_task_;
    without.reference_trace.reset();
    measure_task_ = std::make_shared<const MeasureTask>(std::move(without));
  }
  // The default is withheld: neither strategy nor model hears of it.
  if (options_.spec.no_default) return absl::OkStatus();
  if (reference_ns_ > 0 && (best_.latency_ns == 0 || reference_ns_ < best_.latency_ns)) {
    best_ = {.origin = BestOrigin::kDefault,
             .latency_ns = reference_ns_,
             .trace = result.trace,
             .candidate_id = proposal.candidate_id,
             .trial_id = result.trial_id};
    progress_.start_ns = reference_ns_;
  }
  ASSIGN_OR_RETURN(const Observation observation, ObservationOf(proposal, result.measurement));
  strategy_->Update({observation});
  untrained_.push_back({std::move(proposal), result.measurement});
  return absl::OkStatus();
}

absl::Status TaskSearch::Tell(absl::Span<const TrialResult> results) {
  for (const TrialResult& result : results) {
    // Twice the same result, or one of a dropped trial: the first word counts.
    auto told = pending_.extract(result.trial_id);
    if (told.empty()) continue;
    Proposal proposal = *std::move(told.mapped().proposal);
    if (IsReference(result.trial_id)) {
      RETURN_IF_ERROR(TellReference(result, std::move(proposal)));
      continue;
    }
    const int64_t latency_ns = AcceptedNs(result.measurement);
    const bool is_ahead =
        NoteDefault(result.trace, latency_ns) && progress_.best_ns.empty() && pending_.empty();
    if (latency_ns > 0 && (best_.latency_ns == 0 || latency_ns < best_.latency_ns)) {
      best_ = {.origin = BestOrigin::kTrial,
               .latency_ns = latency_ns,
               .trace = result.trace,
               .candidate_id = proposal.candidate_id,
               .trial_id = result.trial_id};
    }
    if (is_ahead) {
      // It ships, so it is no gain of the search: a slope from it would draw all trials there.
      progress_.start_ns = best_.latency_ns;
      ++ahead_count_;
    } else {
      // A failure is a trial as well: it has cost one, and the curve stays level.
      progress_.best_ns.push_back(best_.latency_ns);
    }
    ASSIGN_OR_RETURN(const Observation observation, ObservationOf(proposal, result.measurement));
    strategy_->Update({observation});
    untrained_.push_back({std::move(proposal), result.measurement});
  }
  return absl::OkStatus();
}

absl::Status TaskSearch::Train() {
  if (untrained_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(options_.tools.scorer->Train(untrained_));
  // Only after success: a model that could not learn is told again.
  trained_count_ += static_cast<int64_t>(untrained_.size());
  untrained_.clear();
  return absl::OkStatus();
}

TaskProgress TaskSearch::progress() const {
  TaskProgress progress = progress_;
  progress.pending_count = static_cast<int64_t>(pending_.size());
  return progress;
}

TaskStatus TaskSearch::status() const {
  int64_t pending_count = static_cast<int64_t>(pending_.size());
  // It is no trial, and nobody counts it in the budget.
  if (pending_.contains(reference_trial().trial_id)) --pending_count;
  return {.name = options_.task.name,
          .weight = options_.task.weight,
          .bound_ns = options_.tools.bound_ns,
          .default_ns = default_ns(),
          .best = best_,
          .trial_count = progress_.trial_count() + ahead_count_,
          .pending_count = pending_count,
          .exhausted = progress_.exhausted};
}

}  // namespace burnish
