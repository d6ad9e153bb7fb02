#include "compiler/graph/precision_pass.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/graph/control.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

// Of an operator's inputs, how many from the first on are tensors of activations and weights; those
// behind are biases, scales and statistics. Others: all.
size_t NarrowInputs(const std::string& op) {
  static const auto& counts = *new std::map<std::string, size_t>{
      {"conv", 2},       {"conv_transpose", 2}, {"dense", 2},         {"gemm", 2},
      {"batch_norm", 1}, {"layer_norm", 1},     {"instance_norm", 1}, {"group_norm", 1},
  };
  const auto found = counts.find(op);
  return found == counts.end() ? static_cast<size_t>(-1) : found->second;
}

// Sums of products: what they read may be narrow, whatever their results are for.
bool IsProduct(const std::string& op) {
  return op == "conv" || op == "conv_transpose" || op == "dense" || op == "gemm" || op == "matmul";
}

bool IsF32(const TensorType& type) { return type.dtype == DType::kF32; }

class Precision {
 public:
  Precision(Graph& graph, DType storage) : graph_(graph), storage_(storage) {}

  absl::Status Run() {
    FindWide();
    const size_t node_count = graph_.nodes.size();
    for (size_t n = 0; n < node_count; ++n) RETURN_IF_ERROR(Visit(n));
    for (ValueId& output : graph_.outputs) {
      ASSIGN_OR_RETURN(output, WideOf(output));
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
      const OperatorDef* const def = IsControl(node) ? nullptr : FindOperator(node.op);
      bool floats = false, reads = false;
      for (ValueId output : node.outputs) {
        floats = floats || IsF32(graph_.value(output).type);
        reads = reads || (read_wide[output] && !IsProduct(node.op));
      }
      wide_[n] = !floats || reads || def == nullptr || def->fusion == FusionKind::kHost;
      if (!wide_[n]) continue;
      for (ValueId input : node.inputs) read_wide[input] = true;
    }
  }

  absl::Status Visit(size_t n) {
    if (wide_[n]) return Read(n, 0);
    const std::vector<ValueId> inputs = graph_.nodes[n].inputs;
    RETURN_IF_ERROR(Read(n, NarrowInputs(graph_.nodes[n].op)));
    const GraphNode& node = graph_.nodes[n];
    const absl::StatusOr<std::vector<TensorType>> types =
        FindOperator(node.op)->infer(node.attributes, InputTypes(graph_, node));
    // What an operator does not take (the scale of a quantization) it gets as it was.
    if (!types.ok()) {
      graph_.nodes[n].inputs = inputs;
      return Read(n, 0);
    }
    for (size_t i = 0; i < types->size(); ++i) graph_.values[node.outputs[i]].type = (*types)[i];
    return absl::OkStatus();
  }

  // Lets the node read the first `narrow` inputs narrow and the others in f32.
  absl::Status Read(size_t n, size_t narrow) {
    const std::vector<ValueId> inputs = graph_.nodes[n].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSIGN_OR_RETURN(const ValueId stored, i < narrow ? NarrowOf(inputs[i]) : WideOf(inputs[i]));
      graph_.nodes[n].inputs[i] = stored;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ValueId> NarrowOf(ValueId id) {
    if (!IsF32(graph_.value(id).type)) return id;
    return As(id, storage_, narrow_);
  }
  absl::StatusOr<ValueId> WideOf(ValueId id) {
    if (graph_.value(id).type.dtype != storage_) return id;
    return As(id, DType::kF32, wide_of_);
  }

  // The value in another type, made once.
  absl::StatusOr<ValueId> As(ValueId id, DType dtype, std::map<ValueId, ValueId>& known) {
    if (const auto found = known.find(id); found != known.end()) return found->second;
    const GraphValue value = graph_.value(id);
    ValueId cast = -1;
    if (value.data != nullptr) {
      cast = AddConstant(graph_, value.name, {dtype, value.type.shape},
                         FromDoubles(dtype, ToDoubles(value.type, *value.data)));
    } else {
      Attributes to;
      to.Set("to", std::string(DTypeName(dtype)));
      ASSIGN_OR_RETURN(cast, AddOp(graph_, "cast", {id}, std::move(to), value.name));
      graph_.values[cast].name = value.name;  // An output is found by its name.
    }
    return known[id] = cast;
  }

  Graph& graph_;
  const DType storage_;
  std::vector<bool> wide_;  // By node.
  std::map<ValueId, ValueId> narrow_, wide_of_;
};

}  // namespace

absl::Status StoreFloatsAs(Graph& graph, DType storage) { return Precision(graph, storage).Run(); }

}  // namespace burnish
