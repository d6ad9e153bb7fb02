#include "compiler/frontend/model_graph_import.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/te/operator.h"
#include "compiler/te/operator_cases.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "proto/model_graph.pb.h"

namespace burnish {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

std::string ModelFile(const std::string& json, const std::string& data = "") {
  const uint64_t size = json.size();
  std::string file = "BURNGRPH";
  file.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return file + json + data;
}

absl::StatusOr<Graph> Import(const std::string& file, const ImportOptions& options = {}) {
  const auto owner = std::make_shared<std::string>(file);
  return ImportModelGraph(owner, {reinterpret_cast<const uint8_t*>(owner->data()), owner->size()},
                          options);
}

ModelGraph::Attribute AttributeOf(const AttributeValue& value) {
  ModelGraph::Attribute attribute;
  if (const auto* i = std::get_if<int64_t>(&value)) attribute.set_i(*i);
  if (const auto* f = std::get_if<double>(&value)) attribute.set_f(*f);
  if (const auto* s = std::get_if<std::string>(&value)) attribute.set_s(*s);
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    attribute.mutable_ints()->mutable_values()->Assign(ints->begin(), ints->end());
  }
  if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
    attribute.mutable_floats()->mutable_values()->Assign(floats->begin(), floats->end());
  }
  return attribute;
}

// The message of a graph, values named by their ids, and the constants' bytes.
ModelGraph MessageOf(const Graph& graph, std::string& data) {
  ModelGraph model;
  model.set_format(1);
  model.set_name(graph.name);
  const auto name = [&](ValueId id) {
    const std::vector<ValueId>& inputs = graph.inputs;
    return std::find(inputs.begin(), inputs.end(), id) != inputs.end() ? graph.value(id).name
                                                                       : absl::StrCat("v", id);
  };
  const auto set_type = [](const TensorType& type, auto* message) {
    message->set_dtype(std::string(DTypeName(type.dtype)));
    message->mutable_shape()->Assign(type.shape.begin(), type.shape.end());
  };
  for (const ValueId id : graph.inputs) {
    ModelGraph::Input* input = model.add_inputs();
    input->set_name(name(id));
    set_type(graph.value(id).type, input);
  }
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].data == nullptr) continue;
    ModelGraph::Constant* constant = model.add_constants();
    constant->set_name(name(static_cast<ValueId>(v)));
    set_type(graph.values[v].type, constant);
    constant->set_offset_bytes(data.size());
    const absl::Span<const uint8_t> bytes = graph.values[v].data->bytes();
    data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  for (const GraphNode& from : graph.nodes) {
    ModelGraph::Node* node = model.add_nodes();
    node->set_op(std::string(OpName(from.op)));
    for (const ValueId id : from.inputs) node->add_inputs(name(id));
    for (const ValueId id : from.outputs) node->add_outputs(name(id));
    for (const auto& [key, value] : from.attributes.values()) {
      (*node->mutable_attributes())[key] = AttributeOf(value);
    }
  }
  for (const ValueId id : graph.outputs) {
    ModelGraph::Output* output = model.add_outputs();
    output->set_name(graph.value(id).name);
    output->set_value(name(id));
  }
  return model;
}

std::string FileOf(const ModelGraph& model, const std::string& data = "") {
  std::string json;
  CHECK(google::protobuf::util::MessageToJsonString(model, &json).ok());
  return ModelFile(json, data);
}

std::string FileOf(const Graph& graph) {
  std::string data;
  const ModelGraph model = MessageOf(graph, data);
  return FileOf(model, data);
}

Graph OneOperator(const OperatorCase& c) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(AddInput(graph, absl::StrCat("x", i), {c.inputs[i].dtype, c.inputs[i].shape}));
  }
  const absl::StatusOr<GraphNodeId> node = AddNode(graph, c.op->name(), inputs, c.attributes);
  EXPECT_THAT(node, IsOk()) << c.name;
  graph.outputs = graph.nodes[*node].outputs;
  return graph;
}

