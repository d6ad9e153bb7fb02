#include "compiler/codegen/llvm/memory_emitter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/llvm/expr_emitter.h"
#include "compiler/codegen/llvm/square_transpose.h"
#include "compiler/ir/access.h"
#include "compiler/ir/expr_kinds.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace burnish {
namespace {

llvm::Type* MemoryType(llvm::IRBuilderBase& b, DType type) {
  switch (type) {
    case DType::kF32:
      return b.getFloatTy();
    case DType::kF64:
      return b.getDoubleTy();
    default:
      return b.getIntNTy(static_cast<unsigned>(SizeBytes(type)) * 8);
  }
}

llvm::Type* Widened(llvm::Type* type, int width) {
  return width == 1 ? type : llvm::FixedVectorType::get(type, width);
}

void AppendNumber(int64_t number, std::string& key) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Appends what tells `e` from every other index expression. False when its value may differ from
// one place to another, or when it must not be computed where it is not asked for.
bool AppendKey(const Expr& e, std::string& key) {
  key.push_back(static_cast<char>(e->kind));
  AppendNumber(e->kind == ExprKind::kVar ? e->id : e->int_value, key);
  bool movable = IsUnary(e->kind) || IsBinary(e->kind) || e->kind == ExprKind::kVar ||
                 e->kind == ExprKind::kIntImm || e->kind == ExprKind::kSelect;
  // A division by anything but a constant may record a data error.
  if (e->kind == ExprKind::kDiv || e->kind == ExprKind::kFloorDiv || e->kind == ExprKind::kMod) {
    movable = movable && IsConstInt(e->operands[1]) && e->operands[1]->int_value > 0;
  }
  for (const Expr& operand : e->operands) movable = AppendKey(operand, key) && movable;
  return movable && !IsFloat(e->dtype);
}

// Appends what tells the form's terms from all others. False: as for an expression.
bool AppendKey(const LinearForm& form, std::string& key) {
  bool movable = true;
  for (const auto& [atom, coefficient] : form.terms) {
    AppendNumber(coefficient, key);
    movable = AppendKey(atom, key) && movable;
  }
  return movable;
}

// Whether all iterations of a loop that is written out load alike: nothing in the loop is decided
// by the loop's variable.
bool IsUniform(const Program& program, const Node& loop) {
  const auto decides = [&](const Expr& e) {
    const std::vector<VarId> vars = FreeVars(ExpandDefs(program, e));
    return std::find(vars.begin(), vars.end(), loop.var) != vars.end();
  };
  bool uniform = true;
  for (NodeId child : loop.children) {
    for (NodeId id : Subtree(program, child)) {
      const Node& node = program.nodes[id];
      if (node.kind == NodeKind::kIf) uniform = uniform && !decides(node.cond);
      if (node.kind == NodeKind::kLoop) {
        uniform = uniform && !decides(program.vars[node.var].extent);
      }
      if (node.kind != NodeKind::kStore) continue;
      VisitExpr(node.value, [&](const ExprNode& e) {
        if (e.kind == ExprKind::kSelect) uniform = uniform && !decides(e.operands[0]);
      });
    }
  }
  return uniform;
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

MemoryEmitter::Address MemoryEmitter::AddressOf(BufferId buffer, const std::vector<Expr>& indices) {
  const Storage& storage = state_.program->buffers[buffer].storage;
  Expr flat = Int(storage.offset);
  for (size_t d = 0; d < indices.size(); ++d) flat = flat + indices[d] * storage.strides[d];
  Address address{.form = ToLinear(flat, state_.Ranges())};
  if (state_.lanes == 1) return address;
  const VarId var = state_.vector_var;
  const std::optional<int64_t> step = address.form.StepOf(var);
  address.lanes_unrelated = !step.has_value();
  address.lane_stride = step.value_or(0);
  // A constant base becomes part of the constant, so that the access needs no register.
  const VarBinding& base = state_.vars[var];
  if (address.lane_stride != 0 && base.value == nullptr) {
    address.form.constant += address.lane_stride * base.constant;
    auto& terms = address.form.terms;
    terms.erase(std::remove_if(terms.begin(), terms.end(),
                               [&](const auto& term) {
                                 return term.first->kind == ExprKind::kVar && term.first->id == var;
                               }),
                terms.end());
  }
  return address;
}

// The atoms' sum without the constant; the vectorized variable stands for its first lane.
llvm::Value* MemoryEmitter::IndexValue(const LinearForm& form) {
  llvm::IRBuilderBase& b = *state_.builder;
  const int lanes = std::exchange(state_.lanes, 1);
  llvm::Value* sum = b.getInt64(form.constant);
  for (const auto& [atom, coefficient] : form.terms) {
    sum = b.CreateAdd(sum, b.CreateMul(expressions_.Emit(atom), b.getInt64(coefficient)));
  }
  state_.lanes = lanes;
  return sum;
}

// The pointer plus so many elements, where all variables of `part` are bound in loops of at most
// `depth`. Computed once, before the first loop that it does not depend on.
llvm::Value* MemoryEmitter::Advance(BufferId buffer, llvm::Value* pointer, const LinearForm& part,
                                    int depth) {
  llvm::IRBuilderBase& b = *state_.builder;
  llvm::Type* const type = MemoryType(b, state_.program->buffers[buffer].dtype);
  std::string key(reinterpret_cast<const char*>(&pointer), sizeof(pointer));
  const bool movable = AppendKey(part, key) && !state_.single_lane;
  if (!movable) return b.CreateInBoundsGEP(type, pointer, IndexValue(part));
  size_t inside = 1;  // The first scope that is too deep.
  while (inside < state_.scopes.size() &&
         (state_.scopes[inside].entry == nullptr || state_.scopes[inside].depth <= depth)) {
    ++inside;
  }
  for (size_t i = 0; i < inside; ++i) {
    const auto found = state_.scopes[i].values.find(key);
    if (found != state_.scopes[i].values.end()) return found->second;
  }
  const llvm::IRBuilderBase::InsertPointGuard restore(b);
  if (inside < state_.scopes.size()) b.SetInsertPoint(state_.scopes[inside].entry);
  llvm::Value* const moved = b.CreateInBoundsGEP(type, pointer, IndexValue(part));
  state_.scopes[inside - 1].values.emplace(std::move(key), moved);
  return moved;
}

// `guard` (i1): where it is false the pointer is that of the allocation's start.
llvm::Value* MemoryEmitter::Pointer(BufferId buffer, const LinearForm& form, llvm::Value* guard) {
  llvm::IRBuilderBase& b = *state_.builder;
  const BufferBinding& binding = state_.buffers[buffer];
  llvm::Type* const type = MemoryType(b, state_.program->buffers[buffer].dtype);
  if (guard != nullptr) {
    llvm::Value* const index = b.CreateSelect(guard, IndexValue(form), b.getInt64(0));
    return b.CreateInBoundsGEP(type, binding.pointer, index);
  }
  if (binding.in_registers && !form.terms.empty()) {
    state_.Fail(absl::StrCat("register buffer ", state_.program->buffers[buffer].name,
                             " has an index that is not constant after unrolling"));
  }
  // From the outermost loop to the innermost, the constant last: what does not change in a loop is
  // added before it, and neighbouring accesses differ by a displacement only. Terms that cannot be
  // moved come last: a sum that was moved before a loop cannot use a value from inside it.
  std::map<int, LinearForm> by_depth;
  for (const auto& term : form.terms) {
    std::string key;
    int depth = AppendKey(term.first, key) ? 0 : std::numeric_limits<int>::max();
    for (VarId var : FreeVars(term.first)) depth = std::max(depth, state_.vars[var].depth);
    by_depth[depth].terms.push_back(term);
  }
  llvm::Value* pointer = binding.pointer;
  for (const auto& [depth, part] : by_depth) pointer = Advance(buffer, pointer, part, depth);
  if (form.constant == 0) return pointer;
  return b.CreateInBoundsGEP(type, pointer, b.getInt64(form.constant));
}

int64_t MemoryEmitter::AlignmentOf(BufferId buffer, const LinearForm& form) const {
  const int64_t size = SizeBytes(state_.program->buffers[buffer].dtype);
  int64_t bytes = state_.buffers[buffer].alignment_bytes;
  bytes = std::gcd(bytes, form.constant * size);
  for (const auto& [atom, coefficient] : form.terms) {
    int64_t step = coefficient * size;
    // The first lane of a vector loop is a multiple of its lanes.
    if (state_.lanes > 1 && atom->kind == ExprKind::kVar && atom->id == state_.vector_var) {
      step *= state_.lanes;
    }
    bytes = std::gcd(bytes, step);
  }
  return bytes;
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

llvm::Value* MemoryEmitter::LoadAt(BufferId buffer, const Address& address, int width) {
  llvm::IRBuilderBase& b = *state_.builder;
  const DType dtype = state_.program->buffers[buffer].dtype;
  llvm::Value* guard = state_.mask;
  if (guard != nullptr && !state_.buffers[buffer].in_registers) {
    guard = expressions_.AnyLane(guard);
  } else {
    guard = nullptr;
  }
  llvm::Value* const pointer = Pointer(buffer, address.form, guard);
  const int64_t alignment = guard != nullptr ? SizeBytes(dtype) : AlignmentOf(buffer, address.form);
  llvm::LoadInst* const load = b.CreateAlignedLoad(Widened(MemoryType(b, dtype), width), pointer,
                                                   llvm::Align(static_cast<uint64_t>(alignment)));
  Annotate(load, buffer);
  if (dtype != DType::kBool) return load;
  return b.CreateICmpNE(load, llvm::Constant::getNullValue(load->getType()));
}

// A vector of neighbours. Under a mask those that are the lanes `lane_of` alone are read: the
// others, and lanes that are off, may lie outside of the buffer.
llvm::Value* MemoryEmitter::LoadNeighbours(BufferId buffer, const Address& address,
                                           const std::vector<int>& lane_of) {
  llvm::Value* mask = state_.buffers[buffer].in_registers ? nullptr : LaneMask();
  if (mask == nullptr) return LoadAt(buffer, address, state_.lanes);
  llvm::IRBuilderBase& b = *state_.builder;
  const DType dtype = state_.program->buffers[buffer].dtype;
  llvm::Type* const type = Widened(MemoryType(b, dtype), state_.lanes);
  if (!lane_of.empty()) {
    mask = b.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), lane_of);
  }
  // Address arithmetic without inbounds: only the lanes that are read lie in the buffer. Without a
  // condition the first one does.
  llvm::Value* const pointer =
      state_.mask == nullptr ? Pointer(buffer, address.form, nullptr)
                             : b.CreateGEP(MemoryType(b, dtype), state_.buffers[buffer].pointer,
                                           IndexValue(address.form));
  llvm::CallInst* const load =
      b.CreateMaskedLoad(type, pointer, llvm::Align(static_cast<uint64_t>(SizeBytes(dtype))), mask,
                         llvm::Constant::getNullValue(type));
  Annotate(load, buffer);
  if (dtype != DType::kBool) return load;
  return b.CreateICmpNE(load, llvm::Constant::getNullValue(load->getType()));
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
  const auto is_row = [&](BufferId buffer, const std::vector<Expr>& indices, bool may_be_one) {
    const Address address = AddressOf(buffer, indices);
    if (address.lanes_unrelated || address.lane_stride < 0 || address.lane_stride > 1) return false;
    if (address.lane_stride == 0) return may_be_one;
    return !state_.buffers[buffer].in_registers || EndsRow(buffer, indices);
  };
  const Buffer& written = state_.program->buffers[store.buffer];
  const bool in_registers = state_.buffers[store.buffer].in_registers;
  // What is read again soon would wait for the store: a vector that is written in part is not
  // forwarded. And there is no such store past the caches.
  if (!in_registers && (written.role != BufferRole::kOutput || written.streamed ||
                        store.combiner != Combiner::kAssign)) {
    return false;
  }
  bool may = IsFloat(written.dtype) && is_row(store.buffer, store.indices, /*may_be_one=*/false);
  VisitExpr(store.value, [&](const ExprNode& node) {
    // What could be an error in a lane without an element; and where nothing says that the other
    // stores of a temporary were whole vectors.
    if (node.kind == ExprKind::kTable || node.kind == ExprKind::kBoundsCheck) may = false;
    if (DividesIntegers(node.kind) && !IsFloat(node.dtype)) may = false;
    if (node.kind != ExprKind::kLoad || !may) return;
    const Buffer& read = state_.program->buffers[node.id];
    const bool from_memory = !state_.buffers[node.id].in_registers;
    may = IsFloat(read.dtype) && !(from_memory && read.role == BufferRole::kTemp) &&
          is_row(node.id, node.operands, /*may_be_one=*/true);
  });
  return may;
}

llvm::Value* MemoryEmitter::LoadBySteps(BufferId buffer, const Address& address) {
  llvm::IRBuilderBase& b = *state_.builder;
  const int lanes = state_.lanes;
  const bool forwards = address.lane_stride > 0;
  const int64_t step = std::abs(address.lane_stride);
  // Elements from the first in memory, which backwards is the last lane's, to the last one.
  const int64_t span = (lanes - 1) * step + 1;
  const int64_t vectors = CountOfSteps(step, lanes);
  if (vectors == 0 || state_.buffers[buffer].in_registers) return nullptr;
  const int64_t origin = address.form.constant - (forwards ? 0 : span - 1);
  llvm::Value* whole = nullptr;
  std::vector<int> where(static_cast<size_t>(lanes), -1);  // Of each lane in `whole`; -1: not yet.
  for (int64_t i = 0; i < vectors; ++i) {
    // The last vector ends with the last element: nothing behind it is read.
    const int64_t from = std::min(i * lanes, span - lanes);
    std::vector<int> lane_of(static_cast<size_t>(lanes), lanes);  // `lanes`: of none.
    std::vector<int> merge = where;
    for (int lane = 0; lane < lanes; ++lane) {
      const int64_t place = (forwards ? lane : lanes - 1 - lane) * step - from;
      if (where[lane] >= 0 || place < 0 || place >= lanes) continue;
      lane_of[static_cast<size_t>(place)] = lane;
      merge[lane] = static_cast<int>(place) + (i == 0 ? 0 : lanes);
    }
    Address part{.form = address.form};
    part.form.constant = origin + from;
    llvm::Value* const vector = LoadNeighbours(buffer, part, lane_of);
    whole = i == 0 ? vector : b.CreateShuffleVector(whole, vector, merge);
    for (int lane = 0; lane < lanes; ++lane)
      where[lane] = i == 0 || merge[lane] < 0 ? merge[lane] : lane;
  }
  return vectors > 1 ? whole : b.CreateShuffleVector(whole, where);
}

llvm::Value* MemoryEmitter::LoadRuns(BufferId buffer, const std::vector<Expr>& indices) {
  const VarId var = state_.vector_var;
  const VarBinding base = state_.vars[var];
  if (base.value != nullptr || state_.mask != nullptr || state_.buffers[buffer].in_registers) {
    return nullptr;
  }
  // The lanes' places, in elements from the first lane's.
  const int lanes = state_.lanes;
  std::vector<Address> addresses;
  std::vector<int64_t> places;
  ForEachLane([&](int) { addresses.push_back(AddressOf(buffer, indices)); });
  for (const Address& address : addresses) {
    if (!HaveSameTerms(address.form, addresses[0].form)) return nullptr;
    places.push_back(address.form.constant - addresses[0].form.constant);
  }
  std::vector<int> order(lanes);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return places[a] < places[b]; });
  struct Run {
    int first_lane;
    int64_t from, to;  // Places, both inclusive.
  };
  std::vector<Run> runs;
  for (int lane : order) {
    if (runs.empty() || places[lane] > runs.back().to + 1) {
      runs.push_back({lane, places[lane], places[lane]});
    }
    runs.back().to = places[lane];
  }
  if (!LoadsPay(static_cast<int64_t>(runs.size()), lanes)) return nullptr;
  llvm::IRBuilderBase& b = *state_.builder;
  llvm::Value* whole = nullptr;
  for (const Run& run : runs) {
    llvm::Value* part = nullptr;
    ForEachLane([&](int lane) {
      if (lane != run.first_lane) return;
      part = LoadAt(buffer, addresses[lane], static_cast<int>(run.to - run.from + 1));
    });
    if (!part->getType()->isVectorTy()) part = b.CreateVectorSplat(1, part);
    std::vector<int> widen(lanes, -1), merge(lanes);
    for (int lane = 0; lane < lanes; ++lane) {
      const bool inside = places[lane] >= run.from && places[lane] <= run.to;
      if (inside) widen[lane] = static_cast<int>(places[lane] - run.from);
      merge[lane] = inside ? lanes + lane : lane;
    }
    part = b.CreateShuffleVector(part, widen);
    whole = whole == nullptr ? part : b.CreateShuffleVector(whole, part, merge);
  }
  return whole;
}

