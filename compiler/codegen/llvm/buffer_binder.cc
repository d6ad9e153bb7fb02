#include "compiler/codegen/llvm/buffer_binder.h"

#include <cstddef>

#include "compiler/runtime/kernel_abi.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"

namespace burnish {
namespace {

class BufferBinder {
 public:
  BufferBinder(const KernelLayout& layout, const TilePlan& tiles, bool pack,
               const KernelArguments& arguments, EmitState& state)
      : layout_(layout),
        tiles_(tiles),
        pack_(pack),
        arguments_(arguments),
        state_(state),
        b_(*state.builder),
        buffers_(state.program->buffers) {}

  void BindParameters();
  void BindTemporaries();
  void DeclareAliasing();

 private:
  bool MayOverlap(size_t i, size_t j) const;

  const KernelLayout& layout_;
  const TilePlan& tiles_;
  const bool pack_;
  const KernelArguments arguments_;
  EmitState& state_;
  llvm::IRBuilderBase& b_;
  const std::vector<Buffer>& buffers_;
};

void BufferBinder::BindParameters() {
  llvm::LLVMContext& context = b_.getContext();
  llvm::MDBuilder metadata(context);
  const auto number = [&](int64_t value) {
    return llvm::MDNode::get(context,
                             metadata.createConstant(b_.getInt64(static_cast<uint64_t>(value))));
  };
  const std::vector<BufferId>& parameters =
      pack_ ? layout_.pack_parameters : layout_.kernel_parameters;
  llvm::Value* const pointers = LoadContextField(
      b_, arguments_.context, offsetof(BurnishKernelContext, buffers), b_.getPtrTy());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Buffer& buffer = buffers_[parameters[i]];
    BufferBinding& binding = state_.buffers[parameters[i]];
    llvm::LoadInst* const pointer = b_.CreateLoad(
        b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers, i), buffer.name);
    pointer->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
    pointer->setMetadata(llvm::LLVMContext::MD_noundef, llvm::MDNode::get(context, {}));
    pointer->setMetadata(llvm::LLVMContext::MD_align, number(buffer.storage.alignment_bytes));
    // Lets loads that do not depend on a loop be done before it, also if it may run zero times.
    pointer->setMetadata(llvm::LLVMContext::MD_dereferenceable, number(StorageBytes(buffer)));
    binding.pointer = pointer;
    binding.alignment_bytes = buffer.storage.alignment_bytes;
    binding.read_only =
        buffer.role == BufferRole::kConstant || (buffer.role == BufferRole::kPacked && !pack_);
  }
}

void BufferBinder::BindTemporaries() {
  llvm::Value* scratch = nullptr;
  llvm::Value* shared = nullptr;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    BufferBinding& binding = state_.buffers[i];
    if (buffer.role != BufferRole::kTemp) continue;
    binding.alignment_bytes = BURNISH_SCRATCH_ALIGNMENT;
    if (buffer.scope == Scope::kTile && tiles_.first[i] >= 0) continue;
    if (buffer.scope == Scope::kRegister || buffer.scope == Scope::kTile) {
      const auto bits = static_cast<unsigned>(SizeBytes(buffer.dtype)) * 8;
      llvm::Type* const element = buffer.dtype == DType::kF32   ? b_.getFloatTy()
                                  : buffer.dtype == DType::kF64 ? b_.getDoubleTy()
                                                                : b_.getIntNTy(bits);
      // Dissolved by SROA into one SSA value per vector: every access has a constant index. Tiles
      // that the target has no registers for stay an array. The last row's last vector may be whole
      // although the row is not.
      const int64_t count = StorageElementCount(buffer) + kRegisterRowLanes - 1;
      llvm::AllocaInst* const array = b_.CreateAlloca(
          llvm::ArrayType::get(element, static_cast<uint64_t>(count)), nullptr, buffer.name);
      array->setAlignment(llvm::Align(BURNISH_SCRATCH_ALIGNMENT));
      binding.pointer = array;
      binding.in_registers = buffer.scope == Scope::kRegister;
      continue;
    }
    const int64_t offset = layout_.temp_offset[i];
    // Of the other function (kernel or pack).
    if (offset < 0) continue;
    llvm::Value*& area = buffer.scope == Scope::kScratch ? scratch : shared;
    if (area == nullptr && buffer.scope == Scope::kScratch) {
      llvm::Value* const stride = LoadContextField(
          b_, arguments_.context, offsetof(BurnishKernelContext, scratch_bytes_per_worker),
          b_.getInt64Ty());
      area = b_.CreateInBoundsGEP(
          b_.getInt8Ty(),
          LoadContextField(b_, arguments_.context, offsetof(BurnishKernelContext, scratch),
                           b_.getPtrTy()),
          b_.CreateMul(arguments_.worker, stride));
    } else if (area == nullptr) {
      area = LoadContextField(b_, arguments_.context,
                              offsetof(BurnishKernelContext, shared_scratch), b_.getPtrTy());
    }
    binding.pointer = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), area,
                                                    static_cast<uint64_t>(offset), buffer.name);
  }
}

