// What the translators of single ONNX operators see: the graph under construction and one node.
// Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_ONNX_IMPORT_CONTEXT_H_
#define COMPILER_FRONTEND_ONNX_IMPORT_CONTEXT_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/named_outputs.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_tensor.h"
#include "compiler/graph/bounded_axes.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/size_term.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace burnish {

// A shape that a run may decide: the greatest, and what each dimension is.
struct BoundedShape {
  std::vector<int64_t> bound;
  std::vector<SizeTerm> terms;  // Where the model has numbers only, those.
};

// What is known of a graph's values whose size a run decides (docs/adr/0013-bounded-axes.md).
struct BoundedValues {
  std::map<ValueId, AxisExtents> extents;  // Of values with such an axis.
  // Extents that were computed of others, by how: equal ones are one value.
  std::map<std::string, ValueId> computed;
  std::map<ValueId, SizeTerm> term_of;  // Of extents that are computed of others.
  std::map<SizeTerm, ValueId> by_term;  // The other way round.
  std::map<ValueId, SizeRange> ranges;  // Of extents that are not.
  // Axes of several parts. Their ids are below kFullAxis: none is a value of the graph.
  std::map<ValueId, AxisParts> merged;
  std::map<AxisParts, ValueId> merged_by_parts;
  std::set<std::pair<ValueId, int64_t>> zero_behind;  // Axes with 0 where nothing holds.
  std::map<ValueId, std::vector<SizeTerm>> terms;     // Integers that shapes are made of.
};

// State of one import. Budgets are shared by all graphs of the model.
struct ImportContext {
  const ImportOptions* options;
  int opset = 0;  // Of the graph, or the function, that is being read.
  Graph graph;
  BoundedValues bounded;  // Of `graph`.
  // Of `graph`: how many bits ONNX has for integers that lie in 8 (INT4 ..).
  std::map<ValueId, int> few_bits;
  OnnxTensorBytes* bytes = nullptr;  // Null: no model has tensors.
  int64_t constant_bytes = 0;
  int64_t folded_bytes = 0;
  int nodes = 0;

  // RESOURCE_EXHAUSTED when a budget is spent.
  absl::StatusOr<ValueId> AddConstantValue(absl::string_view name, TensorType type,
                                           ConstantPtr data);
};

// One ONNX node. Attribute getters return the default where the attribute is absent; an attribute
// of the wrong type is remembered and returned by status(), which the importer asks after every
// translator.
class OnnxNode {
 public:
  // `inputs`: -1 for an absent one. `used`: whether anything reads each output.
  OnnxNode(ImportContext* context, const onnx::NodeProto& proto, std::vector<ValueId> inputs,
           std::vector<bool> used);

  // ---- The ONNX side.
  const std::string& type() const { return type_; }
  // Of ONNX Runtime's own operators.
  bool is_microsoft() const;
  int opset() const { return context_->opset; }
  int input_count() const { return static_cast<int>(inputs_.size()); }
  int output_count() const { return static_cast<int>(used_.size()); }
  bool OutputUsed(int i) const { return i < output_count() && used_[i]; }
  bool HasInput(int i) const { return i < input_count() && inputs_[i] >= 0; }
  bool HasAttribute(absl::string_view name) const { return Find(name) != nullptr; }
  int64_t Int(absl::string_view name, int64_t fallback);
  double Float(absl::string_view name, double fallback);
  std::string String(absl::string_view name, std::string fallback);
  std::vector<int64_t> Ints(absl::string_view name, std::vector<int64_t> fallback);
  std::vector<double> Floats(absl::string_view name, std::vector<double> fallback);
  absl::StatusOr<std::vector<std::string>> Strings(absl::string_view name) const;
  const onnx::AttributeProto* Find(absl::string_view name) const;
  ImportContext& context() { return *context_; }

  // UNIMPLEMENTED where an input has integers of 2 or 4 bits and the operator is none that only
  // moves, widens or dequantizes them: others would compute in the 8 bits in which they lie.
  absl::Status CheckFewBits() const;
  // What moves them gives such integers.
  void CarryFewBits();

