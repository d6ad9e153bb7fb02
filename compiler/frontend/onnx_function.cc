#include "compiler/frontend/onnx_function.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compiler/frontend/onnx_import_context.h"
#include "google/protobuf/unknown_field_set.h"

namespace burnish {
namespace {

using Attributes = std::map<std::string, onnx::AttributeProto>;

// Fields of onnx.proto that are younger than Debian's copy of it.
constexpr int kFunctionAttributeProto = 11;
constexpr int kFunctionOverload = 13;

std::vector<std::string> UnknownStrings(const onnx::FunctionProto& function, int number) {
  std::vector<std::string> values;
  const google::protobuf::UnknownFieldSet& fields =
      function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.number() != number ||
        field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      continue;
    }
    values.push_back(field.length_delimited());
  }
  return values;
}

// What the call gives, and defaults of the function for the rest.
Attributes AttributesOf(const onnx::FunctionProto& function, const onnx::NodeProto& call) {
  Attributes attributes;
  for (const std::string& bytes : UnknownStrings(function, kFunctionAttributeProto)) {
    onnx::AttributeProto attribute;
    if (attribute.ParseFromString(bytes)) attributes[attribute.name()] = attribute;
  }
  for (const onnx::AttributeProto& attribute : call.attribute()) {
    attributes[attribute.name()] = attribute;
  }
  return attributes;
}

void Resolve(const Attributes& attributes, onnx::GraphProto& graph);

void Resolve(const Attributes& attributes, onnx::NodeProto& node) {
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> kept;
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (!attribute.ref_attr_name().empty()) {
      const auto found = attributes.find(attribute.ref_attr_name());
      if (found == attributes.end()) continue;  // Absent in the call: absent here.
      const std::string name = attribute.name();
      attribute = found->second;
      attribute.set_name(name);
    }
    // Bounded by protobuf's limit on messages in messages.
    if (attribute.has_g()) Resolve(attributes, *attribute.mutable_g());
    *kept.Add() = std::move(attribute);
  }
  node.mutable_attribute()->Swap(&kept);
}

void Resolve(const Attributes& attributes, onnx::GraphProto& graph) {
  for (onnx::NodeProto& node : *graph.mutable_node()) Resolve(attributes, node);
}

}  // namespace

absl::StatusOr<OnnxFunctions> FunctionsOf(const onnx::ModelProto& model) {
  OnnxFunctions functions;
  for (const onnx::FunctionProto& function : model.functions()) {
    onnx::NodeProto named;
    named.set_domain(function.domain());
    named.set_op_type(function.name());
    const std::string name = OnnxOperatorName(named);
    for (const std::string& overload : UnknownStrings(function, kFunctionOverload)) {
      if (overload.empty()) continue;
      return absl::UnimplementedError(
          absl::StrCat("function ", name, ": overloads are not supported"));
    }
    if (!functions.emplace(name, &function).second) {
      return absl::InvalidArgumentError(absl::StrCat("function ", name, " is there twice"));
    }
  }
  return functions;
}

onnx::GraphProto BodyOf(const onnx::FunctionProto& function, const onnx::NodeProto& call) {
  onnx::GraphProto graph;
  graph.set_name(function.name());
  std::set<std::string> absent;
  for (int i = 0; i < function.input_size(); ++i) {
    if (i < call.input_size() && !call.input(i).empty()) {
      graph.add_input()->set_name(function.input(i));
    } else {
      absent.insert(function.input(i));
    }
  }
  for (int i = 0; i < function.output_size() && i < call.output_size(); ++i) {
    // What the call does not want need not be supported.
    if (!call.output(i).empty()) graph.add_output()->set_name(function.output(i));
  }
  *graph.mutable_node() = function.node();
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      if (absent.count(input) > 0) input.clear();
    }
  }
  Resolve(AttributesOf(function, call), graph);
  return graph;
}

int OpsetOf(const onnx::FunctionProto& function, int fallback) {
  for (const onnx::OperatorSetIdProto& import : function.opset_import()) {
    const bool standard = import.domain().empty() || import.domain() == "ai.onnx";
    if (standard && import.version() >= kOldestOnnxOpset && import.version() <= kNewestOnnxOpset) {
      return static_cast<int>(import.version());
    }
  }
  return fallback;
}

}  // namespace burnish
