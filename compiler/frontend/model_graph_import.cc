#include "compiler/frontend/model_graph_import.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "compiler/frontend/element_count.h"
#include "compiler/frontend/model_graph_attributes.h"
#include "compiler/frontend/named_outputs.h"
#include "compiler/frontend/sized_graph.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/te/operator.h"
#include "google/protobuf/util/json_util.h"
#include "proto/model_graph.pb.h"

namespace burnish {
namespace {

constexpr absl::string_view kMagic = "BURNGRPH";
constexpr size_t kHeadBytes = 16;  // The magic and the size of the JSON.
// A node with its names takes some 300 bytes of JSON: a hundred thousand of them, and more.
constexpr uint64_t kJsonBytesMax = 64 << 20;
// Of a size's greatest: a dimension of one element is one that broadcasts.
constexpr int64_t kGreatestMin = 2;

absl::StatusOr<ModelGraph> ParseHeader(absl::string_view bytes, size_t& data_begin) {
  uint64_t json_bytes = 0;
  if (bytes.size() >= kHeadBytes) {
    std::memcpy(&json_bytes, bytes.data() + kMagic.size(), sizeof(json_bytes));
  }
  if (bytes.size() < kHeadBytes || json_bytes > bytes.size() - kHeadBytes) {
    return absl::InvalidArgumentError("the model graph is truncated");
  }
  if (json_bytes > kJsonBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the model graph has ", json_bytes, " bytes of JSON, the limit is ", kJsonBytesMax));
  }
  ModelGraph model;
  const std::string json(bytes.substr(kHeadBytes, json_bytes));
  // Unknown fields are errors: a misspelt one would else be silently the default.
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &model);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model graph's JSON: ", std::string(parsed.message())));
  }
  if (model.format() < 1 || model.format() > kNewestModelGraphFormat) {
    return absl::UnimplementedError(absl::StrCat("got model graph format ", model.format(),
                                                 ", want 1 to ", kNewestModelGraphFormat,
                                                 "; a newer program reads it"));
  }
  data_begin = kHeadBytes + json_bytes;
  return model;
}

// A sum for some sizes; nothing beyond 64 bits.
std::optional<int64_t> TotalOf(const ModelGraph::Sum& sum, const std::vector<int64_t>& sizes) {
  int64_t total = 0;
  for (const ModelGraph::Product& product : sum.products()) {
    int64_t value = product.factor();
    for (const uint32_t size : product.sizes()) {
      if (__builtin_mul_overflow(value, sizes[size], &value)) return std::nullopt;
    }
    if (__builtin_add_overflow(total, value, &total)) return std::nullopt;
  }
  return total;
}

// The first `count` elements along an axis of a tensor.
std::vector<uint8_t> FirstAlong(absl::Span<const uint8_t> bytes, const TensorType& type,
                                int64_t axis, int64_t count) {
  auto row = static_cast<size_t>(SizeBytes(type.dtype));
  for (size_t d = axis + 1; d < type.shape.size(); ++d) row *= type.shape[d];
  std::vector<uint8_t> first;
  for (size_t at = 0; at < bytes.size(); at += row * type.shape[axis]) {
    const absl::Span<const uint8_t> kept = bytes.subspan(at, row * count);
    first.insert(first.end(), kept.begin(), kept.end());
  }
  return first;
}

class ModelGraphImporter {
 public:
  ModelGraphImporter(std::shared_ptr<const void> owner, absl::Span<const uint8_t> data,
                     const ImportOptions& options)
      : owner_(std::move(owner)), data_(data), options_(options), sized_(options) {}

