#include "compiler/codegen/llvm/kernel_emitter.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/numerics.h"
#include "compiler/codegen/llvm/buffer_binder.h"
#include "compiler/codegen/llvm/emit_state.h"
#include "compiler/codegen/llvm/expr_emitter.h"
#include "compiler/codegen/llvm/loop_cuts.h"
#include "compiler/codegen/llvm/memory_emitter.h"
#include "compiler/codegen/llvm/tensor_emitter.h"
#include "compiler/codegen/llvm/tile_emitter.h"
#include "compiler/runtime/kernel_abi.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace burnish {
namespace {

// A schedule that unrolls to more stores than this would take seconds to compile and would not fit
// the instruction cache.
constexpr int64_t kMaxStores = 20000;
// A vectorized loop of more vectors than this stays a loop, which keeps code small. Loops over
// registers are unrolled whatever their length. A choice; not tuned.
constexpr int64_t kMaxUnrolledVectors = 8;

class FunctionEmitter {
 public:
  FunctionEmitter(const Program& program, const KernelLayout& layout,
                  const FunctionOptions& options, llvm::Module& module)
      : program_(program),
        layout_(layout),
        options_(options),
        module_(module),
        b_(module.getContext()),
        expressions_(state_),
        tiles_(tile_plan_, state_) {}

  absl::Status Run();

 private:
  void EmitPhases(NodeId root);
  void EmitParallel(const Node& loop);
  void EmitBarrier();
  void EmitStoreFence();

  void EmitNode(NodeId id);
  void EmitChildren(const Node& node);
  void EmitLoop(const Node& loop);
  void EmitSerial(const Node& loop);
  void EmitUnrolled(const Node& loop, int64_t extent);
  void EmitVectorized(const Node& loop, int64_t extent);
  bool MayMaskTail(const Node& loop, int64_t rest);
  void EmitIf(const Node& node);

  // for (var = first; var < end; ++var) body(var), as a loop at run time.
  void EmitCountedLoop(llvm::Value* first, llvm::Value* end, const std::string& name,
                       const std::function<void(llvm::Value*)>& body);
  // The same of the iterations from `first` to `end` of a loop of `extent`, in pieces (LoopCuts).
  // In each iteration the variable stands for `lanes` values.
  void EmitPieces(const Node& loop, llvm::Value* first, llvm::Value* end, int64_t extent,
                  int64_t lanes, const std::function<void()>& body);
  // if (condition) then() else otherwise()
  void EmitBranch(llvm::Value* condition, const std::function<void()>& then,
                  const std::function<void()>& otherwise);
  void BindConstant(VarId var, int64_t value);
  void BindValue(VarId var, llvm::Value* value, Range range);
  bool UsesRegisters(const Node& loop) const;
  bool RepeatsTile(const Node& loop) const;
  void EmitSchedulingFence();

