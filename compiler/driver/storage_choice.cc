#include "compiler/driver/storage_choice.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/driver/assemble.h"
#include "compiler/driver/probed_model.h"
#include "compiler/driver/to_status.h"
#include "compiler/graph/quantize_graph.h"

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
  const auto is_more = [&](GraphNodeId n) { return model.graph.nodes[n].op != OpId::kCast; };
  const auto found = std::find_if(fused.nodes.begin(), fused.nodes.end(), is_more);
  return model.graph.nodes[found == fused.nodes.end() ? fused.nodes[0] : *found].layer;
}

absl::Status NotMeasured(const absl::Status& why) {
  return absl::OutOfRangeError(
      absl::StrCat("what few bits cost cannot be measured: ", why.message(),
                   "; hint: compile on a machine that runs it, or with other --data"));
}

}  // namespace

absl::StatusOr<PlannedModel> StorageChoice::Cut(const FloatStorage& storage) const {
  return CutModel(source_,
                  {.opt_level = options_.opt_level, .storage = storage, .passes = options_.passes});
}

absl::StatusOr<PlannedModel> StorageChoice::Plan(const PlannedModel& cut) const {
  BuildModelOptions options = options_;
  options.require_tuned = false;  // It is for an estimate.
  return PlanModel(cut, options, chooser_);
}

absl::Status StorageChoice::Start() {
  RETURN_IF_ERROR(reference_.Build());
  if (reference_.meter() == nullptr) {
    // Examples of a quantized model are what its ranges are from, wherever it is to run.
    const bool asks = !options_.examples.examples.empty() && !options_.storage.quantizes();
    const bool must = options_.fastest_storage || asks;
    return must ? NotMeasured(reference_.why()) : absl::OkStatus();
  }
  // Steps of loops have no order in which they could be looked at.
  if (!wide_.regions.empty()) {
    if (!options_.fastest_storage) return absl::OkStatus();
    return absl::OutOfRangeError(
        "which layers of a model with control flow are stored in fewer bits is not searched for; "
        "hint: --precision bf16 stores all of them");
  }
  DType narrow = options_.storage.type;
  for (const auto& [name, type] : options_.storage.layers) {
    if (narrow == DType::kF32) narrow = type;
  }
  // Which layers there are does not depend on it: whatever may be quantized may be in 16 bits.
  if (narrow == DType::kF32 || narrow == DType::kI8) narrow = DType::kBf16;
  ASSIGN_OR_RETURN(const PlannedModel all, Cut({.type = narrow}));
  probed_ =
      ProbedModelOf(reference_.parts().model, reference_.parts().steps, reference_.parts().reply,
                    NarrowNodes(all.graph), options_.storage.ranges);
  RETURN_IF_ERROR(FindBytes());
  return FindGains();
}

absl::Status StorageChoice::FindBytes() {
  std::shared_ptr<const Model> rounded_model;
  if (!options_.storage.ranges.empty()) {
    ASSIGN_OR_RETURN(const std::set<std::string> names, LayersInBytes(source_, options_.storage));
    for (const ProbedLayer& layer : probed_.layers) {
      in_bytes_.push_back(
          std::any_of(layer.nodes.begin(), layer.nodes.end(),
                      [&](const std::string& node) { return names.count(node) > 0; }));
    }
    // The reference with other constants: the same kernels and steps.
    ASSIGN_OR_RETURN(const Graph rounded, WithRoundedWeights(source_, options_.storage));
    ASSIGN_OR_RETURN(const PlannedModel cut, CutModel(rounded, {.opt_level = options_.opt_level,
                                                                .passes = options_.passes}));
    const BuildParts& parts = reference_.parts();
    PlannedModel model = parts.model;
    if (cut.graph.values.size() != wide_.graph.values.size()) {
      return absl::InternalError("rounded weights changed the graph");
    }
    for (size_t v = 0; v < cut.graph.values.size(); ++v) {
      GraphValue& value = model.graph.values[v];
      if (value.data == nullptr) continue;
      if (value.type != cut.graph.values[v].type || cut.graph.values[v].data == nullptr) {
        return absl::InternalError("rounded weights changed the graph");
      }
      value.data = cut.graph.values[v].data;
    }
    ASSIGN_OR_RETURN(const AssembledModel assembled,
                     AssembleBundle(rounded, model, parts.steps, parts.reply, options_.target));
    ASSIGN_OR_RETURN(const std::string bundle, Write(assembled.bundle));
    auto loaded = Model::LoadBytes({reinterpret_cast<const uint8_t*>(bundle.data()), bundle.size()},
                                   {.check_weights = false});
    if (!loaded.ok()) return ToStatus(loaded.status());
    rounded_model = *std::move(loaded);
  }
  probe_.emplace(*reference_.meter(), probed_, std::move(rounded_model));
  return absl::OkStatus();
}

