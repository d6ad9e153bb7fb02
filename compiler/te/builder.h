// Defines tensor programs: placeholders, compute and reduce, in the style of tensor expressions.
// Source of the style: Chen et al., "TVM", OSDI 2018, section 4.1.
#ifndef COMPILER_TE_BUILDER_H_
#define COMPILER_TE_BUILDER_H_

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/te/canonicalize.h"  // IWYU pragma: export

namespace burnish {

struct TensorType {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  friend bool operator==(const TensorType& a, const TensorType& b) {
    return a.dtype == b.dtype && a.shape == b.shape;
  }
};

// A buffer of the program under construction. Definitions see storage types as what they are
// computed in, so that an operator is written once for all of them.
struct Tensor {
  Tensor() = default;
  Tensor(BufferId buffer_, TensorType stored_type)
      : buffer(buffer_), type(std::move(stored_type)), stored(type.dtype) {
    type.dtype = ComputeType(stored);
  }

  BufferId buffer = -1;
  TensorType type;             // Its elements as values of expressions.
  DType stored = DType::kF32;  // And as they lie in the buffer.
  // One index a dimension.
  Expr operator()(std::vector<Expr> indices) const {
    return Cast(type.dtype, Load(buffer, stored, std::move(indices)));
  }
  int rank() const { return static_cast<int>(type.shape.size()); }
  int64_t dim(int d) const { return type.shape[d]; }
};

using Indices = std::vector<Expr>;  // One i64 variable reference an axis.

class TeBuilder {
 public:
  explicit TeBuilder(std::string program_name);

  // kInput, kConstant.
  Tensor Parameter(const std::string& name, TensorType type, BufferRole role);

  struct ReduceSpec {
    std::vector<std::string> axis_names;       // Spatial axes, one a dimension; empty: i0, i1, ..
    std::vector<std::string> reduction_names;  // Empty: k0, k1, ..
    std::vector<int64_t> reduction_extents;
    Combiner combiner = Combiner::kSum;
    std::function<Expr(const Indices&)> init;                      // Null: identity.
    std::function<Expr(const Indices&, const Indices&)> step;      // Spatial, reduction.
    std::function<Expr(const Indices&, const Expr& self)> finish;  // Null: self.
  };
  // A block that writes a new kTemp tensor of `type`. Names of blocks and buffers are made unique.
  // A reduction sums in its step's type; `finish` gives what is stored (a storage type: what is
  // computed, and the block rounds it). Where a block only moves values of a storage type, the
  // result has that type.
  Tensor Reduce(const std::string& name, TensorType type, const ReduceSpec& spec);
  Tensor Compute(const std::string& name, TensorType type,
                 const std::function<Expr(const Indices&)>& value,
                 std::vector<std::string> axis_names = {});

  // Makes `tensor` an output of the program, stored as `dtype` (its own, or a storage type of it),
  // and the buffer is then called `name`. A parameter, or what is an output already, is copied.
  // Values between the operators of one program are not rounded to storage types, only outputs.
  void Output(const std::string& name, const Tensor& tensor, DType dtype);
  void Output(const std::string& name, const Tensor& tensor) {
    Output(name, tensor, tensor.stored);
  }

  // Moves outputs behind the other parameters, adds default nests, drops what no output needs.
  // The builder is then spent.
  Program Build();

 private:
  // Makes the temporary `buffer` one of `dtype`: its block rounds, its readers widen.
  void StoreAs(BufferId buffer, DType dtype);

  std::string UniqueName(const std::string& name) const;

  Program program_;
  std::vector<BufferId> outputs_;  // In the order of the Output calls.
};

}  // namespace burnish

#endif  // COMPILER_TE_BUILDER_H_