  const Program& program_;
  const KernelLayout& layout_;
  const FunctionOptions& options_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  EmitState state_;
  ExprEmitter expressions_;
  TilePlan tile_plan_;
  TileEmitter tiles_;
  llvm::Function* function_ = nullptr;
  llvm::Value* context_ = nullptr;
  llvm::Value* worker_ = nullptr;   // i64
  llvm::Value* workers_ = nullptr;  // i64
  int depth_ = 0;
};

absl::Status FunctionEmitter::Run() {
  if (!program_.lowered) return absl::InvalidArgumentError("the program is not lowered");
  const NodeId root = options_.pack ? program_.pack_root : program_.root;
  if (root < 0 || program_.nodes[root].kind != NodeKind::kSeq) {
    return absl::InvalidArgumentError("the program has no root");
  }
  llvm::Type* const i32 = b_.getInt32Ty();
  function_ = llvm::Function::Create(llvm::FunctionType::get(i32, {b_.getPtrTy(), i32, i32}, false),
                                     llvm::GlobalValue::ExternalLinkage, options_.symbol, module_);
  function_->setDoesNotThrow();
  function_->addParamAttr(0, llvm::Attribute::NoUndef);
  b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function_));
  llvm::FastMathFlags flags;
  // Only contract: a * b + c may become one rounding. Reassociation would change sums with each
  // version of LLVM, and the tests of accuracy with them (docs/contracts.md, Numbers).
  flags.setAllowContract();
  const Algorithm* algorithm = FindAlgorithm(program_.numerics.algorithm);
  state_.folds_zeros = algorithm != nullptr && algorithm->folds_zeros;
  // 0 + x is x: lets the first terms of transforms go, which start from a zero.
  if (state_.folds_zeros) flags.setNoSignedZeros();
  b_.setFastMathFlags(flags);

  state_.builder = &b_;
  state_.program = &program_;
  state_.vars.resize(program_.vars.size());
  state_.buffers.resize(program_.buffers.size());
  state_.small_floats = options_.small_floats;
  state_.math = options_.math;
  state_.dot4_bits = options_.dot4_bits;
  state_.integer_vector_bits = options_.integer_vector_bits;
  state_.prefetches_through_l1 = options_.prefetches_through_l1;
  state_.masks_lanes = options_.masks_lanes;
  state_.scopes.resize(1);
  state_.error_flag = b_.CreateAlloca(i32, nullptr, "error");
  b_.CreateStore(b_.getInt32(BURNISH_KERNEL_OK), state_.error_flag);
  context_ = function_->getArg(0);
  worker_ = b_.CreateZExt(function_->getArg(1), b_.getInt64Ty(), "worker");
  workers_ = b_.CreateZExt(function_->getArg(2), b_.getInt64Ty(), "workers");
  tile_plan_ = PlanTiles(program_, root, options_.tiles);
  BindBuffers(layout_, tile_plan_, options_.pack, {context_, worker_}, state_);
  EmitPhases(root);
  b_.CreateRet(b_.CreateLoad(i32, state_.error_flag));
  return state_.status;
}

// The root's children, with a barrier between them unless one worker does both.
void FunctionEmitter::EmitPhases(NodeId root) {
  bool previous_parallel = false;
  const std::vector<NodeId>& children = program_.nodes[root].children;
  for (size_t i = 0; i < children.size(); ++i) {
    const Node& child = program_.nodes[children[i]];
    const bool parallel = child.kind == NodeKind::kLoop && child.loop_kind == LoopKind::kParallel;
    // Two phases of worker 0 alone follow each other without one. In all other cases a phase may
    // read what another worker wrote before.
    if (i > 0 && (parallel || previous_parallel)) EmitBarrier();
    tiles_.BeginPhase(children[i]);
    if (parallel) {
      EmitParallel(child);
    } else {
      EmitBranch(b_.CreateICmpEQ(worker_, b_.getInt64(0)), [&] { EmitNode(children[i]); }, {});
    }
    tiles_.EndPhase(children[i]);
    EmitStoreFence();
    previous_parallel = parallel;
  }
}

// Stores that bypass the caches become visible in no order: what comes after them must wait.
void FunctionEmitter::EmitStoreFence() {
  const bool streams = std::any_of(program_.buffers.begin(), program_.buffers.end(),
                                   [](const Buffer& buffer) { return buffer.streamed; });
  if (streams) b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

void FunctionEmitter::EmitBarrier() {
  llvm::Value* const barrier =
      LoadContextField(b_, context_, offsetof(BurnishKernelContext, barrier), b_.getPtrTy());
  llvm::Value* const argument =
      LoadContextField(b_, context_, offsetof(BurnishKernelContext, barrier_arg), b_.getPtrTy());
  b_.CreateCall(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false), barrier,
                {argument})
      ->setDoesNotThrow();
}

