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

// Into the branches: what is only chosen stays as it is stored.
Expr CastOf(DType dtype, const Expr& e) {
  if (e->kind != ExprKind::kSelect) return Cast(dtype, e);
  return Select(e->operands[0], CastOf(dtype, e->operands[1]), CastOf(dtype, e->operands[2]));
}

// Makes the block give a value of storage type `dtype`.
void RoundBlock(Block& block, DType dtype) {
  if (block.finish != nullptr) {
    block.finish = CastOf(dtype, block.finish);
  } else if (block.reduction.empty()) {
    block.step = CastOf(dtype, block.step);
  } else {
    block.finish = Cast(dtype, Self(block.step->dtype));
  }
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
  const DType computed = block.step->dtype;
  // A reduction over no axes has one term: it is an assignment of that term.
  if (!reduction.empty()) {
    block.combiner = spec.combiner;
    if (spec.init != nullptr) block.init = spec.init(spatial);
  }
  if (spec.finish != nullptr) block.finish = spec.finish(spatial, Self(computed));
  // What only moves stays as it is stored.
  const Expr& moved = block.step;
  if (moved->kind == ExprKind::kCast && IsStorageFloat(moved->operands[0]->dtype) &&
      block.finish == nullptr && reduction.empty() && type.dtype == computed) {
    type.dtype = moved->operands[0]->dtype;
  }
  if (IsStorageFloat(type.dtype)) RoundBlock(block, type.dtype);
  const auto check = [&](const Expr& e, DType want) {
    CHECK(e->dtype == want) << block.name << ": got " << DTypeName(e->dtype) << ", want "
                            << DTypeName(want);
  };
  if (block.init != nullptr) check(block.init, computed);
  check(block.finish != nullptr ? block.finish : block.step, type.dtype);
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

void TeBuilder::StoreAs(BufferId buffer, DType dtype) {
  program_.buffers[buffer].dtype = dtype;
  for (Block& block : program_.blocks) {
    if (block.output == buffer) {
      RoundBlock(block, dtype);
      continue;
    }
    RewriteBlock(block, [&](const Expr& e) -> Expr {
      if (e->kind != ExprKind::kLoad || e->id != buffer || e->dtype == dtype) return nullptr;
      return Cast(e->dtype, Load(buffer, dtype, e->operands));
    });
  }
}

void TeBuilder::Output(const std::string& name, const Tensor& tensor, DType dtype) {
  CHECK(dtype == tensor.stored || ComputeType(dtype) == tensor.type.dtype)
      << name << ": got " << DTypeName(tensor.stored) << ", want " << DTypeName(dtype);
  Tensor output = tensor;
  if (program_.buffers[tensor.buffer].role != BufferRole::kTemp) {
    const Tensor now(tensor.buffer, {program_.buffers[tensor.buffer].dtype, tensor.type.shape});
    output = Compute(name, {dtype, tensor.type.shape}, [&](const Indices& i) { return now(i); });
  } else if (tensor.stored != dtype) {
    StoreAs(tensor.buffer, dtype);
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
