#include "compiler/graph/precision_pass.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/graph/control.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

// Sums of products: what they read may be narrow, whatever their results are for.
bool IsProduct(OpId op) {
  return op == OpId::kConv || op == OpId::kConvTranspose || op == OpId::kDense ||
         op == OpId::kGemm || op == OpId::kMatmul;
}

// Products of bfloat16 are done in pairs: an odd number of channels, from three on (colours), gets
// one of zeros beside it, unless pixels side by side make up pairs. Of one channel alone that would
// be as much again.
constexpr int64_t kOddChannelsMin = 3;

bool IsF32(const TensorType& type) { return type.dtype == DType::kF32; }

class Precision {
 public:
  Precision(Graph& graph, const FloatStorage& storage) : graph_(graph), storage_(storage) {}

  absl::Status Run() {
    NameLayers(graph_);
    for (const GraphValue& value : graph_.values) is_ours_.push_back(IsF32(value.type));
    FindWide();
    const size_t node_count = graph_.nodes.size();
    for (size_t n = 0; n < node_count; ++n) RETURN_IF_ERROR(Visit(n));
    for (ValueId& output : graph_.outputs) {
      ASSIGN_OR_RETURN(output, As(output, DType::kF32));
    }
    RETURN_IF_ERROR(Finish(graph_));
    return VerifyGraph(graph_);
  }