// Contiguous shares: worker w does [w * E / W, (w + 1) * E / W).
void FunctionEmitter::EmitParallel(const Node& loop) {
  const LinearForm extent = ToLinear(program_.vars[loop.var].extent, state_.Ranges());
  if (!extent.terms.empty()) return state_.Fail("a parallel loop's extent is not constant");
  llvm::Value* const total = b_.getInt64(static_cast<uint64_t>(extent.constant));
  const auto bound = [&](llvm::Value* worker) {
    // Shares differ by one at most, for any number of workers, also for more than there are
    // iterations. Contiguous, so that a worker finds in its caches what it wrote in the phase
    // before.
    return b_.CreateUDiv(b_.CreateMul(worker, total), workers_);
  };
  llvm::Value* const first = bound(worker_);
  llvm::Value* const end = bound(b_.CreateAdd(worker_, b_.getInt64(1)));
  EmitPieces(loop, first, end, extent.constant, 1, [&] { EmitChildren(loop); });
}

void FunctionEmitter::BindConstant(VarId var, int64_t value) {
  state_.vars[var] = {.bound = true, .constant = value, .range = {value, value}};
}

void FunctionEmitter::BindValue(VarId var, llvm::Value* value, Range range) {
  state_.vars[var] = {.bound = true, .value = value, .range = range, .depth = depth_};
}

void FunctionEmitter::EmitCountedLoop(llvm::Value* first, llvm::Value* end, const std::string& name,
                                      const std::function<void(llvm::Value*)>& body) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  llvm::BasicBlock* const head = llvm::BasicBlock::Create(context, name, function_);
  llvm::BasicBlock* const after = llvm::BasicBlock::Create(context, name + ".end", function_);
  // Tested at the bottom; at the top only where the loop may be empty.
  llvm::Instruction* const entry = b_.CreateCondBr(b_.CreateICmpSLT(first, end), head, after);
  b_.SetInsertPoint(head);
  llvm::PHINode* const value = b_.CreatePHI(b_.getInt64Ty(), 2, name);
  value->addIncoming(first, before);
  ++depth_;
  state_.scopes.push_back({.depth = depth_, .entry = entry});
  tiles_.Forget();
  body(value);
  tiles_.Forget();
  state_.scopes.pop_back();
  --depth_;
  // No wrap, signed or unsigned: extents are at most 2^31 (the verifier's kExtentMax).
  llvm::Value* const next = b_.CreateAdd(value, b_.getInt64(1), "", true, true);
  value->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), head, after);
  b_.SetInsertPoint(after);
}

void FunctionEmitter::EmitPieces(const Node& loop, llvm::Value* first, llvm::Value* end,
                                 int64_t extent, int64_t lanes, const std::function<void()>& body) {
  const std::string& name = program_.vars[loop.var].name;
  std::vector<int64_t> begins = LoopCuts(program_, loop, extent, lanes, state_.Ranges());
  begins.insert(begins.begin(), 0);
  for (size_t i = 0; i < begins.size(); ++i) {
    const int64_t begin = begins[i];
    const int64_t last = (i + 1 < begins.size() ? begins[i + 1] : extent) - 1;
    llvm::Value* const least = b_.getInt64(static_cast<uint64_t>(begin));
    llvm::Value* const most = b_.getInt64(static_cast<uint64_t>(last + 1));
    // Of a worker's share what lies in the piece.
    llvm::Value* const from =
        i == 0 ? first : b_.CreateSelect(b_.CreateICmpSLT(first, least), least, first);
    llvm::Value* const to =
        i + 1 == begins.size() ? end : b_.CreateSelect(b_.CreateICmpSLT(most, end), most, end);
    if (llvm::isa<llvm::Constant>(first) && begin == last) {
      BindConstant(loop.var, begin * lanes);
      body();
      continue;
    }
    EmitCountedLoop(from, to, name, [&](llvm::Value* value) {
      if (lanes > 1) {
        value = b_.CreateMul(value, b_.getInt64(static_cast<uint64_t>(lanes)), name, true, true);
      }
      BindValue(loop.var, value, {begin * lanes, (last + 1) * lanes - 1});
      body();
    });
  }
  state_.vars[loop.var].bound = false;
}

