#include "compiler/codegen/llvm/memory_emitter.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/llvm/expr_emitter.h"
#include "compiler/ir/expr_kinds.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace burnish {
namespace {

llvm::Type* Widened(llvm::Type* type, int width) {
  return width == 1 ? type : llvm::FixedVectorType::get(type, width);
}

}  // namespace

void MemoryEmitter::ForEachLane(const std::function<void(int lane)>& emit) {
  const VarId var = std::exchange(state_.vector_var, -1);
  const int lanes = std::exchange(state_.lanes, 1);
  const VarBinding base = state_.vars[var];
  llvm::Value* const mask = state_.mask;
  const bool outer_lane = std::exchange(state_.single_lane, true);
  llvm::IRBuilderBase& b = *state_.builder;
  for (int lane = 0; lane < lanes; ++lane) {
    VarBinding& binding = state_.vars[var];
    binding = base;
    if (base.value != nullptr) {
      binding.value = b.CreateAdd(base.value, b.getInt64(lane), "", true, true);
    } else {
      binding.constant = base.constant + lane;
    }
    if (mask != nullptr && mask->getType()->isVectorTy()) {
      state_.mask = b.CreateExtractElement(mask, lane);
    }
    emit(lane);
  }
  state_.vars[var] = base;
  state_.vector_var = var;
  state_.lanes = lanes;
  state_.mask = mask;
  state_.single_lane = outer_lane;
}

llvm::Value* MemoryEmitter::LaneByLane(DType type, const std::function<llvm::Value*()>& emit) {
  llvm::Value* vector =
      llvm::PoisonValue::get(Widened(expressions_.ScalarType(type), state_.lanes));
  ForEachLane([&](int lane) {
    vector = state_.builder->CreateInsertElement(vector, emit(), static_cast<uint64_t>(lane));
  });
  return vector;
}

void MemoryEmitter::Annotate(llvm::Instruction* access, BufferId buffer) const {
  const BufferBinding& binding = state_.buffers[buffer];
  if (binding.scope != nullptr)
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, binding.scope);
  if (binding.not_aliased != nullptr) {
    access->setMetadata(llvm::LLVMContext::MD_noalias, binding.not_aliased);
  }
  if (binding.read_only && llvm::isa<llvm::LoadInst>(access)) {
    access->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(access->getContext(), {}));
  }
}

llvm::Value* MemoryEmitter::LoadVector(BufferId buffer, const LinearForm& first, int width) {
  llvm::IRBuilderBase& b = *state_.builder;
  const DType dtype = state_.program->buffers[buffer].dtype;
  const bool guarded = state_.mask != nullptr && !state_.buffers[buffer].in_registers;
  llvm::Value* const guard = guarded ? expressions_.AnyLane(state_.mask) : nullptr;
  llvm::Value* const pointer = addresses_.Pointer(buffer, first, guard);
  const llvm::Align alignment(guarded ? static_cast<uint64_t>(SizeBytes(dtype))
                                      : addresses_.Alignment(buffer, first));
  return FromMemory(b.CreateAlignedLoad(Widened(MemoryType(b, dtype), width), pointer, alignment),
                    buffer);
}

// What was loaded, as a value.
llvm::Value* MemoryEmitter::FromMemory(llvm::Instruction* load, BufferId buffer) const {
  Annotate(load, buffer);
  if (state_.program->buffers[buffer].dtype != DType::kBool) return load;
  return state_.builder->CreateICmpNE(load, llvm::Constant::getNullValue(load->getType()));
}

llvm::Value* MemoryEmitter::LoadNeighbours(BufferId buffer, const LinearForm& first,
                                           const LaneVector& vector) {
  llvm::Value* mask = state_.buffers[buffer].in_registers ? nullptr : LaneMask();
  if (mask == nullptr) return LoadVector(buffer, first, static_cast<int>(vector.width));
  llvm::IRBuilderBase& b = *state_.builder;
  const DType dtype = state_.program->buffers[buffer].dtype;
  llvm::Type* const type = Widened(MemoryType(b, dtype), state_.lanes);
  if (!vector.place_of.empty()) {
    // By element: the lane that has it; the number of lanes: none.
    std::vector<int> lane_of(vector.place_of.size(), state_.lanes);
    for (int lane = 0; lane < state_.lanes; ++lane) {
      const int place = vector.place_of[static_cast<size_t>(lane)];
      if (place >= 0) lane_of[static_cast<size_t>(place)] = lane;
    }
    mask = b.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), lane_of);
  }
  // Only the lanes that are read lie in the buffer. Without a condition the first one does.
  llvm::Value* const pointer = state_.mask == nullptr ? addresses_.Pointer(buffer, first)
                                                      : addresses_.PointerAnywhere(buffer, first);
  const llvm::Align alignment(static_cast<uint64_t>(SizeBytes(dtype)));
  return FromMemory(
      b.CreateMaskedLoad(type, pointer, alignment, mask, llvm::Constant::getNullValue(type)),
      buffer);
}