 private:
  // By node, whether its floats stay in f32; against the order, since what is read decides.
  void FindWide() {
    wide_.assign(graph_.nodes.size(), false);
    std::vector<bool> read_wide(graph_.values.size(), false);
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const GraphNode& node = graph_.nodes[n];
      bool floats = false, reads = false;
      for (ValueId output : node.outputs) {
        floats = floats || IsF32(graph_.value(output).type);
        reads = reads || (read_wide[output] && !IsProduct(node.op));
      }
      wide_[n] =
          !floats || reads || IsControl(node) || OperatorOf(node.op).fusion == FusionKind::kHost;
      if (!wide_[n]) continue;
      for (ValueId input : node.inputs) read_wide[input] = true;
    }
  }

  // Of a node whose floats may be narrow. What is quantized was quantized before; what is left of
  // such a layer are sums and elementwise operators on real numbers.
  DType TypeOf(const GraphNode& node, const OperatorDef& def) const {
    DType type = storage_.Of(node.layer);
    if (type == DType::kI8) type = DType::kF32;
    if (storage_.layers.empty() || def.fusion != FusionKind::kInjective) return type;
    // Between layers of one type nothing is rounded, and nothing is cast to be moved.
    for (const ValueId input : node.inputs) {
      const GraphValue& value = graph_.value(input);
      if (value.data == nullptr && is_ours_[input]) return value.type.dtype;
    }
    return type;
  }

  absl::Status Visit(size_t n) {
    if (wide_[n]) return ReadAs(n, DType::kF32, 0);
    const OperatorDef& def = OperatorOf(graph_.nodes[n].op);
    const DType type = TypeOf(graph_.nodes[n], def);
    if (type == DType::kF32) return ReadAs(n, type, 0);
    const std::vector<ValueId> inputs = graph_.nodes[n].inputs;
    RETURN_IF_ERROR(ReadAs(n, type, NarrowInputs(graph_.nodes[n].op)));
    if (type == DType::kBf16) {
      RETURN_IF_ERROR(PairChannels(n));
      RETURN_IF_ERROR(RoundDepth(n));
    }
    const GraphNode& node = graph_.nodes[n];
    const absl::StatusOr<std::vector<TensorType>> types =
        def.infer(node.attributes, InputTypes(graph_, node));
    // What an operator does not take (the scale of a quantization) it gets as it was.
    if (!types.ok()) {
      graph_.nodes[n].inputs = inputs;
      return ReadAs(n, DType::kF32, 0);
    }
    for (size_t i = 0; i < types->size(); ++i) graph_.values[node.outputs[i]].type = (*types)[i];
    return absl::OkStatus();
  }

  // Gives a convolution an even number of channels to read; weights of 0 add nothing.
  absl::Status PairChannels(size_t n) {
    const GraphNode conv = graph_.nodes[n];  // By value: nodes are appended.
    if (conv.op != OpId::kConv || conv.attributes.Int("group", 1) != 1) return absl::OkStatus();
    const GraphValue weights = graph_.value(conv.inputs[1]);
    const std::vector<int64_t>& shape = weights.type.shape;
    const int64_t channels = shape[1];
    const std::vector<int64_t> dilations = conv.attributes.Ints("dilations", {});
    const bool is_dense = dilations.empty() || dilations.back() == 1;
    const int64_t run = is_dense ? channels * shape.back() : channels;
    if (weights.data == nullptr || channels < kOddChannelsMin || run % 2 == 0) {
      return absl::OkStatus();
    }
    const bool channels_last = conv.attributes.Int("channels_last", 0) != 0;
    ASSIGN_OR_RETURN(graph_.nodes[n].inputs[0],
                     WithZeros(conv.inputs[0], channels_last ? -1 : 1, 1));
    TensorType wide = weights.type;
    ++wide.shape[1];
    const int64_t taps = ElementCount(shape) / (shape[0] * channels);
    const std::vector<double> values = ToDoubles(weights.type, *weights.data);
    std::vector<double> padded;
    for (size_t i = 0; i < values.size(); ++i) {
      padded.push_back(values[i]);
      if ((i + 1) % (channels * taps) == 0) padded.resize(padded.size() + taps, 0);
    }
    graph_.nodes[n].inputs[1] =
        AddConstant(graph_, weights.name, wide, FromDoubles(wide.dtype, padded));
    is_ours_.resize(graph_.values.size(), true);
    return absl::OkStatus();
  }

  // Gives a product a depth that instructions take, which do pairs (AVX512-BF16) or up to 16 pairs
  // (AMX) at once: 197 keys of attention become 224. Zeros add nothing, and their products are
  // finite: both operands have them.
  absl::Status RoundDepth(size_t n) {
    const GraphNode matmul = graph_.nodes[n];  // By value: nodes are appended.
    if (matmul.op != OpId::kMatmul) return absl::OkStatus();
    for (const ValueId input : matmul.inputs) {
      // Constants were folded before: weights are padded by nobody, and vectors have no columns.
      const GraphValue& value = graph_.value(input);
      if (value.data != nullptr || value.type.shape.size() < 2) return absl::OkStatus();
    }
    const int64_t depth = graph_.value(matmul.inputs[0]).type.shape.back();
    const int64_t zeros = RoundedDepth(depth) - depth;
    if (zeros == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(graph_.nodes[n].inputs[0], WithZeros(matmul.inputs[0], -1, zeros));
    ASSIGN_OR_RETURN(graph_.nodes[n].inputs[1], WithZeros(matmul.inputs[1], -2, zeros));
    is_ours_.resize(graph_.values.size(), true);
    return absl::OkStatus();
  }

  // The least multiple of 32, or of a smaller power of two, that adds no more than a sixth; `depth`
  // itself where a run of 8 or more up to 32 divides it, or nothing adds as little.
  static int64_t RoundedDepth(int64_t depth) {
    constexpr int64_t kRunMin = 8, kRunMax = 32, kSharesMin = 6;
    for (int64_t run = kRunMin; run <= kRunMax; run += 2) {
      if (depth % run == 0) return depth;
    }
    for (int64_t step = kRunMax; step >= kRunMin; step /= 2) {
      const int64_t rounded = (depth + step - 1) / step * step;
      if (kSharesMin * (rounded - depth) <= depth) return rounded;
    }
    return depth;
  }

  // The value with so many zeros behind the last index of the dimension.
  absl::StatusOr<ValueId> WithZeros(ValueId x, int64_t dim, int64_t count) {
    const auto rank = static_cast<int64_t>(graph_.value(x).type.shape.size());
    dim = (dim + rank) % rank;
    const GraphNodeId producer = graph_.value(x).producer;
    if (producer >= 0 && graph_.nodes[producer].op == OpId::kTranspose) {
      // Of planes, which lie in one piece.
      const GraphNode transpose = graph_.nodes[producer];
      const std::vector<int64_t> perm = transpose.attributes.Ints("perm", {});
      ASSIGN_OR_RETURN(const ValueId planes, WithZeros(transpose.inputs[0], perm[dim], count));
      return AddOp(graph_, OpId::kTranspose, {planes}, transpose.attributes, transpose.name);
    }
    std::vector<int64_t> pads(2 * rank, 0);
    pads[rank + dim] = count;
    Attributes attributes;
    attributes.Set("pads", pads);
    return AddOp(graph_, OpId::kPad, {x}, attributes);
  }

  // Lets the node read the first `narrow` inputs in the type and the others in f32.
  absl::Status ReadAs(size_t n, DType type, size_t narrow) {
    const std::vector<ValueId> inputs = graph_.nodes[n].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSIGN_OR_RETURN(graph_.nodes[n].inputs[i], As(inputs[i], i < narrow ? type : DType::kF32));
    }
    return absl::OkStatus();
  }

  // The value in another type, made once. What is no f32 of the model is left as it is.
  absl::StatusOr<ValueId> As(ValueId id, DType dtype) {
    if (!is_ours_[id] || graph_.value(id).type.dtype == dtype) return id;
    if (const auto found = known_.find({id, dtype}); found != known_.end()) return found->second;
    const GraphValue value = graph_.value(id);
    ValueId cast = -1;
    if (value.data != nullptr) {
      cast = AddConstant(graph_, value.name, {dtype, value.type.shape},
                         FromDoubles(dtype, ToDoubles(value.type, *value.data)));
    } else {
      Attributes to;
      to.Set("to", std::string(DTypeName(dtype)));
      ASSIGN_OR_RETURN(cast, AddOp(graph_, OpId::kCast, {id}, std::move(to), value.name));
      graph_.values[cast].name = value.name;  // An output is found by its name.
    }
    is_ours_.resize(graph_.values.size(), true);
    return known_[{id, dtype}] = cast;
  }

  Graph& graph_;
  const FloatStorage& storage_;
  std::vector<bool> wide_;     // By node.
  std::vector<bool> is_ours_;  // By value: it was f32, or is such a value in another type.
  std::map<std::pair<ValueId, DType>, ValueId> known_;
};

}  // namespace

