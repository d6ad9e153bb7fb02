#include "compiler/te/builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/te/rebuild.h"

namespace burnish {
namespace {

// Axes named `block.name`, or `block.<letter><d>` where no names are given.
Indices AddAxes(Program& program, const std::string& block, const std::vector<std::string>& names,
                const char* letter, const std::vector<int64_t>& extents, bool reduce,
                std::vector<VarId>* axes) {
  CHECK(names.empty() || names.size() == extents.size())
      << block << ": got " << names.size() << " axis names, want " << extents.size();
  Indices indices;
  for (size_t d = 0; d < extents.size(); ++d) {
    const std::string name = names.empty() ? absl::StrCat(letter, d) : names[d];
    const VarId var = AddVar(
        program,
        {.name = absl::StrCat(block, ".", name), .extent = Int(extents[d]), .reduce = reduce});
    axes->push_back(var);
    indices.push_back(VarRef(var));
  }
  return indices;
}

}  // namespace

TeBuilder::TeBuilder(std::string program_name) {
  program_.name = std::move(program_name);
  program_.root = AddNode(program_, {.kind = NodeKind::kSeq});
}

std::string TeBuilder::UniqueName(const std::string& name) const {
  const auto taken = [&](const std::string& candidate) {
    return FindBuffer(program_, candidate) >= 0 || FindBlock(program_, candidate) >= 0;
  };
  if (!taken(name)) return name;
  for (int i = 1;; ++i) {
    std::string candidate = absl::StrCat(name, "_", i);
    if (!taken(candidate)) return candidate;
  }
}

Tensor TeBuilder::Parameter(const std::string& name, TensorType type, BufferRole role) {
  CHECK(role == BufferRole::kInput || role == BufferRole::kConstant);
  Storage storage = DenseStorage(type.shape);
  const BufferId id = AddBuffer(program_, {.name = UniqueName(name),
                                           .dtype = type.dtype,
                                           .shape = type.shape,
                                           .role = role,
                                           .storage = std::move(storage)});
  return {id, std::move(type)};
}

Tensor TeBuilder::Reduce(const std::string& name, TensorType type, const ReduceSpec& spec) {
  Block block;
  block.name = UniqueName(name);
  const Indices spatial = AddAxes(program_, block.name, spec.axis_names, "i", type.shape,
                                  /*reduce=*/false, &block.spatial);
  const Indices reduction = AddAxes(program_, block.name, spec.reduction_names, "k",
                                    spec.reduction_extents, /*reduce=*/true, &block.reduction);
  block.output_indices = spatial;
  block.step = spec.step(spatial, reduction);
  // A reduction over no axes has one term: it is an assignment of that term.
  if (!reduction.empty()) {
    block.combiner = spec.combiner;
    if (spec.init != nullptr) block.init = spec.init(spatial);
  }
  if (spec.finish != nullptr) block.finish = spec.finish(spatial, Self(type.dtype));
  for (const Expr& e : {block.init, block.step, block.finish}) {
    CHECK(e == nullptr || e->dtype == type.dtype)
        << block.name << ": got " << DTypeName(e->dtype) << ", want " << DTypeName(type.dtype);
  }
  Storage storage = DenseStorage(type.shape);
  block.output = AddBuffer(program_, {.name = block.name,
                                      .dtype = type.dtype,
                                      .shape = type.shape,
                                      .storage = std::move(storage)});
  const BufferId output = block.output;
  program_.blocks.push_back(std::move(block));
  return {output, std::move(type)};
}

Tensor TeBuilder::Compute(const std::string& name, TensorType type,
                          const std::function<Expr(const Indices&)>& value,
                          std::vector<std::string> axis_names) {
  ReduceSpec spec;
  spec.axis_names = std::move(axis_names);
  spec.step = [&](const Indices& i, const Indices&) { return value(i); };
  return Reduce(name, std::move(type), spec);
}

void TeBuilder::Output(const std::string& name, const Tensor& tensor) {
  Tensor output = tensor;
  if (program_.buffers[tensor.buffer].role != BufferRole::kTemp) {
    output = Compute(name, tensor.type, [&](const Indices& i) { return tensor(i); });
  }
  Buffer& buffer = program_.buffers[output.buffer];
  buffer.role = BufferRole::kOutput;
  if (buffer.name != name) {
    buffer.name.clear();
    buffer.name = UniqueName(name);
  }
  outputs_.push_back(output.buffer);
}

Program TeBuilder::Build() {
  CHECK(!outputs_.empty()) << program_.name << ": a program without outputs";
  return Rebuild(std::move(program_), outputs_);
}

}  // namespace burnish