llvm::Value* MemoryEmitter::TailMask() const {
  std::vector<llvm::Constant*> lanes;
  for (int lane = 0; lane < state_.lanes; ++lane) {
    lanes.push_back(state_.builder->getInt1(lane < state_.tail));
  }
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* MemoryEmitter::LaneMask() {
  llvm::Value* const tail = state_.tail == 0 ? nullptr : TailMask();
  if (state_.mask == nullptr) return tail;
  llvm::Value* const mask = expressions_.ToVector(state_.mask);
  return tail == nullptr ? mask : state_.builder->CreateAnd(mask, tail);
}

bool MemoryEmitter::EndsRow(BufferId buffer, const std::vector<Expr>& indices) {
  const Buffer& array = state_.program->buffers[buffer];
  if (indices.empty() || array.storage.strides.back() != 1) return false;
  const LinearForm column = ToLinear(indices.back(), state_.Ranges());
  const bool by_lane = column.StepOf(state_.vector_var) == 1 && column.terms.size() == 1;
  const int64_t first = column.constant + state_.vars[state_.vector_var].constant;
  if (!by_lane || first + state_.tail != array.shape.back()) return false;
  // Behind the last row, and behind an array of one, there are so many more (buffer_binder.cc).
  const int64_t room = indices.size() > 1 ? array.storage.strides[indices.size() - 2]
                                          : array.shape.back() + kRegisterRowLanes - 1;
  return first + state_.lanes <= room;
}

bool MemoryEmitter::MayMaskTail(const Node& store) {
  const auto is_row = [&](BufferId buffer, const std::vector<Expr>& indices) {
    return addresses_.Of(buffer, indices).step == 1 &&
           (!state_.buffers[buffer].in_registers || EndsRow(buffer, indices));
  };
  const Buffer& written = state_.program->buffers[store.buffer];
  const bool in_registers = state_.buffers[store.buffer].in_registers;
  // What is read again soon would wait for the store: a vector that is written in part is not
  // forwarded. And there is no such store past the caches.
  if (!in_registers && (written.role != BufferRole::kOutput || written.streamed ||
                        store.combiner != Combiner::kAssign)) {
    return false;
  }
  bool may = IsFloat(written.dtype) && is_row(store.buffer, store.indices);
  VisitExpr(store.value, [&](const ExprNode& node) {
    // What could be an error in a lane without an element; and where nothing says that the other
    // stores of a temporary were whole vectors.
    if (node.kind == ExprKind::kTable || node.kind == ExprKind::kBoundsCheck) may = false;
    if (DividesIntegers(node.kind) && !IsFloat(node.dtype)) may = false;
    if (node.kind != ExprKind::kLoad || !may) return;
    const Buffer& read = state_.program->buffers[node.id];
    const bool from_memory = !state_.buffers[node.id].in_registers;
    may = IsFloat(read.dtype) && !(from_memory && read.role == BufferRole::kTemp) &&
          (is_row(node.id, node.operands) || addresses_.Of(node.id, node.operands).step == 0);
  });
  return may;
}

llvm::Value* MemoryEmitter::Load(const Expr& load) {
  const BufferId buffer = load->id;
  if (state_.buffers[buffer].pointer == nullptr) {
    state_.Fail(absl::StrCat("buffer ", state_.program->buffers[buffer].name,
                             " is not there in this function"));
    return llvm::UndefValue::get(expressions_.ScalarType(load->dtype));
  }
  const LaneAddress address = addresses_.Of(buffer, load->operands);
  // From the cheapest form on: one scalar for all lanes, one vector, a few vectors, lane by lane.
  // No gather is emitted; whether one would be faster was not measured.
  if (address.step == 0) return LoadVector(buffer, address.first, 1);
  if (address.step == 1) return LoadNeighbours(buffer, address.first, {.width = state_.lanes});
  if (llvm::Value* const vector = LoadApart(load, address)) return vector;
  return LaneByLane(load->dtype, [&] { return Load(load); });
}

void MemoryEmitter::StoreAt(BufferId buffer, const LinearForm& form, llvm::Value* value) {
  llvm::IRBuilderBase& b = *state_.builder;
  if (state_.program->buffers[buffer].dtype == DType::kBool) {
    llvm::Type* type = b.getInt8Ty();
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType())) {
      type = Widened(type, static_cast<int>(vector->getNumElements()));
    }
    value = b.CreateZExt(value, type);
  }
  if (state_.tail != 0 && value->getType()->isVectorTy() && !state_.buffers[buffer].in_registers) {
    const auto element = static_cast<uint64_t>(SizeBytes(state_.program->buffers[buffer].dtype));
    Annotate(b.CreateMaskedStore(value, addresses_.Pointer(buffer, form), llvm::Align(element),
                                 TailMask()),
             buffer);
    ++state_.store_count;
    return;
  }
  const uint64_t alignment = addresses_.Alignment(buffer, form);
  llvm::StoreInst* const store =
      b.CreateAlignedStore(value, addresses_.Pointer(buffer, form), llvm::Align(alignment));
  Annotate(store, buffer);
  // Of whole aligned vectors, as the instruction wants it.
  const auto vector_bytes =
      static_cast<uint64_t>(state_.lanes * SizeBytes(state_.program->buffers[buffer].dtype));
  if (state_.program->buffers[buffer].streamed && value->getType()->isVectorTy() &&
      alignment >= vector_bytes) {
    store->setMetadata(
        llvm::LLVMContext::MD_nontemporal,
        llvm::MDNode::get(store->getContext(), llvm::ConstantAsMetadata::get(b.getInt32(1))));
  }
  ++state_.store_count;
}