  absl::StatusOr<Graph> Import(const ModelGraph& model) {
    if (model.nodes_size() > options_.max_nodes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the model has over ", options_.max_nodes, " nodes (the limit)"));
    }
    graph_.name = model.name();
    RETURN_IF_ERROR(AddSizes(model));
    RETURN_IF_ERROR(NarrowSizes());
    for (const ModelGraph::Input& input : model.inputs()) RETURN_IF_ERROR(AddInputOf(input));
    RETURN_IF_ERROR(CheckShapes());
    RETURN_IF_ERROR(CheckSizesAreGiven());
    if (is_sized()) RETURN_IF_ERROR(sized_.AddSizes());
    for (const ModelGraph::Constant& constant : model.constants()) {
      RETURN_IF_ERROR(AddConstantOf(constant));
    }
    for (const ModelGraph::Node& node : model.nodes()) RETURN_IF_ERROR(AddNodeOf(node));
    std::vector<NamedOutput> outputs;
    for (const ModelGraph::Output& output : model.outputs()) {
      ASSIGN_OR_RETURN(const ValueId id, Find(output.value(), "an output"));
      outputs.push_back({output.name().empty() ? output.value() : output.name(), id});
    }
    RETURN_IF_ERROR(is_sized() ? sized_.SetOutputs(outputs) : SetNamedOutputs(graph_, outputs));
    EliminateDead(graph_);
    RETURN_IF_ERROR(VerifyGraph(graph_));
    return std::move(graph_);
  }

 private:
  absl::StatusOr<ValueId> Find(const std::string& name, absl::string_view reader) const {
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    return absl::InvalidArgumentError(
        absl::StrCat(reader, " reads '", name, "', which nothing before it writes"));
  }

