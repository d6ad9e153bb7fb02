#include "compiler/te/operator_cases.h"

#include <cmath>
#include <fstream>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/te/builder.h"
#include "nlohmann/json.hpp"

namespace burnish {
namespace {

using Json = nlohmann::json;

double FloatOf(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  return value == "inf" ? INFINITY : -INFINITY;
}

TensorValue TensorOf(const Json& json) {
  TensorValue value;
  CHECK(ParseDType(json[0].get<std::string>(), &value.dtype));
  value.shape = json[1].get<std::vector<int64_t>>();
  for (const Json& element : json[2]) {
    if (IsFloat(value.dtype)) {
      value.floats.push_back(FloatOf(element));
    } else {
      value.integers.push_back(element.get<int64_t>());
    }
  }
  return value;
}

Attributes AttributesOf(const Json& json) {
  Attributes attributes;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) {
      attributes.Set(name, value.get<std::string>());
    } else if (value.is_number_integer()) {
      attributes.Set(name, value.get<int64_t>());
    } else if (value.is_number()) {
      attributes.Set(name, value.get<double>());
    } else if (!value.empty() && value[0].is_number_float()) {
      attributes.Set(name, value.get<std::vector<double>>());
    } else {
      attributes.Set(name, value.get<std::vector<int64_t>>());
    }
  }
  return attributes;
}

}  // namespace

std::vector<OperatorCase> ReadOperatorCases() {
  std::ifstream file("compiler/te/testdata/operators.jsonl");
  CHECK(file.good());
  std::vector<OperatorCase> cases;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    OperatorCase c{.name = json["name"], .op = FindOperator(json["op"].get<std::string>())};
    CHECK(c.op != nullptr) << json["op"].get<std::string>();
    c.attributes = AttributesOf(json["attrs"]);
    for (const Json& tensor : json["inputs"]) c.inputs.push_back(TensorOf(tensor));
    for (const Json& tensor : json["outputs"]) c.outputs.push_back(TensorOf(tensor));
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<TensorType> TypesOf(const std::vector<TensorValue>& values) {
  std::vector<TensorType> types;
  for (const TensorValue& value : values) types.push_back({value.dtype, value.shape});
  return types;
}

Program DefineOperator(const OperatorDef& op, const Attributes& attributes,
                       absl::Span<const TensorType> inputs) {
  TeBuilder te(op.name());
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    tensors.push_back(te.Parameter(absl::StrCat("X", i), inputs[i], BufferRole::kInput));
  }
  const absl::StatusOr<std::vector<TensorType>> types = op.infer(attributes, inputs);
  CHECK_OK(types);
  size_t k = 0;
  for (const Tensor& t : op.define(te, attributes, tensors)) {
    te.Output(absl::StrCat("Z", k), t, (*types)[k].dtype);
    ++k;
  }
  return te.Build();
}

}  // namespace burnish