void FunctionEmitter::EmitBranch(llvm::Value* condition, const std::function<void()>& then,
                                 const std::function<void()>& otherwise) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::BasicBlock* const yes = llvm::BasicBlock::Create(context, "then", function_);
  llvm::BasicBlock* const after = llvm::BasicBlock::Create(context, "after", function_);
  llvm::BasicBlock* const no =
      otherwise ? llvm::BasicBlock::Create(context, "else", function_) : after;
  const auto emit = [&](llvm::BasicBlock* block, const std::function<void()>& body) {
    b_.SetInsertPoint(block);
    // No entry: what is computed in a branch must not be moved before it, where its condition does
    // not hold.
    state_.scopes.push_back({.depth = depth_});
    tiles_.Forget();
    body();
    tiles_.Forget();
    state_.scopes.pop_back();
    b_.CreateBr(after);
  };
  b_.CreateCondBr(condition, yes, no);
  emit(yes, then);
  if (otherwise) emit(no, otherwise);
  b_.SetInsertPoint(after);
}

void FunctionEmitter::EmitChildren(const Node& node) {
  for (NodeId child : node.children) EmitNode(child);
}

void FunctionEmitter::EmitNode(NodeId id) {
  const Node& node = program_.nodes[id];
  if (!state_.status.ok()) return;
  // Checked at each node, not only at the end: an unrolling gone wrong would take all memory first.
  if (state_.store_count > kMaxStores) {
    return state_.Fail(absl::StrCat("unrolls to more than ", kMaxStores, " stores"));
  }
  switch (node.kind) {
    case NodeKind::kSeq:
      return EmitChildren(node);
    case NodeKind::kLoop:
      return EmitLoop(node);
    case NodeKind::kIf:
      return EmitIf(node);
    case NodeKind::kStore:
      tiles_.Forget();
      return expressions_.memory().Store(node);
    case NodeKind::kPrefetch: {
      const auto prefetch = [&] { expressions_.memory().Prefetch(node); };
      if (node.cond == nullptr) return prefetch();
      llvm::Value* const condition = expressions_.AnyLane(expressions_.EmitCondition(node.cond));
      if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
        if (constant->isOne()) prefetch();
        return;
      }
      return EmitBranch(condition, prefetch, {});
    }
    case NodeKind::kBarrier:
      return state_.Fail("a barrier of a GPU's threads");
    default:
      return state_.Fail("the program is not lowered: it has blocks or stages");
  }
}

void FunctionEmitter::EmitLoop(const Node& loop) {
  const std::string& name = program_.vars[loop.var].name;
  const LinearForm extent = ToLinear(program_.vars[loop.var].extent, state_.Ranges());
  const bool constant = extent.terms.empty();
  if (constant && extent.constant <= 0) return;
  switch (loop.loop_kind) {
    case LoopKind::kParallel:
      return state_.Fail(absl::StrCat("loop ", name, " is parallel and not outermost"));
    case LoopKind::kBound:
      return state_.Fail(absl::StrCat("loop ", name, " is bound to a GPU's threads"));
    case LoopKind::kSerial:
      if (constant && extent.constant == 1) return EmitUnrolled(loop, 1);
      return EmitSerial(loop);
    case LoopKind::kUnrolled:
    case LoopKind::kVectorized:
      if (!constant) {
        return state_.Fail(absl::StrCat("loop ", name, " is unrolled or vectorized and its extent ",
                                        "is not constant"));
      }
      if (loop.loop_kind == LoopKind::kUnrolled) return EmitUnrolled(loop, extent.constant);
      return EmitVectorized(loop, extent.constant);
    case LoopKind::kTensorized:
      // A nest that is not of the instruction's form is still a right program: it is emitted as
      // loops.
      if (EmitTensorized(loop, state_, expressions_, tiles_)) return;
      // A nest of rows is long enough without being written out.
      if (!constant || IsTileNest(loop.intrinsic)) return EmitSerial(loop);
      return EmitUnrolled(loop, extent.constant);
  }
}