// One scalar or one vector of neighbours.
void MemoryEmitter::StoreOne(const Node& store, const LaneAddress& address) {
  llvm::Value* value;
  const bool vector = address.step == 1;
  if (store.combiner == Combiner::kAssign) {
    value = expressions_.EmitStatement(store.value);
  } else {
    llvm::Value* const old = LoadVector(store.buffer, address.first, vector ? state_.lanes : 1);
    value = expressions_.EmitCombine(store.combiner, old, store.value);
    if (value == old) return;
  }
  if (vector) {
    value = expressions_.ToVector(value);
  } else if (value->getType()->isVectorTy()) {
    value = state_.builder->CreateExtractElement(value, static_cast<uint64_t>(state_.lanes - 1));
  }
  StoreAt(store.buffer, address.first, value);
}

void MemoryEmitter::StoreLanes(const Node& store) {
  if (store.combiner != Combiner::kAssign) {
    ForEachLane([&](int) { StoreOne(store, addresses_.Of(store.buffer, store.indices)); });
    return;
  }
  llvm::Value* const value = expressions_.EmitStatement(store.value);
  ForEachLane([&](int lane) {
    const LaneAddress address = addresses_.Of(store.buffer, store.indices);
    llvm::Value* const element =
        value->getType()->isVectorTy()
            ? state_.builder->CreateExtractElement(value, static_cast<uint64_t>(lane))
            : value;
    StoreAt(store.buffer, address.first, element);
  });
}

// All lanes into one element, as a tree: the upper half of the lanes into the lower, until one is
// left.
void MemoryEmitter::StoreReduced(const Node& store, const LaneAddress& address) {
  llvm::IRBuilderBase& b = *state_.builder;
  const DType type = store.value->dtype;
  llvm::Value* value = expressions_.ToVector(expressions_.EmitStatement(store.value));
  for (int width = state_.lanes / 2; width > 1; width /= 2) {
    std::vector<int> lower(static_cast<size_t>(width)), upper(lower.size());
    std::iota(lower.begin(), lower.end(), 0);
    std::iota(upper.begin(), upper.end(), width);
    value = expressions_.Combine(store.combiner, type, b.CreateShuffleVector(value, lower),
                                 b.CreateShuffleVector(value, upper));
  }
  value = expressions_.Combine(store.combiner, type, b.CreateExtractElement(value, uint64_t{0}),
                               b.CreateExtractElement(value, uint64_t{1}));
  llvm::Value* const old = LoadVector(store.buffer, address.first, 1);
  StoreAt(store.buffer, address.first, expressions_.Combine(store.combiner, type, old, value));
}

void MemoryEmitter::Store(const Node& store) {
  const BufferBinding& binding = state_.buffers[store.buffer];
  if (binding.pointer == nullptr || binding.read_only) {
    state_.Fail(absl::StrCat("buffer ", state_.program->buffers[store.buffer].name,
                             " is not writable in this function"));
    return;
  }
  const LaneAddress address = addresses_.Of(store.buffer, store.indices);
  if (state_.lanes > 1 && address.step == 0 && store.combiner != Combiner::kAssign) {
    StoreReduced(store, address);
  } else if (address.step == 0 || address.step == 1) {
    StoreOne(store, address);
  } else {
    StoreLanes(store);
  }
}

void MemoryEmitter::Prefetch(const Node& prefetch) {
  llvm::IRBuilderBase& b = *state_.builder;
  const LaneAddress address = addresses_.Of(prefetch.buffer, prefetch.indices);
  // A prefetch may reach past the end.
  llvm::Value* const pointer = addresses_.PointerAnywhere(prefetch.buffer, address.first);
  constexpr int kRead = 0, kData = 1;
  constexpr int kT0 = 3, kT1 = 2;  // LLVM's "locality": prefetcht0, prefetcht1.
  const bool into_l1 = prefetch.cache_level == 1 || state_.prefetches_through_l1;
  b.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {pointer->getType()},
      {pointer, b.getInt32(kRead), b.getInt32(into_l1 ? kT0 : kT1), b.getInt32(kData)});
}

}  // namespace burnish
