#include "compiler/driver/weights.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/driver/storage_layout.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {
namespace {

// Orders that are tried of a parameter's dimensions: 4! = 24, of which most fail at once. Five, of
// a convolution of volumes, would be 120.
constexpr size_t kPermutedAxesMax = 5;

// The parameter of a model that a constant of its cut graph is, and where each element of the
// constant is in it: steps in elements by the constant's axis.
struct Origin {
  TensorInfo parameter;
  std::vector<int64_t> strides;
};

// How often nodes read each constant; an output of the graph counts too.
std::map<const ConstantData*, int> UsesOfConstants(const Graph& graph) {
  std::map<const ConstantData*, int> uses;
  const auto count = [&](ValueId value) {
    if (value >= 0 && graph.IsConstant(value)) ++uses[graph.value(value).data.get()];
  };
  for (const GraphNode& node : graph.nodes) {
    for (const ValueId input : node.inputs) count(input);
  }
  for (const ValueId output : graph.outputs) count(output);
  return uses;
}

bool AllElementsAreEqual(const GraphValue& value) {
  const absl::Span<const uint8_t> bytes = value.data->bytes();
  const auto size = static_cast<size_t>(SizeBytes(value.type.dtype));
  return bytes.size() <= size || std::equal(bytes.begin() + size, bytes.end(), bytes.begin());
}

// Whether `constant` is `source` read with these strides (in elements), by bytes.
bool ReadsAs(const GraphValue& source, const GraphValue& constant,
             const std::vector<int64_t>& strides) {
  const std::vector<int64_t>& shape = constant.type.shape;
  const auto size = static_cast<size_t>(SizeBytes(constant.type.dtype));
  const uint8_t* from = source.data->bytes().data();
  const absl::Span<const uint8_t> want = constant.data->bytes();
  std::vector<int64_t> index(shape.size());
  int64_t element = 0;
  for (size_t at = 0; at < want.size(); at += size) {
    // Another order differs at one of the first elements, mostly.
    if (std::memcmp(from + element * size, want.data() + at, size) != 0) return false;
    for (size_t axis = shape.size(); axis-- > 0;) {
      element += strides[axis];
      if (++index[axis] < shape[axis]) break;
      element -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return true;
}

// How `constant` has the elements of `source`: in their order, or with dimensions permuted. Empty:
// neither, or in two ways.
std::optional<std::vector<int64_t>> OrderIn(const GraphValue& source, const GraphValue& constant) {
  const std::vector<int64_t> dense = DenseTensor("", ElementType::kU8, source.type.shape).strides;
  const std::vector<int64_t>& shape = constant.type.shape;
  if (source.data == constant.data) return DenseTensor("", ElementType::kU8, shape).strides;
  if (source.type.dtype != constant.type.dtype ||
      source.data->bytes().size() != constant.data->bytes().size()) {
    return std::nullopt;
  }
  // Dimensions of 1 come and go.
  std::vector<size_t> from, to;
  for (size_t axis = 0; axis < source.type.shape.size(); ++axis) {
    if (source.type.shape[axis] != 1) from.push_back(axis);
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1) to.push_back(axis);
  }
  if (from.size() != to.size() || from.size() > kPermutedAxesMax) return std::nullopt;
  std::optional<std::vector<int64_t>> found;
  do {
    std::vector<int64_t> strides(shape.size(), 0);
    bool fits = true;
    for (size_t i = 0; i < to.size(); ++i) {
      fits = fits && source.type.shape[from[i]] == shape[to[i]];
      strides[to[i]] = dense[from[i]];
    }
    if (!fits || !ReadsAs(source, constant, strides)) continue;
    if (found.has_value()) return std::nullopt;
    found = strides;
  } while (std::next_permutation(from.begin(), from.end()));
  return found;
}

// Bytes of constants that one node reads beside a value that depends on the model's inputs: of such
// a constant no pass can compute anything that is not linear in it.
std::set<const ConstantData*> ReadBesideInputs(const Graph& graph) {
  std::vector<bool> depends(graph.values.size(), false);
  for (const ValueId input : graph.inputs) depends[input] = true;
  std::set<const ConstantData*> found;
  for (const GraphNode& node : graph.nodes) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId input) { return input >= 0 && depends[input]; });
    if (!any) continue;
    for (const ValueId output : node.outputs) depends[output] = true;
    for (const ValueId input : node.inputs) {
      if (input >= 0 && graph.IsConstant(input)) found.insert(graph.value(input).data.get());
    }
  }
  return found;
}