  // ---- The graph side. Inputs that a translator needs; INVALID_ARGUMENT where one is absent.
  absl::StatusOr<ValueId> Input(int i) const;
  const TensorType& TypeOf(ValueId id) const { return context_->graph.value(id).type; }
  // Of integers that ONNX has in fewer than 8 bits; else 0.
  int FewBitsOf(ValueId id) const;
  void SetFewBits(ValueId id, int bits) {
    if (bits > 0) context_->few_bits[id] = bits;
  }
  // "f32[2,3]", "i4[2,3]".
  std::string TypeTextOf(ValueId id) const;
  // Input i as integers, or floats, that are known at import. FAILED_PRECONDITION where they are
  // not. `what`: the input's name in ONNX's text.
  absl::StatusOr<std::vector<int64_t>> ConstantInts(int i, absl::string_view what) const;
  absl::StatusOr<std::vector<double>> ConstantFloats(int i, absl::string_view what) const;

  // Adds a node of control flow, and returns its outputs.
  absl::StatusOr<std::vector<ValueId>> EmitControl(GraphNode node);
  // Adds a node with one output and returns that; small nodes over constants are folded.
  absl::StatusOr<ValueId> Emit(absl::string_view op, std::vector<ValueId> inputs,
                               Attributes attributes = {});
  absl::StatusOr<std::vector<ValueId>> EmitAll(absl::string_view op, std::vector<ValueId> inputs,
                                               Attributes attributes = {});
  absl::StatusOr<ValueId> EmitReshape(ValueId x, std::vector<int64_t> shape);
  // Parts of `sizes` elements, some of which may be 0.
  absl::StatusOr<std::vector<ValueId>> EmitSplit(ValueId x, int64_t axis,
                                                 const std::vector<int64_t>& sizes);
  // A constant of a type with a dimension of 0.
  absl::StatusOr<ValueId> EmitEmpty(TensorType type);
  // `x` without any element along the axis; the other axes hold what they held.
  absl::StatusOr<ValueId> EmitNoneOf(ValueId x, int64_t axis);
  bool IsEmpty(ValueId id) const;
  absl::StatusOr<ValueId> EmitConstant(TensorType type, ConstantPtr data);
  // A scalar constant of `dtype`.
  absl::StatusOr<ValueId> EmitScalar(DType dtype, double value);

