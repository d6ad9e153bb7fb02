#include "compiler/graph/constant_origin.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/sha256.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// A scalar that two passes made alike is the same by its bytes. Of weights, which nobody shall hash
// without need, by where they lie: they live as long as the origin.
constexpr size_t kCompareBytesMax = 64;

std::string IdentityOf(const ConstantData& data) {
  const absl::Span<const uint8_t> bytes = data.bytes();
  if (bytes.size() > kCompareBytesMax) {
    return absl::StrCat("@", reinterpret_cast<uintptr_t>(bytes.data()));
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

ConstantPtr TrackedParameter(std::string name, TensorType type, const ConstantPtr& data) {
  auto origin = std::make_shared<ConstantOrigin>();
  origin->type = std::move(type);
  origin->parameter = std::move(name);
  origin->value = data;
  origin->from_parameters = true;
  origin->key = absl::StrCat("%", origin->parameter, ":", PrintType(origin->type));
  return WithOrigin(data, origin);
}

OriginPtr OriginOf(const TensorType& type, const ConstantPtr& data) {
  if (data->origin() != nullptr) return ReshapedOrigin(data->origin(), type.shape);
  auto origin = std::make_shared<ConstantOrigin>();
  origin->type = type;
  origin->value = data;
  origin->key = absl::StrCat("=", PrintType(type), ":", IdentityOf(*data));
  return origin;
}

namespace {

// Of a transposition of a transposition.
OriginPtr TransposedTwice(const ConstantOrigin& inner, const std::vector<int64_t>& perm) {
  const std::vector<int64_t> first = inner.attributes.Ints("perm", {});
  std::vector<int64_t> both;
  for (const int64_t p : perm) both.push_back(first[p]);
  if (std::is_sorted(both.begin(), both.end())) return inner.inputs[0];
  Attributes attributes;
  attributes.Set("perm", both);
  return Apply(OpId::kTranspose, inner.inputs, std::move(attributes));
}

}  // namespace

OriginPtr Apply(OpId op, const std::vector<OriginPtr>& inputs, Attributes attributes, int output) {
  // A weight that an exporter turned and a pass turned back is the weight, also to those who
  // compare texts.
  if (op == OpId::kTranspose && inputs[0]->op == OpId::kTranspose) {
    return TransposedTwice(*inputs[0], attributes.Ints("perm", {}));
  }
  if (op == OpId::kReshape && inputs[0]->op == OpId::kReshape) {
    return ReshapedOrigin(inputs[0]->inputs[0], attributes.Ints("shape", {}));
  }
  std::vector<TensorType> types;
  auto origin = std::make_shared<ConstantOrigin>();
  for (const OriginPtr& input : inputs) {
    types.push_back(input->type);
    origin->from_parameters = origin->from_parameters || input->from_parameters;
    origin->depth = std::max(origin->depth, input->depth + 1);
  }
  const absl::StatusOr<std::vector<TensorType>> outputs = OperatorOf(op).infer(attributes, types);
  CHECK(outputs.ok()) << op << ": " << outputs.status();
  origin->type = (*outputs)[output];
  origin->op = op;
  origin->attributes = std::move(attributes);
  origin->inputs = inputs;
  origin->output = output;
  std::string text = absl::StrCat(OpName(op), "[", PrintAttributes(origin->attributes), "]",
                                  PrintType(origin->type), output);
  for (const OriginPtr& input : inputs) absl::StrAppend(&text, ",", input->key);
  origin->key = Sha256Hex(text);
  return origin;
}

OriginPtr ReshapedOrigin(const OriginPtr& origin, const std::vector<int64_t>& shape) {
  if (origin->type.shape == shape) return origin;
  Attributes attributes;
  attributes.Set("shape", shape);
  return Apply(OpId::kReshape, {origin}, std::move(attributes));
}

OriginPtr CastOrigin(const OriginPtr& origin, DType dtype) {
  if (origin->type.dtype == dtype) return origin;
  Attributes attributes;
  attributes.Set("to", std::string(DTypeName(dtype)));
  return Apply(OpId::kCast, {origin}, std::move(attributes));
}

ConstantPtr WithOrigin(const ConstantPtr& data, const OriginPtr& origin) {
  if (origin == nullptr || !origin->from_parameters || data->origin() == origin) return data;
  return std::make_shared<ConstantData>(data, data->bytes(), origin);
}

std::string OriginKey(const OriginPtr& origin) { return origin == nullptr ? "" : origin->key; }

bool IsTooDeep(const OriginPtr& origin) {
  return origin != nullptr && origin->depth >= kOriginDepthMax;
}

namespace {

class OriginGraph {
 public:
  absl::StatusOr<Graph> Run(const std::vector<OriginPtr>& origins) {
    for (size_t i = 0; i < origins.size(); ++i) {
      ASSIGN_OR_RETURN(const ValueId value, Add(origins[i]));
      graph_.outputs.push_back(value);
    }
    return std::move(graph_);
  }

 private:
  absl::StatusOr<ValueId> Add(const OriginPtr& origin) {
    const auto [found, is_new] = values_.try_emplace(OriginKey(origin), -1);
    if (!is_new) return found->second;
    if (!origin->parameter.empty()) {
      return found->second = AddInput(graph_, origin->parameter, origin->type);
    }
    if (origin->value != nullptr) {
      return found->second = AddConstant(graph_, "value", origin->type, origin->value);
    }
    std::vector<ValueId> inputs;
    for (const OriginPtr& input : origin->inputs) {
      ASSIGN_OR_RETURN(inputs.emplace_back(), Add(input));
    }
    // Several outputs of one node: each is looked for by its own number.
    const std::string node_text = OriginKey(origin->output == 0 ? origin : FirstOutput(*origin));
    auto node = nodes_.find(node_text);
    if (node == nodes_.end()) {
      ASSIGN_OR_RETURN(const GraphNodeId id,
                       AddNode(graph_, *origin->op, inputs, origin->attributes));
      node = nodes_.emplace(node_text, id).first;
    }
    return found->second = graph_.nodes[node->second].outputs[origin->output];
  }

  static OriginPtr FirstOutput(const ConstantOrigin& origin) {
    return Apply(*origin.op, origin.inputs, origin.attributes, 0);
  }

  Graph graph_;
  std::map<std::string, ValueId> values_;     // By OriginKey.
  std::map<std::string, GraphNodeId> nodes_;  // By OriginKey of output 0.
};

}  // namespace

absl::StatusOr<Graph> GraphOfOrigins(const std::vector<OriginPtr>& origins) {
  return OriginGraph().Run(origins);
}

bool MayBeParameter(const TensorType& type) {
  return IsFloat(type.dtype) && ElementCount(type.shape) > 1;
}

void MarkParameters(Graph& graph) {
  // A constant may be several values of the graph; values of one name are one parameter if they are
  // one constant.
  std::map<std::string, std::pair<const uint8_t*, const TensorType*>> named;
  std::map<std::string, bool> is_ambiguous;
  for (const GraphValue& value : graph.values) {
    if (value.data == nullptr) continue;
    const uint8_t* bytes = value.data->bytes().data();
    const auto [found, is_new] = named.try_emplace(value.name, bytes, &value.type);
    const bool same = found->second.first == bytes && *found->second.second == value.type;
    is_ambiguous[value.name] = is_ambiguous[value.name] || !same || value.name.empty();
  }
  for (GraphValue& value : graph.values) {
    if (value.data == nullptr || value.data->origin() != nullptr || !MayBeParameter(value.type) ||
        is_ambiguous[value.name]) {
      continue;
    }
    value.data = TrackedParameter(value.name, value.type, value.data);
  }
}

void ForgetOrigins(Graph& graph) {
  for (GraphValue& value : graph.values) {
    if (value.data == nullptr || value.data->origin() == nullptr) continue;
    value.data = std::make_shared<ConstantData>(value.data, value.data->bytes());
  }
}

}  // namespace burnish