  absl::Status Define(const std::string& name, ValueId id) {
    if (name.empty()) return absl::InvalidArgumentError("a value has no name");
    if (values_.emplace(name, id).second) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("two values are named '", name, "'"));
  }

  // Of an input or a constant.
  template <typename Message>
  absl::StatusOr<TensorType> TypeOf(const Message& message, const std::string& what) const {
    TensorType type;
    if (!ParseDType(message.dtype(), &type.dtype)) {
      return absl::UnimplementedError(absl::StrCat(
          what, ": got element type '", message.dtype(),
          "', want one of f32, f64, bf16, f16, i64, i32, i16, i8, u64, u32, u16, u8, bool"));
    }
    type.shape.assign(message.shape().begin(), message.shape().end());
    for (const int64_t extent : type.shape) {
      if (extent < 1) {
        return absl::InvalidArgumentError(absl::StrCat(what, ": a dimension is ", extent));
      }
    }
    RETURN_IF_ERROR(CheckedElementCount(type.shape, options_.max_tensor_elements, what).status());
    return type;
  }

  bool is_sized() const { return !graph_.sizes.empty(); }

  absl::Status AddSizes(const ModelGraph& model) {
    if (model.sizes_size() > 0 && model.format() < kSizedModelGraphFormat) {
      return absl::InvalidArgumentError(
          absl::StrCat("sizes in format ", model.format(), ", want ", kSizedModelGraphFormat));
    }
    std::set<std::string> names;
    for (const ModelGraph::Size& size : model.sizes()) {
      if (size.least() < 0 || size.greatest() < kGreatestMin || size.least() > size.greatest() ||
          size.greatest() > kIntegerMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("size '", size.name(), "': got ", size.least(), " to ", size.greatest(),
                         ", want a range within 0 to 2^28 that ends at 2 or above"));
      }
      if (!names.insert(size.name()).second || size.name().empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("two sizes are named '", size.name(), "', or one has no name"));
      }
      graph_.sizes.push_back(
          {.name = size.name(), .least = size.least(), .greatest = size.greatest()});
    }
    return absl::OkStatus();
  }

  // A range within that of the file is a model of its own, whose kernels are for its end: what
  // follows the size is computed anew.
  absl::Status NarrowSizes() {
    for (const GraphSize& size : graph_.sizes) said_.push_back(size.greatest);
    for (const auto& [name, text] : options_.dims) {
      const auto size =
          std::find_if(graph_.sizes.begin(), graph_.sizes.end(),
                       [&, &name = name](const GraphSize& each) { return each.name == name; });
      const std::vector<std::string> ends = absl::StrSplit(text, absl::MaxSplits("..", 1));
      int64_t least = 0, greatest = 0;
      if (size != graph_.sizes.end() && ends.size() == 2 && absl::SimpleAtoi(ends[0], &least) &&
          absl::SimpleAtoi(ends[1], &greatest) && size->least <= least && least <= greatest &&
          kGreatestMin <= greatest && greatest <= size->greatest) {
        size->least = least;
        size->greatest = greatest;
        continue;
      }
      const auto range = [](std::string* out, const GraphSize& each) {
        absl::StrAppend(out, each.name, "=", each.least, "..", each.greatest);
      };
      return absl::OutOfRangeError(absl::StrCat(
          "--dim ", name.substr(0, 60), "=", text.substr(0, 60), ": ",
          graph_.sizes.empty() ? "the model's dimensions are all fixed"
                               : absl::StrCat("want a range within one of: ",
                                              absl::StrJoin(graph_.sizes, ", ", range))));
    }
    for (const GraphSize& size : graph_.sizes) greatest_.push_back(size.greatest);
    return absl::OkStatus();
  }

  // `number`: what the file says in the sum's place, of its greatest sizes; it becomes that of
  // ours.
  absl::StatusOr<SizeSum> SumOf(const ModelGraph::Sum& message, int64_t& number) const {
    SizeSum sum;
    for (const ModelGraph::Product& product : message.products()) {
      SizeProduct& one = sum.emplace_back(SizeProduct{.factor = product.factor(), .sizes = {}});
      for (const uint32_t size : product.sizes()) {
        if (size >= graph_.sizes.size()) {
          return absl::InvalidArgumentError(
              absl::StrCat("got size ", size, " of ", graph_.sizes.size()));
        }
        one.sizes.push_back(static_cast<int>(size));
      }
    }
    const std::optional<int64_t> said = TotalOf(message, said_), ours = TotalOf(message, greatest_);
    if (!said.has_value() || !ours.has_value()) {
      return absl::InvalidArgumentError("a sum of sizes beyond 64 bits");
    }
    if (*said != number) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a sum of sizes is ", *said, " at their greatest, where ", number, " is said"));
    }
    number = *ours;
    return sum;
  }

  // Of an input or a constant. `type` becomes that for our greatest sizes.
  template <typename Message>
  absl::StatusOr<std::map<int64_t, SizeSum>> AxesOf(const Message& message,
                                                    TensorType& type) const {
    const std::vector<int64_t> said = type.shape;
    std::map<int64_t, SizeSum> axes;
    for (const ModelGraph::Axis& axis : message.axes()) {
      if (axis.axis() >= type.shape.size()) {
        return absl::InvalidArgumentError(absl::StrCat("'", message.name(), "': got axis ",
                                                       axis.axis(), " of ", type.shape.size()));
      }
      int64_t& extent = type.shape[axis.axis()];
      extent = said[axis.axis()];
      ASSIGN_OR_RETURN(axes[axis.axis()], SumOf(axis.holds(), extent));
      // A difference of sizes may be more where these are less.
      if (extent < 1 || extent > said[axis.axis()]) {
        return absl::UnimplementedError(absl::StrCat("'", message.name(), "': axis ", axis.axis(),
                                                     " is ", extent, " in a narrower range"));
      }
    }
    return axes;
  }

  absl::Status AddInputOf(const ModelGraph::Input& input) {
    ASSIGN_OR_RETURN(TensorType type, TypeOf(input, absl::StrCat("input '", input.name(), "'")));
    ASSIGN_OR_RETURN(const auto axes, AxesOf(input, type));
    for (const auto& [axis, sum] : axes) {
      GraphInputAxis made{.input = static_cast<int>(graph_.inputs.size()),
                          .axis = static_cast<int>(axis),
                          .parts = {}};
      for (const SizeProduct& product : sum) {
        if (product.sizes.size() > 1 || product.factor < 0) {
          return absl::UnimplementedError(absl::StrCat(
              "input '", input.name(), "': an axis of a product of sizes, or below 0"));
        }
        if (product.sizes.empty()) {
          made.constant += product.factor;
        } else {
          made.parts.push_back({.size = product.sizes[0], .factor = product.factor});
        }
      }
      if (!made.parts.empty()) graph_.input_axes.push_back(std::move(made));
    }
    return Define(input.name(), AddInput(graph_, input.name(), std::move(type)));
  }

  absl::Status CheckSizesAreGiven() const {
    for (size_t s = 0; s < graph_.sizes.size(); ++s) {
      const bool is_given = std::any_of(
          graph_.input_axes.begin(), graph_.input_axes.end(), [&](const GraphInputAxis& axis) {
            return axis.GivesSize() && axis.parts[0].size == static_cast<int>(s);
          });
      if (is_given) continue;
      return absl::UnimplementedError(
          absl::StrCat("size '", graph_.sizes[s].name,
                       "': no input has an axis of this size alone, by which a run could tell it"));
    }
    return absl::OkStatus();
  }

  // Every shape is known, so one that is given can only say the same.
  absl::Status CheckShapes() const {
    if (!options_.input_values.empty()) {
      return absl::OutOfRangeError(absl::StrCat("--value ", options_.input_values.begin()->first,
                                                ": a model graph has its values as constants"));
    }
    for (const auto& [name, shape] : options_.input_shapes) {
      bool fits = false;
      for (const ValueId id : graph_.inputs) {
        const GraphValue& input = graph_.value(id);
        fits = fits || (input.name == name && input.type.shape == shape);
      }
      if (fits) continue;
      return absl::OutOfRangeError(absl::StrCat(
          "--shape ", name, "=", absl::StrJoin(shape, "x"),
          ": the model has no such input; its inputs are: ",
          absl::StrJoin(graph_.inputs, ", ", [&](std::string* out, ValueId id) {
            const GraphValue& input = graph_.value(id);
            absl::StrAppend(out, input.name, "=", absl::StrJoin(input.type.shape, "x"));
          })));
    }
    return absl::OkStatus();
  }

  absl::Status AddConstantOf(const ModelGraph::Constant& constant) {
    const std::string what = absl::StrCat("constant '", constant.name(), "'");
    ASSIGN_OR_RETURN(TensorType type, TypeOf(constant, what));
    const auto size = static_cast<uint64_t>(ElementCount(type.shape) * SizeBytes(type.dtype));
    const uint64_t offset = constant.offset_bytes();
    if (offset > data_.size() || size > data_.size() - offset) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": got offset ", offset, " and ", size,
                                                     " bytes, the data has ", data_.size()));
    }
    ASSIGN_OR_RETURN(ConstantPtr data, DataAt(offset, size, type.dtype));
    TensorType held = type;
    ASSIGN_OR_RETURN(const auto axes, AxesOf(constant, held));
    for (const auto& [axis, sum] : axes) {
      if (held.shape[axis] == type.shape[axis]) continue;
      data = MakeConstant(FirstAlong(data->bytes(), type, axis, held.shape[axis]));
      type.shape[axis] = held.shape[axis];
    }
    ValueId id = AddConstant(graph_, constant.name(), std::move(type), data);
    if (!axes.empty()) {
      ASSIGN_OR_RETURN(id, sized_.Held(id, axes));
    }
    return Define(constant.name(), id);
  }

  // One object for all constants with the same bytes: passes know tied weights by that.
  absl::StatusOr<ConstantPtr> DataAt(uint64_t offset, uint64_t size, DType dtype) {
    ConstantPtr& data = constants_[{offset, size, dtype == DType::kBool}];
    if (data != nullptr) return data;
    constant_bytes_ += static_cast<int64_t>(size);
    if (constant_bytes_ > options_.max_constant_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("constants take over ", options_.max_constant_bytes, " bytes (the limit)"));
    }
    const absl::Span<const uint8_t> bytes = data_.subspan(offset, size);
    if (dtype != DType::kBool) {
      data = std::make_shared<ConstantData>(owner_, bytes);
      return data;
    }
    std::vector<uint8_t> bits(bytes.begin(),
                              bytes.end());  // Any byte but 0 is true; keep 1 for it.
    for (uint8_t& bit : bits) bit = bit != 0;
    data = MakeConstant(std::move(bits));
    return data;
  }

  // `attributes` become those for our greatest sizes.
  absl::StatusOr<std::map<std::string, std::map<int64_t, SizeSum>>> SumsOf(
      const ModelGraph::Node& node, Attributes& attributes) const {
    const Attributes said = attributes;
    std::map<std::string, std::map<int64_t, SizeSum>> sums;
    for (const ModelGraph::Place& place : node.places()) {
      const std::vector<int64_t> numbers = said.Ints(place.attribute(), {});
      if (place.index() >= numbers.size()) {
        return absl::InvalidArgumentError(absl::StrCat("attribute '", place.attribute(),
                                                       "': got place ", place.index(), " of ",
                                                       numbers.size()));
      }
      int64_t number = numbers[place.index()];
      ASSIGN_OR_RETURN(sums[place.attribute()][place.index()], SumOf(place.is(), number));
      std::vector<int64_t> ours = attributes.Ints(place.attribute(), {});
      ours[place.index()] = number;
      attributes.Set(place.attribute(), std::move(ours));
    }
    return sums;
  }

  absl::Status AddNodeOf(const ModelGraph::Node& node) {
    const std::string& name =
        !node.name().empty() || node.outputs().empty() ? node.name() : node.outputs(0);
    const std::string label = absl::StrCat("node '", name, "' (", node.op(), ")");
    const auto labelled = [&](const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat(label, ": ", status.message()));
    };
    const OperatorDef* op = FindOperator(node.op());
    if (op == nullptr) return absl::UnimplementedError(absl::StrCat(label, ": no such operator"));
    std::vector<ValueId> inputs;
    std::vector<TensorType> types;
    for (const std::string& input : node.inputs()) {
      ASSIGN_OR_RETURN(inputs.emplace_back(), Find(input, label));
      types.push_back(graph_.value(inputs.back()).type);
    }
    Attributes attributes = ReadAttributes(node);
    const auto sums = SumsOf(node, attributes);
    if (!sums.ok()) return labelled(sums.status());
    if (const absl::Status status =
            CheckAttributes(*op, attributes, types, options_.max_tensor_elements);
        !status.ok()) {
      return labelled(status);
    }
    std::vector<ValueId> results;
    if (is_sized()) {
      ASSIGN_OR_RETURN(
          results, sized_.Emit(node.op(), name, std::move(inputs), std::move(attributes), *sums));
    } else {
      ASSIGN_OR_RETURN(const GraphNodeId id,
                       AddNode(graph_, node.op(), std::move(inputs), std::move(attributes), name));
      results = graph_.nodes[id].outputs;
    }
    if (node.outputs_size() != static_cast<int>(results.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat(label, ": got ", node.outputs_size(), " outputs, want ", results.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string& output = node.outputs(static_cast<int>(i));
      // What an operator leaves as it is, an input say, keeps its name.
      if (!is_sized()) graph_.values[results[i]].name = output;
      RETURN_IF_ERROR(Define(output, results[i]));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<const void> owner_;
  const absl::Span<const uint8_t> data_;
  const ImportOptions& options_;
  SizedGraph sized_;
  Graph& graph_ = sized_.graph();
  std::vector<int64_t> said_, greatest_;  // Of sizes by their place: the file's, and ours.
  std::unordered_map<std::string, ValueId> values_;
  std::map<std::tuple<uint64_t, uint64_t, bool>, ConstantPtr> constants_;
  int64_t constant_bytes_ = 0;
};

}  // namespace

bool IsModelGraph(absl::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

absl::StatusOr<Graph> ImportModelGraph(std::shared_ptr<const void> owner,
                                       absl::Span<const uint8_t> bytes,
                                       const ImportOptions& options) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!IsModelGraph(text)) return absl::InvalidArgumentError("not a model graph");
  size_t data_begin = 0;
  ASSIGN_OR_RETURN(const ModelGraph model, ParseHeader(text, data_begin));
  return ModelGraphImporter(std::move(owner), bytes.subspan(data_begin), options).Import(model);
}

}  // namespace burnish