bool FloatStorage::narrows() const {
  return type != DType::kF32 || std::any_of(layers.begin(), layers.end(), [](const auto& layer) {
           return layer.second != DType::kF32;
         });
}

bool FloatStorage::quantizes() const {
  return type == DType::kI8 || std::any_of(layers.begin(), layers.end(), [](const auto& layer) {
           return layer.second == DType::kI8;
         });
}

absl::Status StoreFloatsAs(Graph& graph, const FloatStorage& storage) {
  return Precision(graph, storage).Run();
}

void NameLayers(Graph& graph) {
  std::set<std::string> taken;
  for (const GraphNode& node : graph.nodes) taken.insert(node.layer);
  std::map<std::string, int> count;
  for (GraphNode& node : graph.nodes) {
    if (!node.layer.empty()) continue;
    node.layer = node.name;
    while (!taken.insert(node.layer).second) {
      node.layer = absl::StrCat(node.name, "#", ++count[node.name] + 1);
    }
  }
}

size_t NarrowInputs(OpId op) {
  static const auto& counts = *new std::map<OpId, size_t>{
      {OpId::kConv, 2},         {OpId::kConvTranspose, 2}, {OpId::kDense, 2},
      {OpId::kGemm, 2},         {OpId::kBatchNorm, 1},     {OpId::kLayerNorm, 1},
      {OpId::kInstanceNorm, 1}, {OpId::kGroupNorm, 1},
  };
  const auto found = counts.find(op);
  return found == counts.end() ? static_cast<size_t>(-1) : found->second;
}

}  // namespace burnish
