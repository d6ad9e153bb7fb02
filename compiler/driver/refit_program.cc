#include "compiler/driver/refit_program.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/driver/storage_layout.h"
#include "compiler/driver/to_status.h"
#include "compiler/graph/constant_origin.h"
#include "compiler/graph/evaluate.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/run_once.h"

namespace burnish {
namespace {

// Passes and program compute in double and round once to what the constant is: they may differ by
// the last bit of a float, 6e-8 of a value.
constexpr double kErrorMax = 1e-6;

// What is read by strides from a dense tensor.
struct View {
  OriginPtr of;
  std::vector<int64_t> strides;
};

// Takes transpositions, and reshapes under them, off an origin.
View ViewOf(OriginPtr origin) {
  std::vector<int64_t> axes;  // Of `origin` now, by axis of the constant.
  for (size_t d = 0; d < origin->type.shape.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  while (origin->op == OpId::kTranspose) {
    const std::vector<int64_t> perm = origin->attributes.Ints("perm", {});
    for (int64_t& axis : axes) axis = perm[axis];
    origin = origin->inputs[0];
  }
  const std::vector<int64_t> dense = DenseStrides(origin->type.shape);
  View view;
  for (const int64_t axis : axes) view.strides.push_back(dense[axis]);
  // The same elements in the same order.
  while (origin->op == OpId::kReshape) origin = origin->inputs[0];
  view.of = std::move(origin);
  return view;
}

// `seen` keeps what it has alive: another origin could get the place of one that is gone.
void CollectParameters(const OriginPtr& origin, std::set<OriginPtr>& seen,
                       std::map<std::string, OriginPtr>& parameters) {
  if (!origin->from_parameters || !seen.insert(origin).second) return;
  if (!origin->parameter.empty()) parameters.emplace(origin->parameter, origin);
  for (const OriginPtr& input : origin->inputs) CollectParameters(input, seen, parameters);
}

TensorInfo TensorOf(std::string name, const TensorType& type) {
  return DenseTensor(std::move(name), ElementTypeOf(type.dtype), type.shape);
}

// Largest difference, by the largest value.
double DifferenceOf(const TensorType& type, const ConstantData& got, const ConstantData& want) {
  const std::vector<double> a = ToDoubles(type, got), b = ToDoubles(type, want);
  double difference = 0, greatest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    difference = std::max(difference, std::abs(a[i] - b[i]));
    // Also where one of them is not finite.
    if (!std::isfinite(difference)) return difference;
  }
  for (const double value : b) greatest = std::max(greatest, std::abs(value));
  return difference == 0 ? 0 : difference / greatest;
}

class Maker {
 public:
  explicit Maker(Graph& graph) : graph_(graph) {}

  absl::StatusOr<RefitProgram> Run(
      const std::function<absl::StatusOr<std::string>(const Graph&)>& build);

 private:
  void CollectConstants();
  uint32_t ComputedNumber(const OriginPtr& origin);
  absl::Status Compute(const Graph& computation);