// Where the load's first lane is while a loop that is written out has that value; nullopt where the
// places differ by more than a constant from those of `like`.
std::optional<MemoryEmitter::Address> MemoryEmitter::AddressAt(const Expr& load, VarId var,
                                                               int64_t value, const Address& like) {
  const VarBinding here = state_.vars[var];
  state_.vars[var] = {.bound = true, .constant = value, .range = {value, value}};
  Address at = AddressOf(load->id, load->operands);
  state_.vars[var] = here;
  const bool same = at.lane_stride == like.lane_stride && !at.lanes_unrelated &&
                    HaveSameTerms(at.form, like.form);
  return same ? std::optional<Address>(std::move(at)) : std::nullopt;
}

llvm::Value* MemoryEmitter::LoadColumn(const Expr& load, const Address& address) {
  const BufferId buffer = load->id;
  const int lanes = state_.lanes;
  // All rows are read where the first column is asked for: before stores that come between, which
  // an input's elements must not know of, also where an output takes its place.
  const bool never_changes = state_.buffers[buffer].read_only ||
                             state_.program->buffers[buffer].role == BufferRole::kInput;
  if (state_.mask != nullptr || load->dtype == DType::kBool || !never_changes ||
      !IsSquareOfLanes(lanes, SizeBytes(load->dtype)) || address.lane_stride < lanes) {
    return nullptr;
  }
  for (auto loop = state_.unrolled.rbegin(); loop != state_.unrolled.rend(); ++loop) {
    const VarId var = loop->node->var;
    const int64_t now = state_.vars[var].constant;
    const int64_t first = now / lanes * lanes;
    if (first + lanes > loop->extent) continue;
    const std::optional<Address> begin = AddressAt(load, var, first, address);
    if (!begin.has_value()) continue;
    std::string key;
    for (const int64_t number : {int64_t{buffer}, begin->form.constant, address.lane_stride,
                                 int64_t{lanes}, int64_t{var}}) {
      AppendNumber(number, key);
    }
    const bool movable = AppendKey(begin->form, key);
    auto& squares = state_.scopes.back().squares;
    if (const auto found = squares.find(key); found != squares.end()) {
      return found->second[static_cast<size_t>(now - first)];
    }
    bool is_square = movable;
    for (int64_t c = 1; c < lanes && is_square; ++c) {
      const std::optional<Address> at = AddressAt(load, var, first + c, address);
      is_square = at.has_value() && at->form.constant == begin->form.constant + c;
    }
    if (!is_square || !IsUniform(*state_.program, *loop->node)) continue;
    std::vector<llvm::Value*> rows;
    for (int row = 0; row < lanes; ++row) {
      Address at = *begin;
      at.form.constant += row * address.lane_stride;
      rows.push_back(LoadAt(buffer, at, lanes));
    }
    std::vector<llvm::Value*>& columns = squares[key];
    columns = TransposeSquare(*state_.builder, std::move(rows),
                              static_cast<int>(8 * SizeBytes(load->dtype)));
    return columns[static_cast<size_t>(now - first)];
  }
  return nullptr;
}

