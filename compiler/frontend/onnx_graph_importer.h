// Walks ONNX graphs: names to values, node order, graphs in graphs. Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_ONNX_GRAPH_IMPORTER_H_
#define COMPILER_FRONTEND_ONNX_GRAPH_IMPORTER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler/frontend/named_outputs.h"
#include "compiler/frontend/onnx_function.h"
#include "compiler/frontend/onnx_import_context.h"

namespace onnx {
class GraphProto;
class ModelProto;
class ValueInfoProto;
}  // namespace onnx

namespace burnish {

// Operators that cannot be imported, by kind.
struct MissingOperators {
  struct Kind {
    std::string name;  // "com.microsoft.FusedConv", "Foo"
    std::string node;  // The first one that has it.
    size_t place = 0;  // Among the kinds, as the model has them.
    int count = 0;
  };
  std::vector<Kind> kinds;
  std::unordered_map<std::string, size_t> places;  // By name.
  std::unordered_set<std::string> functions;       // Whose nodes were looked at.

  void Add(const onnx::NodeProto& node);
  // UNIMPLEMENTED with all of them.
  absl::Status ToStatus() const;
};

class OnnxGraphImporter {
 public:
  // `defaults`: names of inputs for which the model has an initializer, and that a run may give.
  OnnxGraphImporter(ImportContext* context, OnnxFunctions functions,
                    std::set<std::string> defaults = {})
      : context_(context), functions_(std::move(functions)), defaults_(std::move(defaults)) {}

  // The model's own graph: makes graph inputs and outputs.
  absl::Status ImportMain(const onnx::GraphProto& graph);
  // Of the main graph's node that failed, an output; empty: none did.
  const std::string& failed() const { return failed_; }

 private:
  // A graph inside of a node that becomes a graph of its own, and what it reads of the one around.
  struct Body {
    Graph graph;
    BoundedValues bounded;                 // Of `graph`.
    std::map<ValueId, int> few_bits;       // Of `graph`.
    std::vector<ValueId> inputs, outputs;  // As the ONNX graph has them.
    std::vector<AxisExtents> held;         // Of a loop's outputs, by values of the graph around.
    std::vector<ValueId> captures;         // Of the graph around it.
    std::vector<ValueId> capture_inputs;   // What they are inside.
    // How a loop's iteration number comes, where it is read: from a table of the graph around, or
    // as a state.
    ValueId number_table = -1, number_initial = -1, number_next = -1;
  };
  // What the node gives to a body: a value, or a constant.
  struct BodyInput {
    TensorType type;
    ConstantPtr constant;
    ValueId whole = -1;     // Of the graph around: what holds of it holds inside.
    size_t first_axis = 0;  // Of `whole`, that the input has.
  };

  // Whether of a body's results a run fills as much as of what the body reads, or any part.
  enum class BodyGives { kAxesAsRead, kAnyAxes };
  struct SizedOutput {
    int output;
    int64_t axis;
  };

  // What a caller decides about a dimension: constant + sum of sizes times numbers.
  struct GivenDim {
    int64_t constant = 0, greatest = 0;
    std::map<int, int64_t> parts;  // By place among the sizes.
  };
  struct GivenAxis {
    std::string input;
    int axis = 0;
    GivenDim dim;
  };

  // Values by name; a graph inside sees those of the graphs around it.
  struct Scope {
    Scope* outer = nullptr;
    Body* body = nullptr;  // Not null: values of `outer` are of another Graph.
    std::unordered_map<std::string, ValueId> values;
    std::unordered_set<std::string> used;  // Names that something in this graph reads.
    int depth = 0;
  };