// Constants of `cut` that are parameters of `source`, as they were or with dimensions permuted, by
// their elements. What passes do to a weight that is read beside a value (a factor, a new order) is
// linear in it, so what changed nothing about these elements changes nothing about others either.
//
// A parameter that is read twice may have been folded at one place and not at the other, and equal
// constants become one: neither is sure, so neither is replaceable. Constants of one value only are
// equal to whatever a pass may make, so they are left out too.
std::map<const ConstantData*, Origin> ReplaceableParameters(const Graph& source, const Graph& cut) {
  std::map<const ConstantData*, int> uses = UsesOfConstants(source);
  const std::set<const ConstantData*> beside = ReadBesideInputs(source);
  std::map<std::string, int> names;
  std::map<absl::string_view, int> contents;
  for (const GraphValue& value : source.values) {
    if (value.data == nullptr) continue;
    ++names[value.name];
    const absl::Span<const uint8_t> bytes = value.data->bytes();
    ++contents[{reinterpret_cast<const char*>(bytes.data()), bytes.size()}];
  }
  std::map<size_t, std::vector<const GraphValue*>> left;  // By size; each with its only use.
  const std::map<const ConstantData*, int> uses_left = UsesOfConstants(cut);
  for (const GraphValue& value : cut.values) {
    const auto used = uses_left.find(value.data.get());
    if (value.data != nullptr && used != uses_left.end() && used->second == 1) {
      left[value.data->bytes().size()].push_back(&value);
    }
  }
  std::map<const ConstantData*, Origin> found;
  for (const GraphValue& value : source.values) {
    if (value.data == nullptr || value.name.empty() || names[value.name] != 1) continue;
    const absl::Span<const uint8_t> bytes = value.data->bytes();
    if (uses[value.data.get()] != 1 || beside.count(value.data.get()) == 0 ||
        contents[{reinterpret_cast<const char*>(bytes.data()), bytes.size()}] != 1 ||
        AllElementsAreEqual(value)) {
      continue;
    }
    std::vector<std::pair<const ConstantData*, std::vector<int64_t>>> same;
    for (const GraphValue* constant : left[bytes.size()]) {
      std::optional<std::vector<int64_t>> strides = OrderIn(value, *constant);
      if (strides.has_value()) same.emplace_back(constant->data.get(), *std::move(strides));
    }
    if (same.size() != 1) continue;
    found.emplace(same[0].first,
                  Origin{.parameter = DenseTensor(value.name, ElementTypeOf(value.type.dtype),
                                                  value.type.shape),
                         .strides = std::move(same[0].second)});
  }
  return found;
}

ConstantPtr Constant(AlignedBytes bytes) {
  const auto owner = std::make_shared<const AlignedBytes>(std::move(bytes));
  return std::make_shared<ConstantData>(owner,
                                        absl::Span<const uint8_t>(owner->data(), owner->size()));
}

}  // namespace

std::string StorageText(const Storage& storage) {
  std::string text = absl::StrCat(absl::StrJoin(storage.strides, ","), " ", storage.offset);
  if (!storage.border.empty()) {
    absl::StrAppend(&text, " ", absl::StrJoin(storage.border, ",", absl::PairFormatter(":")), " ",
                    storage.border_value);
  }
  return text;
}

RefitInput WeightsWriter::Layout(const PackInput& input) const {
  const GraphValue& constant = graph_.value(input.value);
  const TensorType& type = constant.type;
  const auto storage_bytes =
      static_cast<uint64_t>(StorageBytesOf(type.dtype, type.shape, input.storage));
  return {.tensor = TensorInfoOf(constant.name, type.dtype, type.shape, input.storage),
          .source_strides = DenseTensor("", ElementType::kU8, type.shape).strides,
          .storage_bytes = storage_bytes,
          .border_bits = input.storage.border.empty()
                             ? 0
                             : ElementBits(type.dtype, input.storage.border_value)};
}

