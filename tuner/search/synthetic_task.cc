#include "tuner/search/synthetic_task.h"

#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/schedule/primitive.h"
#include "proto/workload.h"

namespace burnish {
namespace {

uint64_t HashOf(const std::string& candidate_id, const char* purpose) {
  return Rng(RngStream{.purpose = purpose, .task = candidate_id}).Next();
}

}  // namespace

SyntheticTask::SyntheticTask(const SyntheticTaskOptions& options) {
  Rng rng(RngStream{.seed = options.seed, .purpose = "synthetic task"});
  for (int s = 0; s < options.sketch_count; ++s) {
    Sketch sketch;
    sketch.name = absl::StrCat("synthetic/", s);
    std::vector<double> best;
    const auto add = [&sketch](const char* primitive, std::vector<std::string> inputs,
                               std::vector<std::string> outputs, std::vector<Argument> arguments) {
      sketch.steps.push_back({.step = {.primitive = FindPrimitive(primitive, 1),
                                       .inputs = std::move(inputs),
                                       .outputs = std::move(outputs),
                                       .arguments = std::move(arguments)}});
    };
    for (int d = 0; d < options.decision_count; ++d) {
      Decision decision{.name = absl::StrCat("d", d)};
      for (int v = 0; v < options.value_count; ++v) decision.values.push_back(int64_t{1} << v);
      sketch.decisions.push_back(std::move(decision));
      add("split", {absl::StrCat("x", d)}, {absl::StrCat("y", d), absl::StrCat("z", d)},
          {{"size", VarRef(d)}});
      // Never at the far end of both of the first two, which is no valid point.
      best.push_back(static_cast<double>(rng.Below(options.value_count - (d == 0 ? 1 : 0))));
    }
    add("fuse", {"a", "b"}, {absl::StrCat("s", s)}, {});
    // The product of the first two decisions is bounded, as register tiles are.
    if (options.decision_count >= 2) {
      sketch.constraints.push_back(
          Lt(VarRef(0) * VarRef(1), Int(int64_t{1} << (2 * options.value_count - 2))));
    }
    sketches_.push_back(std::move(sketch));
    best_.push_back(std::move(best));
  }
}

std::shared_ptr<const SearchSpace> SyntheticTask::Space(int64_t enumerated_points_max) const {
  auto space = SearchSpace::Create({.sketches = sketches_,
                                    .workload_id = Sha256Bytes("synthetic"),
                                    .target = "cpu:arch=x86-64",
                                    .codegen_epoch = 1,
                                    .enumerated_points_max = enumerated_points_max});
  CHECK_OK(space);
  return *std::move(space);
}

int64_t SyntheticTask::LatencyNs(const Proposal& proposal) const {
  CHECK_GE(proposal.sketch_index, 0);
  const std::vector<double>& best = best_[proposal.sketch_index];
  // A further sketch is at best 20 % slower than the one before.
  double log_cost = 0.2 * proposal.sketch_index;
  double before = 0;
  for (size_t d = 0; d < proposal.point.size(); ++d) {
    const double off = std::countr_zero(static_cast<uint64_t>(proposal.point[d])) - best[d];
    // The weights differ, and being off in two neighbours to the same side costs extra.
    log_cost += (0.06 + 0.03 * static_cast<double>(d % 3)) * std::abs(off);
    log_cost += 0.02 * std::max(0.0, off * before);
    before = off;
  }
  return static_cast<int64_t>(static_cast<double>(kBestNs) * std::exp(log_cost));
}

Observation SyntheticTask::Measure(const Proposal& proposal) const {
  return {.proposal = proposal, .latency_ns = LatencyNs(proposal)};
}

bool SyntheticScorer::IsInvalid(const std::string& candidate_id) const {
  return options_.invalid_one_in > 0 &&
         HashOf(candidate_id, "invalid") % static_cast<uint64_t>(options_.invalid_one_in) == 0;
}

absl::StatusOr<std::string> SyntheticScorer::Fingerprint(const Proposal& proposal) const {
  if (options_.twin_groups == 0 || IsInvalid(proposal.candidate_id)) return "";
  const uint64_t group =
      HashOf(proposal.candidate_id, "twin") % static_cast<uint64_t>(options_.twin_groups);
  return Sha256Bytes(absl::StrCat("lowered ", group));
}

absl::StatusOr<std::vector<CandidateScore>> SyntheticScorer::Score(
    absl::Span<const Proposal> proposals) const {
  std::vector<CandidateScore> scores;
  for (const Proposal& proposal : proposals) {
    CandidateScore score{.valid = !IsInvalid(proposal.candidate_id)};
    ASSIGN_OR_RETURN(score.fingerprint, Fingerprint(proposal));
    if (options_.knows_cost) {
      Rng rng(RngStream{.purpose = "noise", .task = proposal.candidate_id});
      score.score = static_cast<float>(-std::log(static_cast<double>(task_.LatencyNs(proposal))) +
                                       options_.noise * rng.Normal());
    }
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace burnish