bool StorageChoice::MayBe(size_t layer, DType type) const {
  if (type == DType::kI8) return !in_bytes_.empty() && in_bytes_[layer];
  return type != DType::kF32;
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
  if (options_.fastest_storage) return ChooseFastest(in_f32, ns_in_f32);
  ASSIGN_OR_RETURN(std::vector<LayerTypes> layers, GainsOf(options_.storage, ns_in_f32));
  forms_.push_back({.layers = std::move(layers)});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LayerTypes>> StorageChoice::GainsOf(
    const FloatStorage& storage, const std::vector<double>& ns_in_f32) const {
  ASSIGN_OR_RETURN(const PlannedModel cut, Cut(storage));
  ASSIGN_OR_RETURN(const PlannedModel planned, Plan(cut));
  const std::vector<double> ns = NsByLayer(planned);
  std::vector<LayerTypes> layers(probed_.layers.size());
  for (size_t l = 0; l < layers.size(); ++l) {
    const DType type = storage.Of(probed_.layers[l].nodes[0]);
    if (MayBe(l, type)) layers[l] = {{.type = type, .gain_ns = ns_in_f32[l] - ns[l]}};
  }
  return layers;
}

// Each layer's own best type, with what else it may be in, and the pure forms: casts between layers
// cost as well, a budget takes them away from one form and not from another, and only the whole
// shows either.
absl::Status StorageChoice::ChooseFastest(const PlannedModel& in_f32,
                                          const std::vector<double>& ns_in_f32) {
  in_f32_ns_ = NsOfModel(in_f32);
  std::vector<LayerTypes> gains(probed_.layers.size());  // Those that are some.
  for (const DType type : {DType::kBf16, DType::kF16, DType::kI8}) {
    if (type == DType::kI8 && in_bytes_.empty()) continue;
    ASSIGN_OR_RETURN(std::vector<LayerTypes> pure,
                     GainsOf({.type = type, .ranges = options_.storage.ranges}, ns_in_f32));
    for (size_t l = 0; l < pure.size(); ++l) {
      for (const TypeGain& gain : pure[l]) {
        if (gain.gain_ns > 0) gains[l].push_back(gain);
      }
    }
    forms_.push_back({.layers = std::move(pure)});
  }
  // The pure forms again, with what layers may be in before they are in f32.
  const size_t pure_forms = forms_.size();
  for (size_t f = 0; f < pure_forms; ++f) {
    std::vector<LayerTypes> mixed = forms_[f].layers;
    for (size_t l = 0; l < mixed.size(); ++l) {
      if (mixed[l].empty()) continue;
      for (const TypeGain& gain : gains[l]) {
        if (gain.type != mixed[l][0].type) mixed[l].push_back(gain);
      }
    }
    forms_.push_back({.layers = std::move(mixed)});
  }
  for (LayerTypes& layer : gains) {
    std::sort(layer.begin(), layer.end(),
              [](const TypeGain& a, const TypeGain& b) { return a.gain_ns > b.gain_ns; });
  }
  forms_.push_back({.layers = std::move(gains)});
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

absl::StatusOr<std::vector<DType>> StorageChoice::TypesWithin(const Form& form, double budget,
                                                              int& asked) {
  const auto error_of = [this](const std::vector<DType>& types, bool fast) {
    return ErrorOf(types, fast);
  };
  int total = 0;
  const auto progress = [&](int done, int of) {
    total = of;
    Tell(options_, BuildProgress::Stage::kError, asked + done, asked + total);
  };
  ASSIGN_OR_RETURN(std::vector<DType> types,
                   TakeBack(form.layers, form.margin * budget, error_of, progress));
  asked += total;
  return types;
}

absl::StatusOr<FloatStorage> StorageChoice::Within(double budget) {
  if (!can_choose()) return options_.storage;
  double least = in_f32_ns_;  // f32 wins ties.
  types_.assign(probed_.layers.size(), DType::kF32);
  int asked = 0;
  for (Form& form : forms_) {
    ASSIGN_OR_RETURN(form.types, TypesWithin(form, budget, asked));
    if (options_.fastest_storage) {
      ASSIGN_OR_RETURN(const PlannedModel cut, Cut(StorageOf(form.types)));
      ASSIGN_OR_RETURN(const PlannedModel planned, Plan(cut));
      const double ns = NsOfModel(planned);
      if (ns >= least) continue;
      least = ns;
    }
    types_ = form.types;
  }
  ASSIGN_OR_RETURN(simulated_, ErrorOf(types_, /*fast=*/false));
  return StorageOf(types_);
}

// Of the forms that were built so, and no others: what the probe does not see (quantized sums
// within a kernel) is not the same in all.
bool StorageChoice::AimLower(std::optional<double> measured) {
  const double budget = options_.select.error_budget;
  for (Form& form : forms_) {
    if (form.types != types_) continue;
    if (measured.has_value()) {
      form.margin = NextAim(budget, simulated_, *measured, form.builds) / budget;
    }
    if (++form.builds < kBuildsMax) continue;
    if (!options_.fastest_storage) return false;
    form.layers.assign(probed_.layers.size(), {});
  }
  return true;
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
  for (int build = 1;; ++build) {
    ASSIGN_OR_RETURN(const FloatStorage storage, Within(budget));
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
    ASSIGN_OR_RETURN(const bool is_measured, reference_.Measure(built));
    if (!is_measured) return built;
    const double measured = *built.measured_error;
    if (measured <= budget) return built;
    // Errors of both kinds are independent: what 16 bits do not explain is the algorithms' part.
    const bool algorithms = built.expected_error > 0 &&
                            (!can_choose() || 2 * simulated_ * simulated_ < measured * measured);
    const std::optional<double> of_types =
        algorithms ? std::optional<double>() : std::optional<double>(measured);
    const bool is_more = can_choose() ? AimLower(of_types) : algorithms && build < kBuildsMax;
    if (!is_more) {
      return absl::OutOfRangeError(absl::StrFormat(
          "with values stored as %s the error is %.1e on "
          "%s, want <= %.1e",
          DTypeName(options_.storage.type), measured, options_.examples.source, budget));
    }
    if (algorithms) {
      within.select.error_budget = kBudgetMargin * budget / measured * built.expected_error;
    }
  }
}

}  // namespace burnish