  // ---- Values of which a run fills a part. Every emitted operator carries them on, or is refused.
  bool IsBounded(ValueId id) const { return context_->bounded.extents.contains(id); }
  // By axis; kFullAxis throughout for others.
  AxisExtents ExtentsOf(ValueId id) const;
  // The axis holds so many elements: an i64 scalar. A constant one cuts instead: returns what to
  // use.
  absl::StatusOr<ValueId> SetExtent(ValueId id, int64_t axis, ValueId extent);
  // `id` with axes of one part each: what holds of an axis are its first elements.
  absl::StatusOr<ValueId> Packed(ValueId id);
  absl::StatusOr<ValueId> PackedAlong(ValueId id, int64_t axis);
  // `id` with `value` where nothing holds: all its axes are full.
  absl::StatusOr<ValueId> Filled(ValueId id, double value);
  // Elements [start, end) of an axis by ONNX's rules: numbers below 0 count from the end, and they
  // may be as far away as they like.
  absl::StatusOr<ValueId> SliceWindow(ValueId x, int64_t axis, SizeTerm start, SizeTerm end);
  // As Filled, with the least number of the type, or the greatest.
  absl::StatusOr<ValueId> FilledLowest(ValueId id, bool lowest);
  // As these, along some axes; the others hold what they held.
  absl::StatusOr<ValueId> FilledAlong(ValueId id, const std::vector<int64_t>& axes, double value);
  absl::StatusOr<ValueId> FilledLowestAlong(ValueId id, const std::vector<int64_t>& axes,
                                            bool lowest);
  // An extent as a value: i64 scalar. `op` of two integers: "min", "max", "mul", "add", "sub".
  absl::StatusOr<ValueId> EmitExtent(const char* op, ValueId extent, int64_t other);
  // The same of two extents, added.
  absl::StatusOr<ValueId> EmitSum(ValueId extent, ValueId other);
  // As Emit, of inputs with all that they have at their bounds: the result's axes are full.
  absl::StatusOr<ValueId> EmitWhole(absl::string_view op, std::vector<ValueId> inputs,
                                    Attributes attributes = {});
  // How many elements the axis holds: a constant, or an extent.
  absl::StatusOr<ValueId> ExtentAt(ValueId id, int64_t axis);
  // What the elements of an integer value are, row-major, where that is known.
  std::optional<std::vector<SizeTerm>> TermsOf(ValueId id) const;
  void SetTerms(ValueId id, std::vector<SizeTerm> terms) {
    context_->bounded.terms[id] = std::move(terms);
  }
  SizeTerm TermOf(ValueId extent) const;
  // What holds of an axis.
  SizeTerm SizeOf(ValueId id, int64_t axis) const;
  AxisParts PartsOf(ValueId id, int64_t axis) const;
  std::optional<SizeRange> RangeOf(const SizeTerm& term) const {
    return burnish::RangeOf(term, context_->bounded.ranges);
  }
  // The lesser, or the greater, of two sizes.
  absl::StatusOr<SizeTerm> EmitLesser(const SizeTerm& a, const SizeTerm& b);
  absl::StatusOr<SizeTerm> EmitGreater(const SizeTerm& a, const SizeTerm& b);
  // a / number, without the rest; `a` is never below 0.
  absl::StatusOr<SizeTerm> EmitQuotient(const SizeTerm& a, int64_t number);
  // Input i as a shape; as ConstantInts where it is one.
  absl::StatusOr<BoundedShape> ShapeInput(int i, absl::string_view what) const;
  // To a shape of these sizes, if it is one of as many elements in every run; nullopt: what is
  // left.
  absl::StatusOr<ValueId> ReshapeInRun(ValueId x, const std::vector<std::optional<SizeTerm>>& to);
  // An extent as an i64 scalar.
  absl::StatusOr<ValueId> EmitTerm(const SizeTerm& term);
  // `id`, broadcast already to the bound of a shape that a run decides: its axes hold what that
  // says.
  absl::StatusOr<ValueId> HoldTerms(ValueId id, const std::vector<SizeTerm>& terms);
  // `id`, made at the bound of `like`, holds what that holds.
  void HoldAs(ValueId id, ValueId like) {
    if (IsBounded(like)) context_->bounded.extents[id] = ExtentsOf(like);
  }
  // A constant as a value that no one reads when the model is read: a run says how much of it
  // holds.
  absl::StatusOr<ValueId> EmitUnknown(ValueId constant, ValueId extent);
  // The same, where a run decides how much of `like` holds; else the constant.
  absl::StatusOr<ValueId> EmitUnknownAs(ValueId constant, ValueId like);
  // Outputs of a host operator whose last one counts. Its inputs are taken as they are.
  absl::StatusOr<std::vector<ValueId>> EmitCounted(absl::string_view op,
                                                   std::vector<ValueId> inputs,
                                                   Attributes attributes = {});

  // Nodes of a graph in an attribute, with `inputs` for the graph's; returns its outputs. The graph
  // sees the values around this node.
  absl::StatusOr<std::vector<ValueId>> InlineGraph(const onnx::GraphProto& graph,
                                                   const std::vector<ValueId>& inputs) {
    return inliner_(graph, inputs);
  }
  using GraphInliner = std::function<absl::StatusOr<std::vector<ValueId>>(
      const onnx::GraphProto&, const std::vector<ValueId>&)>;
  void SetGraphInliner(GraphInliner inliner) { inliner_ = std::move(inliner); }

  // ---- Results.
  void SetOutput(int i, ValueId id) { outputs_[i] = id; }
  const std::vector<ValueId>& outputs() const { return outputs_; }  // -1: not set.
  // Emits `op` and makes it output 0.
  absl::Status Finish(absl::string_view op, std::vector<ValueId> inputs,
                      Attributes attributes = {});