  // What the context works on, and what the body holds, change places.
  void Swap(Body& body) {
    std::swap(context_->graph, body.graph);
    std::swap(context_->bounded, body.bounded);
    std::swap(context_->few_bits, body.few_bits);
  }
  ValueId Find(Scope& scope, const std::string& name);
  // The same for a name that a body reads of the graph around it.
  ValueId Capture(Scope& scope, const std::string& name);
  absl::Status Define(Scope& scope, const std::string& name, ValueId id);
  // `given`: names that are none of the scope's constants.
  absl::Status AddInitializers(Scope& scope, const onnx::GraphProto& graph,
                               const std::set<std::string>& given = {});
  absl::StatusOr<OnnxTensor> ReadInitializer(const onnx::TensorProto& tensor);
  absl::Status AddInputs(Scope& scope, const onnx::GraphProto& graph);
  // The type of an input with a default, which is one of `graph`'s from now on.
  absl::StatusOr<TensorType> AddDefault(const onnx::GraphProto& graph,
                                        const onnx::ValueInfoProto& input);
  // Of an input that the options give a value.
  absl::StatusOr<ValueId> InputValue(const onnx::ValueInfoProto& input, const std::string& text);
  absl::StatusOr<TensorType> InputType(const onnx::ValueInfoProto& input);
  // What a dimension without a number holds, where the options say it. nullopt: they do not.
  absl::StatusOr<std::optional<GivenDim>> DimOf(const onnx::ValueInfoProto& input, int d);
  absl::StatusOr<GivenDim> ParseDim(const std::string& name, const std::string& text, int depth);
  absl::StatusOr<GivenDim> ParseSum(const std::string& name, const std::string& text, int depth);
  absl::Status CheckDims(const onnx::GraphProto& graph) const;
  // The graph inputs behind the model's that say what the others hold.
  absl::Status AddSizes();
  absl::Status CheckOverrides(const onnx::GraphProto& graph, const Scope& scope);
  absl::Status ImportNodes(Scope& scope, const onnx::GraphProto& graph);
  absl::Status ImportNode(Scope& scope, const onnx::NodeProto& proto);
  // The graph's nodes in a scope of its own inside of `outer`, with `inputs` for its inputs;
  // returns its outputs. `label`: of the node that has the graph.
  absl::StatusOr<std::vector<ValueId>> InlineGraph(Scope& outer, const onnx::GraphProto& graph,
                                                   const std::vector<ValueId>& inputs,
                                                   const std::string& label);
  // Null: the node calls none. ONNX's own operators are known better than by a function's nodes.
  const onnx::FunctionProto* FunctionOf(const onnx::NodeProto& node) const;
  bool IsKnown(const onnx::NodeProto& node) const;
  void AddMissing(const onnx::GraphProto& graph, MissingOperators& missing) const;
  absl::Status CheckOperators(const onnx::GraphProto& graph) const;
  absl::Status ImportCall(Scope& scope, const onnx::FunctionProto& function,
                          const onnx::NodeProto& call, const std::vector<ValueId>& inputs,
                          OnnxNode& node);
  absl::Status ImportIf(Scope& scope, OnnxNode& node);
  absl::Status ImportBranches(Scope& scope, OnnxNode& node);
  // A branch that ends the run with `why`, and gives what the other one does.
  absl::StatusOr<Body> FailingBody(const OnnxNode& node, bool is_else, const Body& other,
                                   const absl::Status& why);
  // Where branches give other shapes, or a run sizes what one gives: both give the larger shape,
  // and how much of it holds as outputs more, one for each of the results.
  absl::StatusOr<std::vector<SizedOutput>> GiveBounds(OnnxNode& node, std::vector<Body>& bodies);
  void CaptureExtents(Body& body, ValueId outer, size_t first_axis, ValueId inner);
  absl::StatusOr<AxisExtents> ExtentsAround(const OnnxNode& node, const Body& body, ValueId id);
  absl::Status ImportLoop(Scope& scope, OnnxNode& node);
  absl::Status ImportLoopNode(Scope& scope, OnnxNode& node, const onnx::GraphProto& proto);
  absl::Status UnrollLoop(Scope& scope, OnnxNode& node, const onnx::GraphProto& proto,
                          int64_t count);
  absl::Status ImportScan(Scope& scope, OnnxNode& node);
  absl::StatusOr<Body> ImportBody(Scope& scope, const OnnxNode& node, const onnx::GraphProto& proto,
                                  const std::vector<BodyInput>& inputs, BodyGives gives);
  // How often a loop without a constant condition runs, where that is known; at most `limit`.
  absl::StatusOr<std::optional<int64_t>> CountIterations(const OnnxNode& node, const Body& body,
                                                         int64_t limit);
  absl::Status AddIterationNumber(OnnxNode& node, int64_t count, bool is_exact, Body& body);
  absl::Status SetOutputs(Scope& scope, const onnx::GraphProto& graph);

  ImportContext* context_;
  const OnnxFunctions functions_;
  const std::set<std::string> defaults_;
  std::string failed_;
  std::vector<GivenAxis> given_axes_;  // Of the model's inputs.
};

// Positions of the graph's nodes that its outputs need, each after those that it depends on.
// INVALID_ARGUMENT for a name that two nodes write, or a cycle.
absl::StatusOr<std::vector<int>> OrderOnnxNodes(const onnx::GraphProto& graph);

// Inputs of the model's graph that have an initializer and are no weights: a run may give them.
std::set<std::string> InputsWithDefault(const onnx::ModelProto& model,
                                        const ImportOptions& options);
// Of the defaults that the value depends on, the one with the fewest nodes between; "": none.
std::string NearestDefault(const onnx::GraphProto& graph, const std::string& value,
                           const std::set<std::string>& defaults);

// Names that the node reads, those in the graphs inside it included, each once.
std::vector<std::string> NamesReadBy(const onnx::NodeProto& node);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_GRAPH_IMPORTER_H_
