#include "compiler/codegen/llvm/tensor_emitter.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/llvm/expr_emitter.h"
#include "compiler/codegen/llvm/memory_emitter.h"
#include "compiler/codegen/llvm/tile_emitter.h"
#include "compiler/ir/access.h"
#include "compiler/ir/number_type.h"
#include "compiler/target/instruction.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace burnish {
namespace {

// ---- C[i] += sum(A[j]) * sum(B[i, j]), j in 2 or 4, with factors converted to the sum's type.

struct FoundNest {
  VarId i = -1, j = -1;
  const Node* store = nullptr;
  const ExprNode* left = nullptr;  // Load of A.
  const ExprNode* rows = nullptr;  // Load of B.
};

// What one iteration of i and of j moves an access by, in elements.
struct Steps {
  int64_t i = 0, j = 0;
  bool operator==(const Steps&) const = default;
};

class DotEmitter {
 public:
  DotEmitter(const Instruction& dot, EmitState& state, ExprEmitter& expressions)
      : dot_(dot), lanes_(dot.n), state_(state), expressions_(expressions), b_(*state.builder) {}

  bool Emit(const Node& loop) {
    if (!Find(loop)) return false;
    for (VarId var : {nest_.i, nest_.j}) state_.vars[var] = {.bound = true};
    MemoryEmitter& memory = expressions_.memory();
    llvm::Value* const left = memory.LoadRow(nest_.left->id, nest_.left->operands, dot_.k);
    llvm::Value* const rows = memory.LoadRow(nest_.rows->id, nest_.rows->operands, dot_.k * lanes_);
    llvm::Value* const old = memory.LoadRow(nest_.store->buffer, nest_.store->indices, lanes_);
    memory.StoreRow(nest_.store->buffer, nest_.store->indices, Sum(old, left, rows));
    for (VarId var : {nest_.i, nest_.j}) state_.vars[var].bound = false;
    return true;
  }

 private:
  llvm::Value* Sum(llvm::Value* old, llvm::Value* left, llvm::Value* rows) {
    switch (dot_.kind) {
      case InstructionKind::kByteDot:
        return AddFour(old, left, rows);
      case InstructionKind::kBf16Dot:
        return AddBfloat16(old, left, rows);
      default:
        return b_.CreateAdd(old, MultiplyAdd(Pairs(left), Widened(rows)));
    }
  }

  bool Find(const Node& outer) {
    // vpdpbusd wants an unsigned factor; others have instructions for two signed ones.
    const bool is_bytes = dot_.kind == InstructionKind::kByteDot;
    if (is_bytes && (state_.dot4_bits < 128 || dot_.left != NumberType::kU8)) return false;
    if (dot_.kind == InstructionKind::kBf16Dot && !state_.small_floats.bf16) return false;
    const auto only_child = [&](const Node& node) -> const Node* {
      return node.children.size() == 1 ? &state_.program->nodes[node.children[0]] : nullptr;
    };
    const Node* const inner = only_child(outer);
    // Each condition is one that the instruction computes something else without. False: the caller
    // emits the nest as loops.
    if (inner == nullptr || inner->kind != NodeKind::kLoop) return false;
    const Node* const store = only_child(*inner);
    if (store == nullptr || store->kind != NodeKind::kStore) return false;
    if (store->combiner != Combiner::kSum || store->value->kind != ExprKind::kMul) return false;
    nest_ = {.i = outer.var, .j = inner->var, .store = store};
    if (!IsInt(state_.program->vars[nest_.i].extent, lanes_) ||
        !IsInt(state_.program->vars[nest_.j].extent, dot_.k) || state_.vector_var >= 0 ||
        state_.mask != nullptr) {
      return false;
    }
    const ExprNode* const first = Factor(store->value->operands[0]);
    const ExprNode* const second = Factor(store->value->operands[1]);
    if (first == nullptr || second == nullptr) return false;
    nest_.left = first;
    nest_.rows = second;
    // The product commutes: either factor may be the one that all sums have.
    if (StepsOf(first->id, first->operands) != Steps{0, 1}) std::swap(nest_.left, nest_.rows);
    return IsOf(dot_.left, nest_.left->dtype) && IsOf(dot_.right, nest_.rows->dtype) &&
           StepsOf(nest_.left->id, nest_.left->operands) == Steps{0, 1} &&
           StepsOf(nest_.rows->id, nest_.rows->operands) == Steps{dot_.k, 1} &&
           StepsOf(store->buffer, store->indices) == Steps{1, 0} &&
           IsOf(dot_.sum, state_.program->buffers[store->buffer].dtype) &&
           state_.buffers[store->buffer].pointer != nullptr &&
           !state_.buffers[store->buffer].read_only;
  }

  // The load that is one factor, converted; null where it is something else.
  const ExprNode* Factor(const Expr& e) const {
    if (e->kind != ExprKind::kCast || !IsOf(dot_.sum, e->dtype)) return nullptr;
    const ExprNode& load = *e->operands[0];
    const bool known = load.kind == ExprKind::kLoad &&
                       (IsOf(dot_.left, load.dtype) || IsOf(dot_.right, load.dtype)) &&
                       state_.buffers[load.id].pointer != nullptr;
    return known ? &load : nullptr;
  }