  // ---- Errors: name and type of the node come first.
  absl::Status status() const { return status_; }
  absl::Status Invalid(absl::string_view what) const;
  absl::Status Unsupported(absl::string_view what) const;
  // "node 'conv1' (Conv)".
  std::string Label() const;
  // The node's, or its first output's.
  std::string Name() const;

 private:
  absl::StatusOr<std::vector<ValueId>> EmitInF32(absl::string_view op, std::vector<ValueId> inputs,
                                                 Attributes attributes);
  absl::StatusOr<std::vector<ValueId>> EmitPlain(absl::string_view op, std::vector<ValueId> inputs,
                                                 Attributes attributes);
  // As EmitAll, where an input has no elements.
  absl::StatusOr<std::vector<ValueId>> EmitOfNothing(absl::string_view op,
                                                     std::vector<ValueId> inputs,
                                                     Attributes attributes);
  absl::StatusOr<std::vector<ValueId>> EmitBounded(absl::string_view op,
                                                   std::vector<ValueId> inputs,
                                                   Attributes attributes);
  absl::StatusOr<std::vector<ValueId>> EmitBoundedConcat(std::vector<ValueId> inputs, int64_t axis);
  absl::StatusOr<std::vector<ValueId>> EmitBoundedReshape(ValueId x, Attributes attributes);
  // A reshape by the dimensions' parts.
  absl::StatusOr<ValueId> EmitParts(ValueId x, const std::vector<AxisParts>& dimensions);
  // Convolutions and poolings along axes that a run sizes.
  absl::StatusOr<std::vector<ValueId>> EmitBoundedWindow(absl::string_view op,
                                                         std::vector<ValueId> inputs,
                                                         Attributes attributes);
  absl::StatusOr<std::vector<ValueId>> EmitBoundedPad(ValueId x, Attributes attributes);
  absl::StatusOr<std::vector<ValueId>> EmitBoundedCumulation(std::vector<ValueId> inputs,
                                                             Attributes attributes);
  // scatter_elements.
  absl::StatusOr<std::vector<ValueId>> EmitBoundedScatter(std::vector<ValueId> inputs,
                                                          Attributes attributes);
  // As the operator carries extents on, with the axes of `windows` of input 0 taken for full: they
  // hold `windows` in the result.
  absl::StatusOr<std::vector<ValueId>> EmitWindows(absl::string_view op,
                                                   std::vector<ValueId> inputs,
                                                   Attributes attributes,
                                                   const std::map<int64_t, SizeTerm>& windows);
  absl::StatusOr<SizeTerm> EmitChosen(const char* op, const SizeTerm& a, const SizeTerm& b);
  // Of several terms; nullopt where one may be below 0, and so is no size.
  absl::StatusOr<std::optional<SizeTerm>> EmitExtreme(const char* op,
                                                      const std::vector<SizeTerm>& terms);
  absl::Status CarryTerms(const GraphNode& node, ValueId result);
  absl::StatusOr<std::vector<ValueId>> KnownTerms(std::vector<ValueId> results);
  // Along these axes, or along all.
  absl::StatusOr<ValueId> FilledWith(ValueId id, ConstantPtr number,
                                     const std::vector<int64_t>* axes = nullptr);
  // Gives inputs the neutral element of the reduction that `op` is, and says so in `extents`.
  absl::Status FillReduced(absl::string_view op, const Attributes& attributes,
                           std::vector<ValueId>& inputs, std::vector<AxisExtents>& extents);
  absl::StatusOr<std::vector<ValueId>> EmitBoundedMean(ValueId x, Attributes attributes);
  absl::StatusOr<std::vector<ValueId>> EmitBoundedNormalization(const std::vector<ValueId>& inputs,
                                                                const Attributes& attributes);
  bool AlwaysHold(ValueId indices, const SizeTerm& size) const;
  absl::StatusOr<ValueId> CheckedIndices(ValueId indices, ValueId extent, int64_t bound);
  absl::Status Annotate(const absl::Status& status) const;
  std::optional<std::vector<ConstantPtr>> TryFold(const GraphNode& node,
                                                  const std::vector<TensorType>& types);

