#include "compiler/driver/storage_choice.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/driver/probed_model.h"

namespace burnish {
namespace {

// The probe and the build differ by the order of sums alone. Each build after the first says by how
// much; a model that is over its budget after so many is over it for another reason.
constexpr int kBuildsMax = 4;
// Of the order of layers, examples enough: one. All decide about the budget.
constexpr size_t kExamplesOfOrder = 1;

double NsOf(const KnownSchedule& schedule) {
  return schedule.latency_ns > 0 ? static_cast<double>(schedule.latency_ns) : schedule.estimated_ns;
}

double NsOfGroup(const PlannedModel& model, size_t group) {
  const TaskCall& call = model.tasks.calls[group];
  if (call.task < 0) return 0;
  return NsOf(model.chosen[call.task].schedule) *
         static_cast<double>(model.fusion.groups[group].repeat);
}

double NsOfModel(const PlannedModel& model) {
  double ns = 0;
  for (size_t g = 0; g < model.tasks.calls.size(); ++g) ns += NsOfGroup(model, g);
  return ns;
}

// The node that a group is for, whichever casts it ends or begins with.
const std::string& LayerOfGroup(const PlannedModel& model, size_t group) {
  const FusedGroup& fused = model.fusion.groups[group];
  if (fused.anchor >= 0) return model.graph.nodes[fused.anchor].layer;
  const auto is_more = [&](GraphNodeId n) { return model.graph.nodes[n].op != "cast"; };
  const auto found = std::find_if(fused.nodes.begin(), fused.nodes.end(), is_more);
  return model.graph.nodes[found == fused.nodes.end() ? fused.nodes[0] : *found].layer;
}

absl::Status NotMeasured(const absl::Status& why) {
  return absl::OutOfRangeError(
      absl::StrCat("what 16 bits cost cannot be measured: ", why.message(),
                   "; hint: compile on a machine that runs it, or with other --data"));
}

}  // namespace

absl::StatusOr<PlannedModel> StorageChoice::Cut(const FloatStorage& storage) const {
  return CutModel(graph_, options_.opt_level, /*refit=*/false, storage);
}

absl::StatusOr<PlannedModel> StorageChoice::Plan(const PlannedModel& cut) const {
  BuildModelOptions options = options_;
  options.require_tuned = false;  // It is for an estimate.
  return PlanModel(cut, options, chooser_);
}

absl::Status StorageChoice::Start() {
  RETURN_IF_ERROR(reference_.Build());
  if (reference_.meter() == nullptr) {
    const bool must = options_.fastest_storage || !options_.examples.examples.empty();
    return must ? NotMeasured(reference_.why()) : absl::OkStatus();
  }
  // Steps of loops have no order in which they could be looked at.
  if (!wide_.regions.empty()) {
    if (!options_.fastest_storage) return absl::OkStatus();
    return absl::OutOfRangeError(
        "which layers of a model with control flow are stored in 16 bits is not searched for; "
        "hint: --precision bf16 stores all of them");
  }
  DType narrow = options_.storage.type;
  for (const auto& [name, type] : options_.storage.layers) {
    if (narrow == DType::kF32) narrow = type;
  }
  if (narrow == DType::kF32) narrow = DType::kBf16;
  ASSIGN_OR_RETURN(const PlannedModel all, Cut({.type = narrow}));
  probed_ = ProbedModelOf(reference_.parts().model, reference_.parts().steps,
                          reference_.parts().reply, NarrowNodes(all.graph));
  probe_.emplace(*reference_.meter(), probed_);
  return FindGains();
}

std::vector<double> StorageChoice::NsByLayer(const PlannedModel& model) const {
  std::map<std::string, size_t> layer_of;
  for (size_t l = 0; l < probed_.layers.size(); ++l) {
    for (const std::string& node : probed_.layers[l].nodes) layer_of.emplace(node, l);
  }
  std::vector<double> ns(probed_.layers.size(), 0);
  for (size_t g = 0; g < model.tasks.calls.size(); ++g) {
    const auto layer = layer_of.find(LayerOfGroup(model, g));
    if (layer != layer_of.end()) ns[layer->second] += NsOfGroup(model, g);
  }
  return ns;
}

absl::Status StorageChoice::FindGains() {
  ASSIGN_OR_RETURN(const PlannedModel in_f32, Plan(wide_));
  const std::vector<double> ns_in_f32 = NsByLayer(in_f32);
  layers_.assign(probed_.layers.size(), {});
  if (options_.fastest_storage) return ChooseFastest(in_f32, ns_in_f32);
  ASSIGN_OR_RETURN(const PlannedModel cut, Cut(options_.storage));
  ASSIGN_OR_RETURN(const PlannedModel planned, Plan(cut));
  const std::vector<double> ns = NsByLayer(planned);
  for (size_t l = 0; l < layers_.size(); ++l) {
    layers_[l] = {.type = options_.storage.Of(probed_.layers[l].nodes[0]),
                  .gain_ns = ns_in_f32[l] - ns[l]};
  }
  return absl::OkStatus();
}

// Each layer's own best type, or one type for all: casts between layers cost as well, and only the
// whole shows them.
absl::Status StorageChoice::ChooseFastest(const PlannedModel& in_f32,
                                          const std::vector<double>& ns_in_f32) {
  std::vector<LayerGain> mixture(layers_.size());
  std::vector<std::vector<LayerGain>> choices;
  for (const DType type : {DType::kBf16, DType::kF16}) {
    ASSIGN_OR_RETURN(const PlannedModel cut, Cut({.type = type}));
    ASSIGN_OR_RETURN(const PlannedModel planned, Plan(cut));
    const std::vector<double> ns = NsByLayer(planned);
    std::vector<LayerGain>& uniform = choices.emplace_back();
    for (size_t l = 0; l < layers_.size(); ++l) {
      uniform.push_back({.type = type, .gain_ns = ns_in_f32[l] - ns[l]});
      if (uniform[l].gain_ns > mixture[l].gain_ns) mixture[l] = uniform[l];
    }
  }
  choices.push_back(std::move(mixture));
  double least = NsOfModel(in_f32);  // All layers in f32, as they are.
  for (const std::vector<LayerGain>& choice : choices) {
    std::vector<DType> types;
    for (const LayerGain& layer : choice) types.push_back(layer.type);
    ASSIGN_OR_RETURN(const PlannedModel cut, Cut(StorageOf(types)));
    ASSIGN_OR_RETURN(const PlannedModel planned, Plan(cut));
    const double ns = NsOfModel(planned);
    if (ns >= least) continue;
    least = ns;
    layers_ = choice;
  }
  return absl::OkStatus();
}

FloatStorage StorageChoice::StorageOf(const std::vector<DType>& types) const {
  FloatStorage storage = options_.storage;
  for (size_t l = 0; l < types.size(); ++l) {
    for (const std::string& node : probed_.layers[l].nodes) {
      storage.layers.erase(node);
      if (types[l] != storage.type) storage.layers[node] = types[l];
    }
  }
  return storage;
}

absl::StatusOr<double> StorageChoice::ErrorOf(const std::vector<DType>& types, bool fast) {
  if (const auto found = known_.find({types, fast}); found != known_.end()) return found->second;
  const size_t examples = fast ? kExamplesOfOrder : std::numeric_limits<size_t>::max();
  ASSIGN_OR_RETURN(const double error, probe_->ErrorOf(types, examples));
  return known_[{types, fast}] = error;
}

absl::StatusOr<FloatStorage> StorageChoice::Within(double budget) {
  if (!can_choose()) return options_.storage;
  const auto error_of = [this](const std::vector<DType>& types, bool fast) {
    return ErrorOf(types, fast);
  };
  const auto progress = [this](int done, int total) {
    Tell(options_, BuildProgress::Stage::kError, done, total);
  };
  ASSIGN_OR_RETURN(types_, TakeBack(layers_, budget, error_of, progress));
  ASSIGN_OR_RETURN(simulated_, ErrorOf(types_, /*fast=*/false));
  return StorageOf(types_);
}

void StorageChoice::Report(BuiltModel& built) const {
  for (size_t l = 0; l < types_.size(); ++l) {
    built.layers.push_back({.name = probed_.layers[l].nodes[0], .type = types_[l]});
  }
}

absl::StatusOr<BuiltModel> StorageChoice::Build() {
  RETURN_IF_ERROR(Start());
  const double budget = options_.select.error_budget;
  BuildModelOptions within = options_;
  double aim = budget;
  for (int build = 1;; ++build) {
    ASSIGN_OR_RETURN(const FloatStorage storage, Within(aim));
    const bool in_f32 = can_choose() && std::all_of(types_.begin(), types_.end(),
                                                    [](DType type) { return type == DType::kF32; });
    if (in_f32) {
      ASSIGN_OR_RETURN(BuiltModel built, BuildInF32(graph_, wide_, /*refit=*/nullptr, chooser_,
                                                    builder_, options_, reference_));
      Report(built);
      return built;
    }
    ASSIGN_OR_RETURN(const PlannedModel cut, Cut(storage));
    ASSIGN_OR_RETURN(BuiltModel built,
                     BuildOnce(graph_, cut, /*refit=*/nullptr, chooser_, builder_, within));
    built.storage = storage;
    Report(built);
    if (!reference_.Measure(built)) return built;
    const double measured = *built.measured_error;
    if (measured <= budget) return built;
    // Errors of both kinds are independent: what 16 bits do not explain is the algorithms' part.
    const bool algorithms = built.expected_error > 0 &&
                            (!can_choose() || 2 * simulated_ * simulated_ < measured * measured);
    if (build == kBuildsMax || (!algorithms && !can_choose())) {
      return absl::OutOfRangeError(absl::StrFormat(
          "with values stored as %s the error is %.1e on "
          "%s, want <= %.1e",
          DTypeName(options_.storage.type), measured, options_.examples.source, budget));
    }
    if (algorithms) {
      within.select.error_budget = kBudgetMargin * built.expected_error * budget / measured;
    } else {
      aim *= kBudgetMargin * budget / measured;
    }
  }
}

}  // namespace burnish