  std::optional<Steps> StepsOf(BufferId buffer, const std::vector<Expr>& indices) const {
    const Storage& storage = state_.program->buffers[buffer].storage;
    const VarRanges outside = state_.Ranges();
    const LinearForm form = AddressOf(storage, indices, [&](VarId var) -> std::optional<Range> {
      if (var == nest_.i) return Range{0, lanes_ - 1};
      if (var == nest_.j) return Range{0, dot_.k - 1};
      return outside(var);
    });
    const std::optional<int64_t> i = form.StepOf(nest_.i), j = form.StepOf(nest_.j);
    return i.has_value() && j.has_value() ? std::optional(Steps{*i, *j}) : std::nullopt;
  }

  // vdpbf16ps; its vectors of 4 and 8 sums are AVX512-VL's, which `small_floats.bf16` includes.
  llvm::Value* AddBfloat16(llvm::Value* old, llvm::Value* pair, llvm::Value* rows) {
    const llvm::Intrinsic::ID id = lanes_ == 16  ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512
                                   : lanes_ == 8 ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256
                                                 : llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128;
    llvm::Type* const type =
        llvm::FixedVectorType::get(b_.getBFloatTy(), static_cast<unsigned>(2 * lanes_));
    return b_.CreateIntrinsic(
        id, {}, {old, b_.CreateBitCast(InEachLane(pair), type), b_.CreateBitCast(rows, type)});
  }
  llvm::Value* InEachLane(llvm::Value* pair) {
    std::vector<int> lanes;
    for (int lane = 0; lane < lanes_; ++lane) lanes.insert(lanes.end(), {0, 1});
    return b_.CreateShuffleVector(pair, lanes);
  }

  // 16 bits each.
  llvm::Value* Widened(llvm::Value* bytes) {
    return b_.CreateSExt(
        bytes, llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(2 * lanes_)));
  }
  // The pair in each lane.
  llvm::Value* Pairs(llvm::Value* pair) {
    llvm::Type* const type = llvm::FixedVectorType::get(b_.getInt16Ty(), 2);
    llvm::Value* const wide =
        dot_.left == NumberType::kU8 ? b_.CreateZExt(pair, type) : b_.CreateSExt(pair, type);
    return InEachLane(wide);
  }

  // Sums of two neighbouring products each, by as wide instructions as the target has.
  llvm::Value* MultiplyAdd(llvm::Value* a, llvm::Value* b) {
    // pmaddwd multiplies signed 16-bit numbers and adds neighbours in 32 bits, which cannot
    // overflow for widened 8-bit ones: 2 * 255 * 128 < 2^16.
    const int width = std::min(lanes_, state_.integer_vector_bits / 32);
    const llvm::Intrinsic::ID id = width == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                   : width == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                                : llvm::Intrinsic::x86_sse2_pmadd_wd;
    std::vector<llvm::Value*> parts;
    for (int done = 0; done < lanes_; done += width) {
      parts.push_back(
          b_.CreateIntrinsic(id, {}, {Part(a, 2 * done, 2 * width), Part(b, 2 * done, 2 * width)}));
    }
    return Together(std::move(parts));
  }

  // old + sums of four neighbouring products, as vpdpbusd adds them.
  llvm::Value* AddFour(llvm::Value* old, llvm::Value* left, llvm::Value* rows) {
    const int width = std::min(lanes_, state_.dot4_bits / 32);
    const llvm::Intrinsic::ID id = width == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                   : width == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                                : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
    const auto unsigned_lanes = static_cast<unsigned>(lanes_);
    llvm::Value* const four =
        b_.CreateVectorSplat(static_cast<unsigned>(width), b_.CreateBitCast(left, b_.getInt32Ty()));
    llvm::Value* const packed =
        b_.CreateBitCast(rows, llvm::FixedVectorType::get(b_.getInt32Ty(), unsigned_lanes));
    std::vector<llvm::Value*> parts;
    for (int done = 0; done < lanes_; done += width) {
      parts.push_back(
          b_.CreateIntrinsic(id, {}, {Part(old, done, width), four, Part(packed, done, width)}));
    }
    return Together(std::move(parts));
  }

  llvm::Value* Part(llvm::Value* whole, int from, int count) {
    std::vector<int> part(static_cast<size_t>(count));
    std::iota(part.begin(), part.end(), from);
    return b_.CreateShuffleVector(whole, part);
  }

  // A power of two of them.
  llvm::Value* Together(std::vector<llvm::Value*> parts) {
    while (parts.size() > 1) {
      std::vector<llvm::Value*> wider;
      for (size_t p = 0; p < parts.size(); p += 2) wider.push_back(Joined(parts[p], parts[p + 1]));
      parts = std::move(wider);
    }
    return parts[0];
  }

  llvm::Value* Joined(llvm::Value* low, llvm::Value* high) {
    const auto* const type = llvm::cast<llvm::FixedVectorType>(low->getType());
    std::vector<int> all(2 * type->getNumElements());
    std::iota(all.begin(), all.end(), 0);
    return b_.CreateShuffleVector(low, high, all);
  }

  const Instruction& dot_;
  const int lanes_;
  EmitState& state_;
  ExprEmitter& expressions_;
  llvm::IRBuilderBase& b_;
  FoundNest nest_;
};

}  // namespace

bool EmitTensorized(const Node& loop, EmitState& state, ExprEmitter& expressions,
                    TileEmitter& tiles) {
  if (IsTileNest(loop.intrinsic)) {
    return tiles.Emit(static_cast<NodeId>(&loop - state.program->nodes.data()),
                      expressions.memory());
  }
  if (const Instruction* const dot = FindNest(loop.intrinsic); dot != nullptr) {
    return DotEmitter(*dot, state, expressions).Emit(loop);
  }
  state.Fail(absl::StrCat("there is no instruction ", loop.intrinsic));
  return true;
}

}  // namespace burnish