bool BufferBinder::MayOverlap(size_t i, size_t j) const {
  const Buffer& a = buffers_[i];
  const Buffer& b = buffers_[j];
  if (a.role == BufferRole::kTemp && b.role == BufferRole::kTemp && a.scope == b.scope) {
    return layout_.temp_offset[i] < layout_.temp_offset[j] + StorageBytes(b) &&
           layout_.temp_offset[j] < layout_.temp_offset[i] + StorageBytes(a);
  }
  const bool input_output = (a.role == BufferRole::kInput && b.role == BufferRole::kOutput) ||
                            (a.role == BufferRole::kOutput && b.role == BufferRole::kInput);
  // Sizes alone, not whether in-place is allowed: that is decided elsewhere, and a promise
  // too many would be miscompiled code.
  return input_output && StorageBytes(a) == StorageBytes(b);
}

// Buffers do not overlap, with two exceptions: an output may be computed in place of an input of
// its size, and temporaries of different phases share memory.
void BufferBinder::DeclareAliasing() {
  llvm::MDBuilder metadata(b_.getContext());
  llvm::MDNode* const domain = metadata.createAnonymousAliasScopeDomain("kernel");
  const size_t count = buffers_.size();
  // Register arrays dissolve and need no promise.
  const auto takes_part = [&](size_t i) {
    return state_.buffers[i].pointer != nullptr && !state_.buffers[i].in_registers;
  };
  for (size_t i = 0; i < count; ++i) {
    if (!takes_part(i)) continue;
    llvm::Metadata* const scope = metadata.createAnonymousAliasScope(domain, buffers_[i].name);
    state_.buffers[i].scope = llvm::MDNode::get(b_.getContext(), scope);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!takes_part(i)) continue;
    std::vector<llvm::Metadata*> others;
    for (size_t j = 0; j < count; ++j) {
      if (i == j || !takes_part(j) || MayOverlap(i, j)) continue;
      others.push_back(state_.buffers[j].scope->getOperand(0));
    }
    if (!others.empty()) {
      state_.buffers[i].not_aliased = llvm::MDNode::get(b_.getContext(), others);
    }
  }
}

}  // namespace

llvm::Value* LoadContextField(llvm::IRBuilderBase& builder, llvm::Value* context, size_t offset,
                              llvm::Type* type) {
  llvm::LoadInst* const load = builder.CreateLoad(
      type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), context, offset));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(builder.getContext(), {}));
  return load;
}

void BindBuffers(const KernelLayout& layout, const TilePlan& tiles, bool pack,
                 const KernelArguments& arguments, EmitState& state) {
  BufferBinder binder(layout, tiles, pack, arguments, state);
  binder.BindParameters();
  binder.BindTemporaries();
  binder.DeclareAliasing();
}

}  // namespace burnish