llvm::Value* MemoryEmitter::Load(const Expr& load) {
  llvm::IRBuilderBase& b = *state_.builder;
  const BufferId buffer = load->id;
  if (state_.buffers[buffer].pointer == nullptr) {
    state_.Fail(absl::StrCat("buffer ", state_.program->buffers[buffer].name,
                             " is not there in this function"));
    return llvm::UndefValue::get(expressions_.ScalarType(load->dtype));
  }
  const Address address = AddressOf(buffer, load->operands);
  // From the cheapest form on: one scalar for all lanes, one vector, a few vectors, lane by lane.
  // No gather is emitted; whether one would be faster was not measured.
  if (state_.lanes == 1 || (address.lane_stride == 0 && !address.lanes_unrelated)) {
    return LoadAt(buffer, address, 1);
  }
  if (address.lane_stride == 1 && !address.lanes_unrelated) {
    return LoadNeighbours(buffer, address, {});
  }
  if (!address.lanes_unrelated) {
    if (llvm::Value* const vector = LoadBySteps(buffer, address)) return vector;
    if (llvm::Value* const vector = LoadColumn(load, address)) return vector;
  } else {
    if (llvm::Value* const vector = LoadRuns(buffer, load->operands)) return vector;
  }
  llvm::Value* vector =
      llvm::PoisonValue::get(Widened(expressions_.ScalarType(load->dtype), state_.lanes));
  ForEachLane([&](int lane) {
    vector = b.CreateInsertElement(vector, Load(load), static_cast<uint64_t>(lane));
  });
  return vector;
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
    Annotate(b.CreateMaskedStore(value, Pointer(buffer, form, nullptr), llvm::Align(element),
                                 TailMask()),
             buffer);
    ++state_.store_count;
    return;
  }
  llvm::StoreInst* const store =
      b.CreateAlignedStore(value, Pointer(buffer, form, nullptr),
                           llvm::Align(static_cast<uint64_t>(AlignmentOf(buffer, form))));
  Annotate(store, buffer);
  // Of whole aligned vectors, as the instruction wants it.
  if (state_.program->buffers[buffer].streamed && value->getType()->isVectorTy() &&
      AlignmentOf(buffer, form) >=
          state_.lanes * SizeBytes(state_.program->buffers[buffer].dtype)) {
    store->setMetadata(
        llvm::LLVMContext::MD_nontemporal,
        llvm::MDNode::get(store->getContext(), llvm::ConstantAsMetadata::get(b.getInt32(1))));
  }
  ++state_.store_count;
}