  ImportContext* context_;
  const onnx::NodeProto* proto_;
  std::string type_;
  std::vector<ValueId> inputs_;
  std::vector<bool> used_;
  std::vector<ValueId> outputs_;
  absl::Status status_;
  GraphInliner inliner_;
};

using OnnxTranslator = std::function<absl::Status(OnnxNode&)>;
using OnnxTranslators = std::map<std::string, OnnxTranslator>;

// The translators' key: the type, after the domain and a dot where that is not ONNX's own.
std::string OnnxOperatorName(const onnx::NodeProto& node);

// One function a family; each adds its translators by name.
void AddArithmeticTranslators(OnnxTranslators& translators);
void AddConvolutionTranslators(OnnxTranslators& translators);
void AddMatmulTranslators(OnnxTranslators& translators);
void AddNormalizationTranslators(OnnxTranslators& translators);
void AddRecurrentTranslators(OnnxTranslators& translators);
void AddReductionTranslators(OnnxTranslators& translators);
void AddShapeTranslators(OnnxTranslators& translators);
void AddSlicingTranslators(OnnxTranslators& translators);
void AddConstantTranslators(OnnxTranslators& translators);
void AddResizeTranslators(OnnxTranslators& translators);
void AddTrigonometryTranslators(OnnxTranslators& translators);
void AddLossTranslators(OnnxTranslators& translators);
void AddGatherTranslators(OnnxTranslators& translators);
void AddGatedTranslators(OnnxTranslators& translators);
void AddAttentionTranslators(OnnxTranslators& translators);
void AddMicrosoftTranslators(OnnxTranslators& translators);
void AddSamplingTranslators(OnnxTranslators& translators);
void AddBitwiseTranslators(OnnxTranslators& translators);
void AddEinsumTranslators(OnnxTranslators& translators);
void AddSignalTranslators(OnnxTranslators& translators);
void AddHostTranslators(OnnxTranslators& translators);
void AddQuantizedTranslators(OnnxTranslators& translators);
void AddQuantizedMicrosoftTranslators(OnnxTranslators& translators);
void AddSelectionTranslators(OnnxTranslators& translators);
const OnnxTranslators& AllOnnxTranslators();

// Dimensions of a tensor, at most: as many as the runtime's have (tensor_info.h).
inline constexpr size_t kImportRankMax = 16;

// `axis` in [-rank, rank) -> [0, rank). INVALID_ARGUMENT with the node's label otherwise.
absl::StatusOr<int64_t> NormalizeAxis(const OnnxNode& node, int64_t axis, int64_t rank);
// Each axis normalised; INVALID_ARGUMENT for one that is there twice.
absl::StatusOr<std::vector<int64_t>> NormalizeAxes(const OnnxNode& node, std::vector<int64_t> axes,
                                                   int64_t rank);

// As output 0: elements [starts, ends) of these axes, by ONNX's rules; of what a run sizes by step
// 1 alone.
absl::Status SliceAxes(OnnxNode& node, ValueId x, const std::vector<int64_t>& axes,
                       const std::vector<SizeTerm>& starts, const std::vector<SizeTerm>& ends,
                       const std::vector<int64_t>& steps);
// As output 0: `x` broadcast to a shape of its rank at least, whose bound is `shape`; `terms` hold.
absl::Status ExpandInRun(OnnxNode& node, ValueId x, std::vector<int64_t> shape,
                         const std::vector<SizeTerm>& terms);

// Behind a graph's inputs, those that are its sizes; what `input_axes` say holds from now on.
absl::Status AddSizeInputs(ImportContext& context);
// Behind the outputs: how much of them holds in a run.
absl::Status SetSizedOutputs(ImportContext& context, std::vector<NamedOutput> outputs);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_IMPORT_CONTEXT_H_