void FunctionEmitter::EmitSerial(const Node& loop) {
  const Expr& extent = program_.vars[loop.var].extent;
  llvm::Value* const end = expressions_.Emit(extent);
  if (end->getType()->isVectorTy()) {
    return state_.Fail(absl::StrCat("the extent of loop ", program_.vars[loop.var].name,
                                    " differs between the lanes of a vector"));
  }
  const auto range = RangeOf(extent, state_.Ranges());
  if (range.has_value() && range->min == range->max) {
    return EmitPieces(loop, b_.getInt64(0), end, range->max, 1, [&] { EmitChildren(loop); });
  }
  // Half of the range: sums of two such bounds do not wrap in the ranges that are derived from it.
  const int64_t last = range.has_value() ? std::max<int64_t>(range->max - 1, 0) : INT64_MAX / 2;
  EmitCountedLoop(b_.getInt64(0), end, program_.vars[loop.var].name, [&](llvm::Value* value) {
    BindValue(loop.var, value, {0, last});
    EmitChildren(loop);
  });
  state_.vars[loop.var].bound = false;
}

// Whether `loop` repeats whole rows, columns or steps of a register tile: register accumulators are
// updated in a loop inside.
bool FunctionEmitter::RepeatsTile(const Node& loop) const {
  for (NodeId child : loop.children) {
    if (program_.nodes[child].kind != NodeKind::kLoop) continue;
    for (NodeId id : Subtree(program_, child)) {
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::kStore && node.combiner != Combiner::kAssign &&
          state_.buffers[node.buffer].in_registers) {
        return true;
      }
    }
  }
  return false;
}

// No load moves across: LLVM gathers loads from neighbouring addresses, all those of a tile's step,
// where they need registers that a full tile does not have. An empty piece of assembly, which is
// said not to touch the program's memory, so that loads that were done before it stay known.
void FunctionEmitter::EmitSchedulingFence() {
  llvm::FunctionType* const type = llvm::FunctionType::get(b_.getVoidTy(), false);
  llvm::CallInst* const fence =
      b_.CreateCall(llvm::InlineAsm::get(type, "", "", /*hasSideEffects=*/true));
  fence->setDoesNotThrow();
  fence->setOnlyAccessesInaccessibleMemory();
}

void FunctionEmitter::EmitUnrolled(const Node& loop, int64_t extent) {
  const bool fenced = RepeatsTile(loop);
  state_.unrolled.push_back({.node = &loop, .extent = extent});
  for (int64_t i = 0; i < extent && state_.status.ok(); ++i) {
    if (i > 0 && fenced) EmitSchedulingFence();
    BindConstant(loop.var, i);
    EmitChildren(loop);
  }
  state_.unrolled.pop_back();
  state_.vars[loop.var].bound = false;
}

bool FunctionEmitter::UsesRegisters(const Node& loop) const {
  bool uses = false;
  const auto visit = [&](const ExprNode& node) {
    uses = uses || (node.kind == ExprKind::kLoad && state_.buffers[node.id].in_registers);
  };
  for (NodeId child : loop.children) {
    for (NodeId id : Subtree(program_, child)) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::kStore) continue;
      uses = uses || state_.buffers[node.buffer].in_registers;
      VisitExpr(node.value, visit);
    }
  }
  return uses;
}

// Whether the last `rest` of a vectorized loop's iterations, which begin where its variable is
// bound to, become one vector.
bool FunctionEmitter::MayMaskTail(const Node& loop, int64_t rest) {
  if (!state_.masks_lanes || std::has_single_bit(static_cast<uint64_t>(rest))) return false;
  state_.vector_var = loop.var;
  state_.tail = static_cast<int>(rest);
  state_.lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(rest)));
  bool may = true;
  for (NodeId child : loop.children) {
    for (NodeId id : Subtree(program_, child)) {
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::kStore) {
        may = may && expressions_.memory().MayMaskTail(node);
      } else if (node.kind == NodeKind::kLoop) {
        may = may && (node.loop_kind == LoopKind::kSerial || node.loop_kind == LoopKind::kUnrolled);
      } else {
        may = may && node.kind == NodeKind::kSeq;
      }
    }
  }
  state_.vector_var = -1;
  state_.lanes = 1;
  state_.tail = 0;
  return may;
}