llvm::Value* MemoryEmitter::LoadRow(BufferId buffer, const std::vector<Expr>& indices, int width) {
  return LoadAt(buffer, AddressOf(buffer, indices), width);
}

void MemoryEmitter::StoreRow(BufferId buffer, const std::vector<Expr>& indices,
                             llvm::Value* value) {
  StoreAt(buffer, AddressOf(buffer, indices).form, value);
}

// One scalar or one vector of neighbours.
void MemoryEmitter::StoreOne(const Node& store, const Address& address) {
  llvm::Value* value;
  const bool vector = address.lane_stride == 1 && state_.lanes > 1;
  if (store.combiner == Combiner::kAssign) {
    value = expressions_.EmitStatement(store.value);
  } else {
    llvm::Value* const old = LoadAt(store.buffer, address, vector ? state_.lanes : 1);
    value = expressions_.EmitCombine(store.combiner, old, store.value);
    if (value == old) return;
  }
  if (vector) {
    value = expressions_.ToVector(value);
  } else if (value->getType()->isVectorTy()) {
    value = state_.builder->CreateExtractElement(value, static_cast<uint64_t>(state_.lanes - 1));
  }
  StoreAt(store.buffer, address.form, value);
}

void MemoryEmitter::StoreLanes(const Node& store) {
  if (store.combiner != Combiner::kAssign) {
    ForEachLane([&](int) { StoreOne(store, AddressOf(store.buffer, store.indices)); });
    return;
  }
  llvm::Value* const value = expressions_.EmitStatement(store.value);
  ForEachLane([&](int lane) {
    const Address address = AddressOf(store.buffer, store.indices);
    llvm::Value* const element =
        value->getType()->isVectorTy()
            ? state_.builder->CreateExtractElement(value, static_cast<uint64_t>(lane))
            : value;
    StoreAt(store.buffer, address.form, element);
  });
}