ConstantPtr WeightsWriter::Stored(const PackInput& input) const {
  const ConstantPtr& data = graph_.value(input.value).data;
  const RefitInput layout = Layout(input);
  const bool is_dense = layout.tensor.offset_bytes == 0 &&
                        layout.tensor.strides == layout.source_strides &&
                        layout.storage_bytes == data->bytes().size();
  return is_dense ? data : Constant(burnish::LayOut(layout, data->bytes().data()));
}

int64_t WeightsWriter::Append(const std::string& name, ConstantPtr bytes) {
  AddWeight(name, Shared(std::move(bytes)), bundle_);
  return static_cast<int64_t>(bundle_.manifest.constants.back().offset_bytes);
}

int64_t WeightsWriter::AddConstant(ValueId value, const Storage& storage) {
  // By value and storage: a constant that two steps read alike is stored once.
  const auto [found, is_new] = plain_.try_emplace({value, StorageText(storage)}, 0);
  if (!is_new) return found->second;
  const PackInput input{.value = value, .storage = storage};
  found->second = Append(graph_.value(value).name, Stored(input));
  uses_.push_back({.pack = -1,
                   .inputs = {input},
                   .outputs = {{.offset_bytes = static_cast<uint64_t>(found->second),
                                .size_bytes = bundle_.manifest.constants.back().size_bytes}}});
  return found->second;
}

absl::StatusOr<std::vector<ConstantPtr>> WeightsWriter::Pack(
    int pack_index, const std::vector<PackInput>& inputs) const {
  CHECK(packs_ != nullptr);
  std::vector<AlignedBytes> stored, packed;
  ByteViews read;
  for (const PackInput& input : inputs) {
    read.push_back(stored.emplace_back(
        burnish::LayOut(Layout(input), graph_.value(input.value).data->bytes().data())));
  }
  std::vector<uint8_t*> written;
  for (const BufferInfo& buffer : packs_->manifest().kernels[pack_index].compute.buffers) {
    if (buffer.role != ArgumentRole::kOutput) continue;
    written.push_back(packed.emplace_back(buffer.size_bytes).data());
  }
  if (const RuntimeStatus status = RunPack(*packs_, pack_index, read, written); !status.ok()) {
    return absl::InternalError(absl::StrCat("packing: ", status.message()));
  }
  std::vector<ConstantPtr> outputs;
  for (AlignedBytes& bytes : packed) outputs.push_back(Constant(std::move(bytes)));
  return outputs;
}

absl::StatusOr<std::vector<ConstantPtr>> WeightsWriter::PackOnce(
    int pack_index, const std::string& pack_sha256, const std::vector<PackInput>& inputs) {
  if (pool_ == nullptr) return Pack(pack_index, inputs);
  WeightPool::PackKey key{.program_sha256 = pack_sha256, .inputs = {}};
  for (const PackInput& input : inputs) {
    key.inputs.emplace_back(pool_->Shared(graph_.value(input.value).data),
                            StorageText(input.storage));
  }
  const std::vector<ConstantPtr>* const known = pool_->FindPacked(key);
  if (known != nullptr) return *known;
  ASSIGN_OR_RETURN(std::vector<ConstantPtr> outputs, Pack(pack_index, inputs));
  for (ConstantPtr& output : outputs) output = pool_->Shared(output);
  pool_->AddPacked(std::move(key), outputs);
  return outputs;
}

