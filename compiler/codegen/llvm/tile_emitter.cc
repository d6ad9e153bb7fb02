#include "compiler/codegen/llvm/tile_emitter.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/llvm/memory_emitter.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace burnish {
namespace {

// The operand of ldtilecfg. Source: Intel SDM vol. 1, 18.2.1: palette, start row, bytes of a row of
// each register from byte 16 on (two bytes each), rows from byte 48 on.
std::vector<uint8_t> ConfigurationOf(const TileRegisters& registers) {
  std::vector<uint8_t> bytes(64, 0);
  bytes[0] = 1;
  const auto configure = [&](int first, int count, int64_t rows, int64_t columns) {
    for (int tile = first; tile < first + count; ++tile) {
      bytes[static_cast<size_t>(16 + 2 * tile)] = static_cast<uint8_t>(4 * columns);
      bytes[static_cast<size_t>(48 + tile)] = static_cast<uint8_t>(rows);
    }
  };
  configure(0, registers.sums, registers.rows, registers.columns);
  if (registers.groups == 0) return bytes;
  configure(registers.first_left(), registers.left, registers.rows, registers.groups);
  configure(registers.first_right(), registers.right, registers.groups, registers.columns);
  return bytes;
}

}  // namespace

void TileEmitter::Forget() { operands_.assign(operands_.size(), {}); }

void TileEmitter::BeginPhase(NodeId phase) {
  const auto found = plan_.phases.find(phase);
  if (found == plan_.phases.end()) return;
  registers_ = &found->second;
  Forget();
  llvm::IRBuilderBase& b = *state_.builder;
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  const std::vector<uint8_t> bytes = ConfigurationOf(*registers_);
  llvm::Constant* const data = llvm::ConstantDataArray::get(module.getContext(), bytes);
  auto* const configuration = new llvm::GlobalVariable(
      module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "tiles");
  configuration->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  configuration->setAlignment(llvm::Align(64));
  b.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {configuration});
}

void TileEmitter::EndPhase(NodeId phase) {
  if (plan_.phases.count(phase) == 0) return;
  state_.builder->CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
  registers_ = nullptr;
}

bool TileEmitter::Emit(NodeId loop, MemoryEmitter& memory) {
  const auto found = plan_.nests.find(loop);
  if (found == plan_.nests.end() || registers_ == nullptr) return false;
  const TileNest& nest = found->second;
  llvm::IRBuilderBase& b = *state_.builder;
  for (VarId var : nest.vars) {
    if (var >= 0) state_.vars[var] = {.bound = true};
  }
  const int sum = SumOf(nest);
  switch (nest.operation) {
    case TileOperation::kZero:
      b.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {b.getInt8(static_cast<uint8_t>(sum))});
      break;
    case TileOperation::kLoad:
      Move(false, sum, memory.RowPointer(nest.left->id, nest.left->operands),
           nest.left_stride_bytes);
      break;
    case TileOperation::kStore:
      Move(true, sum, memory.RowPointer(nest.store->buffer, nest.store->indices),
           nest.left_stride_bytes);
      break;
    case TileOperation::kProduct: {
      const int left = OperandOf(*nest.left, nest.left_stride_bytes, registers_->first_left(),
                                 registers_->left, memory);
      const int right = OperandOf(*nest.right, nest.right_stride_bytes, registers_->first_right(),
                                  registers_->right, memory);
      const auto number = [&](int tile) { return b.getInt8(static_cast<uint8_t>(tile)); };
      b.CreateIntrinsic(nest.product->kind == InstructionKind::kBf16Tiles
                            ? llvm::Intrinsic::x86_tdpbf16ps
                            : llvm::Intrinsic::x86_tdpbusd,
                        {}, {number(sum), number(left), number(right)});
      break;
    }
  }
  for (VarId var : nest.vars) {
    if (var >= 0) state_.vars[var].bound = false;
  }
  ++state_.store_count;
  return true;
}

// By the dimensions before rows and columns, which are constant here.
int TileEmitter::SumOf(const TileNest& nest) {
  const Buffer& buffer = state_.program->buffers[nest.tiles];
  const VarRanges ranges = state_.Ranges();
  int64_t tile = 0;
  for (size_t d = 0; d + 2 < buffer.shape.size(); ++d) {
    const LinearForm index = ToLinear((*nest.tile_indices)[d], ranges);
    if (!index.terms.empty() || index.constant < 0 || index.constant >= buffer.shape[d]) {
      state_.Fail(absl::StrCat("tile buffer ", buffer.name,
                               " has an index that is not constant after unrolling"));
      return 0;
    }
    tile = tile * buffer.shape[d] + index.constant;
  }
  return plan_.first[nest.tiles] + static_cast<int>(tile);
}

// The register, of `count` from `first` on, that holds the operand: the one that does already, or
// that which was not used for longest.
int TileEmitter::OperandOf(const ExprNode& load, int64_t stride_bytes, int first, int count,
                           MemoryEmitter& memory) {
  llvm::Value* const pointer = memory.RowPointer(load.id, load.operands);
  const llvm::DataLayout& layout = state_.builder->GetInsertBlock()->getModule()->getDataLayout();
  llvm::APInt offset(64, 0);
  Operand wanted{.base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true),
                 .stride_bytes = stride_bytes,
                 .last_use = ++clock_};
  wanted.offset_bytes = offset.getSExtValue();
  int tile = first;
  for (int other = first; other < first + count; ++other) {
    Operand& held = operands_[static_cast<size_t>(other)];
    if (held.Holds(wanted)) {
      held.last_use = clock_;
      return other;
    }
    if (held.last_use < operands_[static_cast<size_t>(tile)].last_use) tile = other;
  }
  operands_[static_cast<size_t>(tile)] = wanted;
  Move(false, tile, pointer, stride_bytes);
  return tile;
}

void TileEmitter::Move(bool is_store, int tile, llvm::Value* pointer, int64_t stride_bytes) {
  llvm::IRBuilderBase& b = *state_.builder;
  b.CreateIntrinsic(is_store ? llvm::Intrinsic::x86_tilestored64 : llvm::Intrinsic::x86_tileloadd64,
                    {},
                    {b.getInt8(static_cast<uint8_t>(tile)), pointer,
                     b.getInt64(static_cast<uint64_t>(stride_bytes))});
}

}  // namespace burnish