// All lanes into one element, as a tree: the upper half of the lanes into the lower, until one is
// left.
void MemoryEmitter::StoreReduced(const Node& store, const Address& address) {
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
  llvm::Value* const old = LoadAt(store.buffer, address, 1);
  StoreAt(store.buffer, address.form, expressions_.Combine(store.combiner, type, old, value));
}

void MemoryEmitter::Store(const Node& store) {
  const BufferBinding& binding = state_.buffers[store.buffer];
  if (binding.pointer == nullptr || binding.read_only) {
    state_.Fail(absl::StrCat("buffer ", state_.program->buffers[store.buffer].name,
                             " is not writable in this function"));
    return;
  }
  const Address address = AddressOf(store.buffer, store.indices);
  const bool same = address.lane_stride == 0 && !address.lanes_unrelated;
  const bool neighbours = address.lane_stride == 1 && !address.lanes_unrelated;
  if (state_.lanes > 1 && same && store.combiner != Combiner::kAssign) {
    StoreReduced(store, address);
  } else if (state_.lanes == 1 || neighbours || same) {
    StoreOne(store, address);
  } else {
    StoreLanes(store);
  }
}

void MemoryEmitter::Prefetch(const Node& prefetch) {
  llvm::IRBuilderBase& b = *state_.builder;
  const Address address = AddressOf(prefetch.buffer, prefetch.indices);
  // No inbounds: a prefetch may reach past the end.
  llvm::Value* const pointer =
      b.CreateGEP(MemoryType(b, state_.program->buffers[prefetch.buffer].dtype),
                  state_.buffers[prefetch.buffer].pointer, IndexValue(address.form));
  constexpr int kRead = 0, kData = 1;
  constexpr int kT0 = 3, kT1 = 2;  // LLVM's "locality": prefetcht0, prefetcht1.
  const bool into_l1 = prefetch.cache_level == 1 || state_.prefetches_through_l1;
  b.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {pointer->getType()},
      {pointer, b.getInt32(kRead), b.getInt32(into_l1 ? kT0 : kT1), b.getInt32(kData)});
}