  Graph& graph_;
  RefitProgram program_;
  std::map<std::string, uint32_t> parameters_;  // Numbers, by name.
  std::vector<OriginPtr> parameter_origins_;
  std::map<std::string, uint32_t> computed_;  // Numbers, by OriginKey.
  std::vector<OriginPtr> computed_origins_;
};

uint32_t Maker::ComputedNumber(const OriginPtr& origin) {
  const auto [found, is_new] =
      computed_.emplace(OriginKey(origin), static_cast<uint32_t>(computed_origins_.size()));
  if (is_new) computed_origins_.push_back(origin);
  return found->second;
}

void Maker::CollectConstants() {
  std::map<ValueId, View> views;
  std::map<std::string, OriginPtr> parameters;
  std::set<OriginPtr> seen;
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    const GraphValue& value = graph_.values[v];
    if (value.data == nullptr || value.data->origin() == nullptr) continue;
    const OriginPtr origin = OriginOf(value.type, value.data);
    CollectParameters(origin, seen, parameters);
    views[static_cast<ValueId>(v)] = ViewOf(origin);
  }
  for (const auto& [name, origin] : parameters) {
    parameters_[name] = static_cast<uint32_t>(parameter_origins_.size());
    parameter_origins_.push_back(origin);
    program_.info.parameters.push_back(TensorOf(name, origin->type));
  }
  for (auto& [value, view] : views) {
    const uint32_t source =
        !view.of->parameter.empty()
            ? parameters_.at(view.of->parameter)
            : static_cast<uint32_t>(parameters_.size()) + ComputedNumber(view.of);
    program_.sources[value] = {.source = source, .strides = std::move(view.strides)};
  }
}

// The constants become what the program makes.
absl::Status Maker::Compute(const Graph& computation) {
  const auto model = Model::LoadBytes(
      {reinterpret_cast<const uint8_t*>(program_.bundle.data()), program_.bundle.size()},
      {.check_weights = false});
  if (!model.ok()) return ToStatus(model.status());
  ByteViews inputs;
  for (const uint32_t parameter : program_.info.program_inputs) {
    const absl::Span<const uint8_t> bytes = parameter_origins_[parameter]->value->bytes();
    inputs.emplace_back(bytes.data(), bytes.size());
  }
  const RuntimeOr<std::vector<AlignedBytes>> outputs = RunOnce(*model, inputs);
  if (!outputs.ok()) return ToStatus(outputs.status());
  std::vector<ConstantPtr> computed;
  for (const AlignedBytes& bytes : *outputs) {
    computed.push_back(MakeConstant(std::vector<uint8_t>(bytes.begin(), bytes.end())));
  }
  for (const auto& [id, source] : program_.sources) {
    if (source.source < parameters_.size()) continue;
    GraphValue& value = graph_.values[id];
    const ConstantPtr made =
        StridedCopy(*computed[source.source - parameters_.size()], SizeBytes(value.type.dtype),
                    value.type.shape, source.strides, 0);
    const double difference = DifferenceOf(value.type, *made, *value.data);
    // The negation catches what is not a number.
    if (!(difference <= kErrorMax)) {
      return absl::InternalError(absl::StrCat("constant ", value.name, ": the refit program is ",
                                              difference, " off what was folded (",
                                              computation.nodes.size(), " nodes)"));
    }
    value.data = WithOrigin(made, value.data->origin());
  }
  return absl::OkStatus();
}

absl::StatusOr<RefitProgram> Maker::Run(
    const std::function<absl::StatusOr<std::string>(const Graph&)>& build) {
  CollectConstants();
  if (computed_origins_.empty()) return std::move(program_);
  ASSIGN_OR_RETURN(Graph computation, GraphOfOrigins(computed_origins_));
  computation.name = absl::StrCat(graph_.name, ".refit");
  for (size_t i = 0; i < computed_origins_.size(); ++i) {
    computation.values[computation.outputs[i]].name = absl::StrCat("computed", i);
    RefitComputed& computed = program_.info.computed.emplace_back();
    computed.tensor = TensorOf(absl::StrCat("computed", i), computed_origins_[i]->type);
    std::map<std::string, OriginPtr> of_output;
    std::set<OriginPtr> seen;
    CollectParameters(computed_origins_[i], seen, of_output);
    for (const auto& [name, origin] : of_output) {
      computed.parameters.push_back(parameters_.at(name));
    }
  }
  for (const ValueId input : computation.inputs) {
    program_.info.program_inputs.push_back(parameters_.at(computation.value(input).name));
  }
  ASSIGN_OR_RETURN(program_.bundle, build(computation));
  RETURN_IF_ERROR(Compute(computation));
  return std::move(program_);
}

}  // namespace

absl::StatusOr<RefitProgram> MakeRefitProgram(
    Graph& graph, const std::function<absl::StatusOr<std::string>(const Graph&)>& build) {
  return Maker(graph).Run(build);
}

}  // namespace burnish