// As a person writes such a file by hand: y = relu(x w), w all ones.
constexpr char kByHand[] = R"({"format": 1, "name": "hand",
  "inputs": [{"name": "x", "dtype": "f32", "shape": [1, 2]}],
  "constants": [{"name": "w", "dtype": "f32", "shape": [2, 3], "offsetBytes": 4}],
  "nodes": [{"op": "matmul", "inputs": ["x", "w"], "outputs": ["p"]},
            {"op": "relu", "inputs": ["p"], "outputs": ["q"]}],
  "outputs": [{"name": "y", "value": "q"}]}   )";

std::string Ones(int count) {
  std::string bytes = "....";
  for (int i = 0; i < count; ++i) bytes.append(std::string("\0\0\x80\x3f", 4));
  return bytes;
}

TEST(ModelGraphImportTest, AFileWrittenByHand) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(ModelFile(kByHand, Ones(6))));
  EXPECT_EQ(graph.name, "hand");
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
  const TensorValue x{.dtype = DType::kF32, .shape = {1, 2}, .floats = {1, 2}};
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got, InterpretGraph(graph, {x}));
  EXPECT_THAT(got[0].floats, ::testing::ElementsAre(3, 3, 3));
}

TEST(ModelGraphImportTest, RandomGraphsComeBackAsTheyWere) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph graph = RandomGraph(seed);
    ASSERT_OK_AND_ASSIGN(const Graph back, Import(FileOf(graph)));
    EXPECT_EQ(Difference(graph, back, 0), "");
  }
}

TEST(ModelGraphImportTest, EveryOperatorComesBackWithItsAttributes) {
  for (const OperatorCase& c : ReadOperatorCases()) {
    SCOPED_TRACE(c.name);
    std::string data;
    ModelGraph model = MessageOf(OneOperator(c), data);
    auto& attributes = *model.mutable_nodes(0)->mutable_attributes();
    // A case for a twin with channels last may say so of an operator that asks for no order.
    if (c.op->layout == LayoutRule::kAnyOrder) attributes.erase("channels_last");
    ASSERT_OK_AND_ASSIGN(const Graph back, Import(FileOf(model)));
    ASSERT_EQ(back.nodes.size(), 1u);
    EXPECT_EQ(back.nodes[0].op, c.op->name());
    EXPECT_EQ(back.nodes[0].attributes.values().size(), attributes.size());
    for (const auto& [name, value] : back.nodes[0].attributes.values()) {
      EXPECT_TRUE(c.attributes.values().at(name) == value) << name;
    }
    EXPECT_EQ(InputTypes(back, back.nodes[0]), TypesOf(c.inputs));
  }
}

TEST(ModelGraphImportTest, ConstantsWithTheSameBytesAreOneObject) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(ModelFile(R"({"format": 1,
      "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 2]}],
      "constants": [{"name": "a", "dtype": "f32", "shape": [2, 2], "offsetBytes": 4},
                    {"name": "b", "dtype": "f32", "shape": [1, 2, 2], "offsetBytes": 4}],
      "nodes": [{"op": "add", "inputs": ["x", "a"], "outputs": ["s"]},
                {"op": "add", "inputs": ["s", "b"], "outputs": ["t"]}],
      "outputs": [{"value": "t"}]})",
                                                           Ones(4))));
  const ConstantPtr& a = graph.value(graph.nodes[0].inputs[1]).data;
  EXPECT_EQ(a, graph.value(graph.nodes[1].inputs[1]).data);
  EXPECT_EQ(a->bytes().size(), 16u);
}