llvm::Value* MemoryEmitter::TableGlobal(const ConstTable& table) {
  llvm::Value*& global = state_.tables[&table];
  if (global != nullptr) return global;
  llvm::Module& module = *state_.builder->GetInsertBlock()->getModule();
  llvm::LLVMContext& context = module.getContext();
  llvm::Constant* data;
  if (table.dtype == DType::kF64) {
    data = llvm::ConstantDataArray::get(context, table.values);
  } else if (table.dtype == DType::kF32) {
    const std::vector<float> values(table.values.begin(), table.values.end());
    data = llvm::ConstantDataArray::get(context, values);
  } else {
    std::vector<uint64_t> wide;
    std::vector<uint32_t> narrow;
    bool fits = true;
    for (double value : table.values) {
      const auto integer = static_cast<int64_t>(value);
      fits = fits && integer == static_cast<int32_t>(integer);
      wide.push_back(static_cast<uint64_t>(integer));
      narrow.push_back(static_cast<uint32_t>(integer));
    }
    // Integers that fit take half the cache.
    data = fits ? llvm::ConstantDataArray::get(context, narrow)
                : llvm::ConstantDataArray::get(context, wide);
  }
  auto* const variable = new llvm::GlobalVariable(module, data->getType(), true,
                                                  llvm::GlobalValue::PrivateLinkage, data, "table");
  variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return global = variable;
}

llvm::Value* MemoryEmitter::LoadTable(const ConstTable& table, const std::vector<Expr>& indices) {
  llvm::IRBuilderBase& b = *state_.builder;
  Expr flat = Int(0);
  for (size_t d = 0; d < indices.size(); ++d) flat = flat * table.shape[d] + indices[d];
  llvm::Value* index = IndexValue(ToLinear(flat, state_.Ranges()));
  if (state_.mask != nullptr) {
    index = b.CreateSelect(expressions_.AnyLane(state_.mask), index, b.getInt64(0));
  }
  auto* const global = llvm::cast<llvm::GlobalVariable>(TableGlobal(table));
  llvm::Type* const element = llvm::cast<llvm::ArrayType>(global->getValueType())->getElementType();
  llvm::LoadInst* const load = b.CreateLoad(element, b.CreateInBoundsGEP(element, global, index));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(load->getContext(), {}));
  if (IsFloat(table.dtype)) return load;
  if (table.dtype == DType::kBool) {
    return b.CreateICmpNE(load, llvm::Constant::getNullValue(element));
  }
  return b.CreateSExtOrTrunc(load, expressions_.ScalarType(table.dtype));
}

}  // namespace burnish
