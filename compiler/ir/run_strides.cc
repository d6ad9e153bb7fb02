#include "compiler/ir/run_strides.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/lowered.h"

namespace burnish {
namespace {

// Variables whose values are lanes.
std::set<VarId> LaneVars(const Program& program) {
  std::set<VarId> lanes;
  for (const NodeId id : Subtree(program, program.root)) {
    const Node& node = program.nodes[id];
    if (node.kind == NodeKind::kLoop && node.loop_kind == LoopKind::kVectorized) {
      lanes.insert(node.var);
    }
  }
  return lanes;
}

class Reader {
 public:
  Reader(const RunStrides& request, Program& program)
      : request_(request),
        program_(program),
        buffer_(ParametersOf(program)[request.parameter]),
        row_axes_(request.numbers.size()) {}

  bool MayRead() {
    const std::set<VarId> lanes = LaneVars(program_);
    bool may = true;
    for (const NodeId id : Subtree(program_, program_.root)) {
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::kPrefetch && node.buffer == buffer_) return false;
      VisitLoads(node, [&](const ExprNode& load) {
        if (load.id != buffer_) return;
        may = may && !IsInInstruction(id);
        for (size_t d = 0; d < row_axes_; ++d) {
          for (const VarId var : FreeVars(ExpandDefs(program_, load.operands[d]))) {
            may = may && lanes.count(var) == 0;
          }
        }
      });
    }
    return may;
  }

  BufferId Read() {
    const int count = 1 + *std::max_element(request_.numbers.begin(), request_.numbers.end());
    table_ = AddInputTable(absl::StrCat(program_.buffers[buffer_].name, "_strides"), DType::kI64,
                           std::max(count, kLastRow + 1), program_);
    for (const NodeId id : Subtree(program_, program_.root)) {
      EditExprs(program_.nodes[id], [&](Expr& e) {
        e = RewriteExpr(e, [&](const Expr& load) -> Expr {
          if (load->kind != ExprKind::kLoad || load->id != buffer_) return nullptr;
          return Load(buffer_, load->dtype, {PlaceOf(load->operands)});
        });
      });
    }
    Buffer& buffer = program_.buffers[buffer_];
    buffer.shape = {ElementCount(buffer.shape)};
    buffer.storage = DenseStorage(buffer.shape);
    buffer.storage.alignment_bytes = SizeBytes(buffer.dtype);  // As callers have it.
    return table_;
  }

 private:
  bool IsInInstruction(NodeId id) const {
    const std::vector<NodeId> loops = LoopsAround(program_, id);
    return std::any_of(loops.begin(), loops.end(), [&](NodeId loop) {
      return program_.nodes[loop].loop_kind == LoopKind::kTensorized;
    });
  }

  Expr Number(int number) const { return Load(table_, DType::kI64, {Int(number)}); }

  Expr PlaceOf(const std::vector<Expr>& indices) const {
    const std::vector<int64_t>& strides = program_.buffers[buffer_].storage.strides;
    Expr row = Int(0), inside = Int(0);
    for (size_t d = 0; d < indices.size(); ++d) {
      if (d >= row_axes_) {
        inside = std::move(inside) + indices[d] * strides[d];
      } else if (request_.numbers[d] < 0) {
        row = std::move(row) + indices[d] * strides[d];
      } else {
        row = std::move(row) + indices[d] * Number(request_.numbers[d]);
      }
    }
    return Min(std::move(row), Number(kLastRow)) + std::move(inside);
  }

  const RunStrides& request_;
  Program& program_;
  const BufferId buffer_;
  const size_t row_axes_;
  BufferId table_ = -1;
};

}  // namespace

std::vector<StridedParameter> ReadByRunStrides(const std::vector<RunStrides>& request,
                                               Program& lowered) {
  std::vector<StridedParameter> read;
  for (const RunStrides& strides : request) {
    Reader reader(strides, lowered);
    if (reader.MayRead()) read.push_back({.parameter = strides.parameter, .table = reader.Read()});
  }
  return read;
}

absl::Status CheckRunStrides(const std::vector<RunStrides>& request, const Program& program) {
  const std::vector<BufferId> parameters = ParametersOf(program);
  std::set<int> seen;
  for (const RunStrides& strides : request) {
    const bool is_there = strides.parameter >= 0 &&
                          strides.parameter < static_cast<int>(parameters.size()) &&
                          seen.insert(strides.parameter).second;
    if (!is_there) {
      return absl::InvalidArgumentError(
          absl::StrCat("got strides of parameter ", strides.parameter, ", which is none or twice"));
    }
    const Buffer& buffer = program.buffers[parameters[strides.parameter]];
    const bool fits = buffer.role == BufferRole::kInput && !strides.numbers.empty() &&
                      strides.numbers.size() < buffer.shape.size() &&
                      SameStorage(buffer.storage, DenseStorage(buffer.shape)) &&
                      std::all_of(
                          strides.numbers.begin(), strides.numbers.end(),
                          [](int number) {
                            return number >= -1 && number != kLastRow && number < kStrideNumbersMax;
                          });
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("got strides that do not fit parameter ", buffer.name));
    }
  }
  return absl::OkStatus();
}

}  // namespace burnish