// A model of n rows. `dynamic`: each run decides what n is, and this is the most.
std::string RowsModel(int64_t n, bool dynamic) {
  const std::string kSum = R"({"products": [{"factor": 1, "sizes": [0]}]})";
  const std::string kTwice = R"({"products": [{"factor": 2, "sizes": [0]}]})";
  const auto axis = [&](const std::string& sum) {
    return dynamic ? absl::StrCat(R"(, "axes": [{"axis": 0, "holds": )", sum, "}]") : "";
  };
  const auto place = [&](const char* attribute, int index, const std::string& sum) {
    return dynamic ? absl::StrCat(R"(, "places": [{"attribute": ")", attribute, R"(", "index": )",
                                  index, R"(, "is": )", sum, "}]")
                   : "";
  };
  return absl::StrCat(
      R"({"format": 2, "inputs": [{"name": "x", "dtype": "f32", "shape": [)", n, ", 4]", axis(kSum),
      "}], ",
      dynamic ? absl::StrCat(R"("sizes": [{"name": "n", "least": 2, "greatest": )", n, "}], ") : "",
      // The first n rows of a constant that is as long as n may be, and of one that is longer.
      R"("constants": [{"name": "p", "dtype": "f32", "shape": [)", n, ", 4]", axis(kSum),
      R"(}, {"name": "t", "dtype": "f32", "shape": [9, 4]}],
      "nodes": [{"op": "add", "inputs": ["x", "p"], "outputs": ["a"]},
       {"op": "slice", "inputs": ["t"], "outputs": ["s"], "attributes": {"axes": {"ints": {"values": [0]}},
        "starts": {"ints": {"values": [0]}}, "ends": {"ints": {"values": [)",
      n, "]}}}", place("ends", 0, kSum),
      R"(}, {"op": "mul", "inputs": ["a", "s"], "outputs": ["b"]},
       {"op": "reshape", "inputs": ["b"], "outputs": ["c"], "attributes": {"shape": {"ints": {"values": [)",
      2 * n, ", 2]}}}", place("shape", 0, kTwice), R"(},
       {"op": "softmax", "inputs": ["c"], "outputs": ["d"], "attributes": {"axis": {"i": 0}}},
       {"op": "reduce_mean", "inputs": ["b"], "outputs": ["m"], "attributes": {
        "axes": {"ints": {"values": [0]}}, "keepdims": {"i": 1}}},
       {"op": "expand", "inputs": ["m"], "outputs": ["e"], "attributes": {"shape": {"ints": {"values": [)",
      n, ", 4]}}}", place("shape", 0, kSum), R"(},
       {"op": "matmul", "inputs": ["e", "b"], "outputs": ["f"], "attributes": {"trans_a": {"i": 1}}}],
      "outputs": [{"name": "d", "value": "d"}, {"name": "e", "value": "e"}, {"name": "f", "value": "f"}]})");
}

TEST(ModelGraphImportTest, SizesOfARunGiveWhatTheModelOfThatSizeGives) {
  const TensorValue table = RandomValue({DType::kF32, {9, 4}}, 1);
  std::string bytes;
  for (const double value : table.floats) {
    const auto narrow = static_cast<float>(value);
    bytes.append(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
  }
  ASSERT_OK_AND_ASSIGN(const Graph dynamic, Import(ModelFile(RowsModel(6, true), bytes)));
  EXPECT_EQ(dynamic.shown_inputs(), 1u);
  for (const int64_t n : {2, 3, 5, 6}) {
    SCOPED_TRACE(n);
    ASSERT_OK_AND_ASSIGN(const Graph fixed, Import(ModelFile(RowsModel(n, false), bytes)));
    const std::vector<TensorValue> inputs = {RandomValue({DType::kF32, {n, 4}}, 2)};
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(fixed, inputs));
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got, InterpretGraph(dynamic, inputs));
    EXPECT_EQ(CompareOutputs(want, got, 1e-6), "");
  }
}

TEST(ModelGraphImportTest, ANarrowerRangeIsTheModelWithThatBound) {
  const TensorValue table = RandomValue({DType::kF32, {9, 4}}, 1);
  std::string bytes;
  for (const double value : table.floats) {
    const auto narrow = static_cast<float>(value);
    bytes.append(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
  }
  ASSERT_OK_AND_ASSIGN(const Graph bounded, Import(ModelFile(RowsModel(4, true), bytes)));
  ASSERT_OK_AND_ASSIGN(const Graph narrowed,
                       Import(ModelFile(RowsModel(6, true), bytes), {.dims = {{"n", "2..4"}}}));
  EXPECT_EQ(PrintGraph(narrowed), PrintGraph(bounded));
  for (const int64_t n : {2, 3, 4}) {
    SCOPED_TRACE(n);
    ASSERT_OK_AND_ASSIGN(const Graph fixed, Import(ModelFile(RowsModel(n, false), bytes)));
    const std::vector<TensorValue> inputs = {RandomValue({DType::kF32, {n, 4}}, 2)};
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(fixed, inputs));
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got, InterpretGraph(narrowed, inputs));
    EXPECT_EQ(CompareOutputs(want, got, 1e-6), "");
  }
}

TEST(ModelGraphImportTest, RangesThatAreNotNarrower) {
  const std::string file = ModelFile(RowsModel(6, true), std::string(size_t{4} * 36, 0));
  for (const char* text : {"1..4", "2..7", "4..3", "4", "2..", "..4", "2..x", ""}) {
    SCOPED_TRACE(text);
    EXPECT_THAT(Import(file, {.dims = {{"n", text}}}).status(),
                StatusIs(StatusCode::kOutOfRange, HasSubstr("want a range within one of: n=2..6")));
  }
  EXPECT_THAT(Import(file, {.dims = {{"m", "2..4"}}}).status(),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("--dim m=2..4")));
}

TEST(ModelGraphImportTest, SizesThatAreRefused) {
  const std::vector<std::tuple<std::string, std::string, std::string>> refusals = {
      {R"("format": 2)", R"("format": 1)", "sizes in format 1, want 2"},
      {R"("least": 2)", R"("least": 7)", "size 'n': got 7 to 6"},
      {R"("greatest": 6)", R"("greatest": 5)", "is 5 at their greatest, where 6 is said"},
      {R"("sizes": [0])", R"("sizes": [1])", "got size 1 of 1"},
      {R"({"axis": 0, "holds")", R"({"axis": 2, "holds")", "'x': got axis 2 of 2"},
      {R"("attribute": "ends", "index": 0)", R"("attribute": "ends", "index": 1)", "place 1 of 1"},
      {R"("attribute": "ends")", R"("attribute": "axes")", "a sum of sizes is 6"},
      {R"("index": 0, "is": {"products": [{"factor": 2)",
       R"("index": 1, "is": {"products": [{"factor": 2)", "a sum of sizes is 12"},
      // Rows that the table has not in every run.
      {"[9, 4]", "[5, 4]", "slice"},
  };
  for (const auto& [part, by, message] : refusals) {
    SCOPED_TRACE(by);
    std::string json = RowsModel(6, true);
    const size_t at = json.find(part);
    ASSERT_NE(at, std::string::npos);
    json.replace(at, part.size(), by);
    const absl::StatusOr<Graph> graph = Import(ModelFile(json, std::string(size_t{4} * 36, 0)));
    EXPECT_THAT(graph.status().message(), HasSubstr(message));
  }
}

struct Refusal {
  std::string part, by;  // Of kByHand.
  StatusCode code;
  std::string message;
};

TEST(ModelGraphImportTest, WhatIsRefused) {
  const std::vector<Refusal> refusals = {
      {R"("format": 1)", R"("format": 3)", StatusCode::kUnimplemented, "format 3, want 1 to 2"},
      {R"("format": 1, )", "", StatusCode::kUnimplemented, "format 0"},
      {R"("name": "hand")", R"("nmae": "hand")", StatusCode::kInvalidArgument, "nmae"},
      {R"("relu")", R"("rleu")", StatusCode::kUnimplemented, "node 'q' (rleu): no such operator"},
      {R"(["p"], "outputs": ["q"])", R"(["r"], "outputs": ["q"])", StatusCode::kInvalidArgument,
       "node 'q' (relu) reads 'r', which nothing before it writes"},
      {R"("outputs": ["q"])", R"("outputs": ["p"])", StatusCode::kInvalidArgument,
       "two values are named 'p'"},
      {R"("outputs": ["q"])", R"("outputs": ["q", "s"])", StatusCode::kInvalidArgument,
       "node 'q' (relu): got 2 outputs, want 1"},
      {R"("outputs": ["q"])", R"("outputs": [""])", StatusCode::kInvalidArgument, "no name"},
      {R"("outputs": ["q"])", R"("outputs": ["q"], "attributes": {"slope": {"f": 1}})",
       StatusCode::kInvalidArgument, "node 'q' (relu): got attribute 'slope', want one of"},
      {R"("relu")", R"("softmax", "attributes": {"axis": {"s": "last"}})",
       StatusCode::kInvalidArgument, "attribute 'axis' has another type"},
      {R"("relu")", R"("softmax", "attributes": {"axis": {"i": 9223372036854775807}})",
       StatusCode::kInvalidArgument,
       "attribute 'axis': got 9223372036854775807, want -2^28 to 2^28"},
      {R"("f32", "shape": [2)", R"("f8", "shape": [2)", StatusCode::kUnimplemented,
       "constant 'w': got element type 'f8', want one of f32"},
      {"[1, 2]", "[1, 0]", StatusCode::kInvalidArgument, "input 'x': a dimension is 0"},
      {"[1, 2]", "[1099511627776, 1099511627776]", StatusCode::kResourceExhausted, "input 'x'"},
      {"[2, 3]", "[2, 4]", StatusCode::kInvalidArgument,
       "constant 'w': got offset 4 and 32 bytes, the data has 28"},
      {R"("offsetBytes": 4)", R"("offsetBytes": 18446744073709551612)",
       StatusCode::kInvalidArgument, "constant 'w': got offset"},
      {R"("value": "q")", R"("value": "z")", StatusCode::kInvalidArgument, "an output reads 'z'"},
      {R"([{"name": "y", "value": "q"}])", "[]", StatusCode::kInvalidArgument, "no output"},
      {R"("value": "q"})", R"("value": "q"}, {"name": "y", "value": "p"})",
       StatusCode::kInvalidArgument, "two outputs are named 'y'"},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.by);
    std::string json = kByHand;
    const size_t at = json.find(refusal.part);
    ASSERT_NE(at, std::string::npos);
    json.replace(at, refusal.part.size(), refusal.by);
    EXPECT_THAT(Import(ModelFile(json, Ones(6))),
                StatusIs(refusal.code, HasSubstr(refusal.message)));
  }
}

TEST(ModelGraphImportTest, ShapesOfTheCommandLineMustBeTheModels) {
  EXPECT_THAT(Import(ModelFile(kByHand, Ones(6)), {.input_shapes = {{"x", {1, 2}}}}), IsOk());
  EXPECT_THAT(Import(ModelFile(kByHand, Ones(6)), {.input_shapes = {{"x", {2, 2}}}}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("its inputs are: x=1x2")));
}

TEST(ModelGraphImportTest, DamagedFilesAreAnsweredNotObeyed) {
  const ImportOptions options = {.max_constant_bytes = 1 << 20, .max_tensor_elements = 1 << 20};
  for (const std::string& file : {ModelFile(kByHand, Ones(6)),
                                  ModelFile(RowsModel(6, true), std::string(size_t{4} * 36, 0))}) {
    for (size_t length = 0; length < file.size(); ++length) {
      EXPECT_FALSE(Import(file.substr(0, length)).ok()) << length;
    }
    for (size_t at = 0; at < file.size(); ++at) {
      for (const int flip : {0x01, 0x02, 0x10, 0x80}) {
        std::string damaged = file;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        const absl::StatusOr<Graph> graph = Import(damaged, options);
        if (graph.ok()) EXPECT_THAT(VerifyGraph(*graph), IsOk()) << at << " ^ " << flip;
      }
    }
  }
}

AttributeValue RandomAttribute(Rng& rng) {
  const auto integer = [&]() -> int64_t {
    constexpr int64_t kEdges[] = {INT64_MIN, -(int64_t{1} << 28), -7,       -1, 0, 1, 2, 3,
                                  1000,      int64_t{1} << 28,    INT64_MAX};
    return kEdges[rng.Below(std::size(kEdges))];
  };
  switch (rng.Below(5)) {
    case 0:
      return integer();
    case 1:
      return static_cast<double>(integer());
    case 2:
      return std::string("linear");
    case 3: {
      std::vector<int64_t> values(rng.Below(6));
      for (int64_t& value : values) value = integer();
      return values;
    }
    default:
      return std::vector<double>(rng.Below(4), 0.5);
  }
}

// The operators' own functions stand alone between a stranger's attributes and the compiler.
TEST(ModelGraphImportTest, StrangeAttributesAndShapesAreAnsweredNotObeyed) {
  const ImportOptions options = {.max_constant_bytes = 1 << 20, .max_tensor_elements = 1 << 20};
  Rng rng(1);
  int accepted = 0;
  for (const OperatorCase& c : ReadOperatorCases()) {
    std::string data;
    const ModelGraph model = MessageOf(OneOperator(c), data);
    for (int round = 0; round < 40; ++round) {
      ModelGraph strange = model;
      auto& attributes = *strange.mutable_nodes(0)->mutable_attributes();
      // By name: the map's own order is another one in each process.
      for (const auto& [name, value] : c.attributes.values()) {
        if (rng.Below(2) == 0) attributes[name] = AttributeOf(RandomAttribute(rng));
      }
      if (rng.Below(3) == 0 && strange.inputs_size() > 0) {
        ModelGraph::Input& input = *strange.mutable_inputs(rng.Below(strange.inputs_size()));
        if (rng.Below(2) == 0) input.set_dtype(rng.Below(2) == 0 ? "i64" : "bool");
        if (rng.Below(2) == 0)
          input.add_shape(1 + rng.Below(3));
        else if (input.shape_size() > 0)
          input.mutable_shape()->RemoveLast();
      }
      if (rng.Below(6) == 0) strange.mutable_nodes(0)->mutable_inputs()->RemoveLast();
      SCOPED_TRACE(strange.ShortDebugString());
      const absl::StatusOr<Graph> graph = Import(FileOf(strange), options);
      if (graph.ok()) ASSERT_THAT(VerifyGraph(*graph), IsOk());
      accepted += graph.ok();
    }
  }
  EXPECT_GT(accepted, 1000);  // Not all of it is refused at the door.
}

// An interpolation has tables as long as its output's axes: these would take many GiB.
TEST(ModelGraphImportTest, AResultIsRefusedBeforeItIsDefined) {
  EXPECT_THAT(Import(ModelFile(R"({"format": 1,
      "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}],
      "nodes": [{"op": "resize", "inputs": ["x"], "outputs": ["y"], "attributes": {
          "mode": {"s": "linear"}, "sizes": {"ints": {"values": [268435456, 268435456]}}}}],
      "outputs": [{"value": "y"}]})",
                               "")),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("node 'y' (resize): a result")));
}

// docs/model-graph.md: "| `cast` | `to` |".
TEST(ModelGraphImportTest, TheDocumentListsEveryOperatorWithItsAttributes) {
  std::map<std::string, std::set<std::string>> attributes;
  for (const OperatorCase& c : ReadOperatorCases()) {
    AttributeReads reads;
    Attributes logged = c.attributes;
    logged.LogReads(&reads);
    const std::vector<TensorType> types = TypesOf(c.inputs);
    ASSERT_THAT(c.op->infer(logged, types), IsOk());
    if (c.op->fusion != FusionKind::kHost) DefineOperator(*c.op, logged, types);
    attributes[c.op->name()].insert(reads.names.begin(), reads.names.end());
    if (c.op->layout == LayoutRule::kByChannel || c.op->layout == LayoutRule::kChannelsLast) {
      attributes[c.op->name()].insert("channels_last");
    }
  }
  std::string want;
  for (const auto& [op, names] : attributes) {
    absl::StrAppend(&want, "| `", op, "` | ",
                    absl::StrJoin(names, ", ",
                                  [](std::string* out, const std::string& name) {
                                    absl::StrAppend(out, "`", name, "`");
                                  }),
                    names.empty() ? "|\n" : " |\n");
  }
  std::ifstream file("docs/model-graph.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find(want), std::string::npos) << "want these lines:\n" << want;
}

}  // namespace
}  // namespace burnish