absl::StatusOr<std::vector<int64_t>> WeightsWriter::AddPacked(
    int pack_index, const std::string& pack_sha256, const std::vector<PackInput>& inputs) {
  std::vector<std::pair<ValueId, StorageKey>> key;
  for (const PackInput& input : inputs) key.emplace_back(input.value, StorageText(input.storage));
  if (const auto found = packed_.find({pack_index, key}); found != packed_.end()) {
    return found->second;
  }
  ASSIGN_OR_RETURN(const std::vector<ConstantPtr> packed,
                   PackOnce(pack_index, pack_sha256, inputs));
  const std::string name =
      absl::StrJoin(inputs, "+", [&](std::string* out, const PackInput& input) {
        absl::StrAppend(out, graph_.value(input.value).name);
      });
  std::vector<int64_t>& offsets = packed_[{pack_index, std::move(key)}];
  Use& use = uses_.emplace_back(Use{.pack = pack_index, .inputs = inputs});
  for (const ConstantPtr& bytes : packed) {
    offsets.push_back(Append(absl::StrCat(name, "#", offsets.size()), bytes));
    use.outputs.push_back({.offset_bytes = static_cast<uint64_t>(offsets.back()),
                           .size_bytes = bytes->bytes().size()});
  }
  return offsets;
}

RefitInfo WeightsWriter::ProgramRefit(const RefitProgram& refit) const {
  RefitInfo info = refit.info;
  const auto is_known = [&refit](const PackInput& input) {
    return refit.sources.count(input.value) > 0;
  };
  std::map<ValueId, uint32_t> constants;
  for (const Use& use : uses_) {
    if (std::none_of(use.inputs.begin(), use.inputs.end(), is_known)) continue;
    RefitRecipe& recipe =
        info.recipes.emplace_back(RefitRecipe{.pack = use.pack, .outputs = use.outputs});
    for (const PackInput& input : use.inputs) {
      RefitInput& laid_out = recipe.inputs.emplace_back(Layout(input));
      if (is_known(input)) {
        laid_out.source = refit.sources.at(input.value).source;
        laid_out.source_strides = refit.sources.at(input.value).strides;
        continue;
      }
      // Packed beside a parameter, and the same for all parameters.
      const auto [found, is_new] =
          constants.emplace(input.value, static_cast<uint32_t>(info.constants.size()));
      if (is_new) {
        const GraphValue& value = graph_.value(input.value);
        const absl::Span<const uint8_t> bytes = value.data->bytes();
        info.constants.push_back(
            {.tensor = DenseTensor(value.name, ElementTypeOf(value.type.dtype), value.type.shape),
             .bytes = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())});
      }
      laid_out.source =
          static_cast<uint32_t>(info.parameters.size() + info.computed.size()) + found->second;
    }
  }
  return info;
}

RefitInfo WeightsWriter::RecognisedRefit(const Graph& source) const {
  const std::map<const ConstantData*, Origin> replaceable = ReplaceableParameters(source, graph_);
  const auto data_of = [this](const PackInput& input) {
    return graph_.value(input.value).data.get();
  };
  // What is packed together with something that is not there in the model's terms is not either.
  std::set<const ConstantData*> out;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Use& use : uses_) {
      const auto is_out = [&](const PackInput& input) {
        return out.count(data_of(input)) > 0 || replaceable.count(data_of(input)) == 0;
      };
      if (!std::any_of(use.inputs.begin(), use.inputs.end(), is_out)) continue;
      for (const PackInput& input : use.inputs) changed |= out.insert(data_of(input)).second;
    }
  }
  RefitInfo info;
  std::map<const ConstantData*, uint32_t> parameters;
  for (const Use& use : uses_) {
    if (use.inputs.empty() || out.count(data_of(use.inputs[0])) > 0) continue;
    RefitRecipe& recipe =
        info.recipes.emplace_back(RefitRecipe{.pack = use.pack, .outputs = use.outputs});
    for (const PackInput& input : use.inputs) {
      const auto [found, is_new] =
          parameters.emplace(data_of(input), static_cast<uint32_t>(info.parameters.size()));
      if (is_new) info.parameters.push_back(replaceable.at(data_of(input)).parameter);
      recipe.inputs.push_back(Layout(input));
      recipe.inputs.back().source = found->second;
      recipe.inputs.back().source_strides = replaceable.at(data_of(input)).strides;
    }
  }
  return info;
}

}  // namespace burnish