// Vectors of `lanes`, then what is left.
void FunctionEmitter::EmitVectorized(const Node& loop, int64_t extent) {
  const std::string& name = program_.vars[loop.var].name;
  if (state_.vector_var >= 0) {
    return state_.Fail(absl::StrCat("vectorized loop ", name, " inside another"));
  }
  if (loop.lanes < 1 || loop.lanes > 64 || !std::has_single_bit<uint32_t>(loop.lanes)) {
    return state_.Fail(
        absl::StrCat("loop ", name, " has ", loop.lanes, " lanes, want a power of two up to 64"));
  }
  const int64_t lanes = loop.lanes;
  int64_t done = 0;
  const bool fenced = RepeatsTile(loop);
  const auto with_lanes = [&](int64_t count) {
    if (done > 0 && fenced) EmitSchedulingFence();
    state_.vector_var = count > 1 ? loop.var : -1;
    state_.lanes = static_cast<int>(count);
    EmitChildren(loop);
    state_.vector_var = -1;
    state_.lanes = 1;
  };
  // Register arrays need constant indices, and so does every loop that touches them.
  if (extent / lanes > kMaxUnrolledVectors && !UsesRegisters(loop)) {
    const int64_t vectors = extent / lanes;
    EmitPieces(loop, b_.getInt64(0), b_.getInt64(static_cast<uint64_t>(vectors)), vectors, lanes,
               [&] { with_lanes(lanes); });
    done = vectors * lanes;
  }
  // 15 lanes of 16 become 16 of which one is left out, where the target does that and the loop
  // allows it; else 8, 4, 2 and 1: no lane is computed twice, nothing is read beyond the row, and
  // no mask is needed.
  for (int64_t width = lanes; done < extent && state_.status.ok();) {
    const int64_t rest = extent - done;
    BindConstant(loop.var, done);
    if (rest < lanes && MayMaskTail(loop, rest)) {
      state_.tail = static_cast<int>(rest);
      with_lanes(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rest))));
      state_.tail = 0;
      break;
    }
    while (width > rest) width /= 2;
    with_lanes(width);
    done += width;
  }
  state_.vars[loop.var].bound = false;
}

void FunctionEmitter::EmitIf(const Node& node) {
  llvm::Value* const condition = expressions_.EmitCondition(node.cond);
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (constant->isOne()) return EmitNode(node.children[0]);
    if (node.children.size() > 1) EmitNode(node.children[1]);
    return;
  }
  if (condition->getType()->isVectorTy()) {
    // Lanes may go different ways, and stores have no mask.
    expressions_.memory().ForEachLane([&](int) { EmitIf(node); });
    return;
  }
  std::function<void()> otherwise;
  if (node.children.size() > 1) otherwise = [&] { EmitNode(node.children[1]); };
  EmitBranch(condition, [&] { EmitNode(node.children[0]); }, otherwise);
}

// Where a register array's row ends in a part of a vector that is more than one of halving width,
// lanes follow that are no other row's.
Program WithWholeRows(Program program) {
  for (Buffer& buffer : program.buffers) {
    if (buffer.scope != Scope::kRegister || buffer.shape.size() < 2) continue;
    if (buffer.storage.strides != DenseStorage(buffer.shape).strides) continue;
    std::vector<int64_t> shape = buffer.shape;
    const int64_t rest = shape.back() % kRegisterRowLanes;
    if (std::popcount(static_cast<uint64_t>(rest)) < 2) continue;
    shape.back() += kRegisterRowLanes - rest;
    buffer.storage.strides = DenseStorage(shape).strides;
  }
  return program;
}

}  // namespace

absl::Status EmitFunction(const Program& program, const KernelLayout& layout,
                          const FunctionOptions& options, llvm::Module& module) {
  if (!options.masks_lanes) return FunctionEmitter(program, layout, options, module).Run();
  const Program whole_rows = WithWholeRows(program);
  return FunctionEmitter(whole_rows, layout, options, module).Run();
}

}  // namespace burnish
