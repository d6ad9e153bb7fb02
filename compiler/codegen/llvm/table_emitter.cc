#include "compiler/codegen/llvm/table_emitter.h"

#include "compiler/codegen/llvm/expr_emitter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace burnish {
namespace {

// The table's array in the module.
llvm::Value* ArrayOf(const ConstTable& table, EmitState& state) {
  llvm::Value*& global = state.tables[&table];
  if (global != nullptr) return global;
  llvm::Module& module = *state.builder->GetInsertBlock()->getModule();
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

}  // namespace

llvm::Value* LoadTable(const ConstTable& table, llvm::Value* index, EmitState& state,
                       ExprEmitter& expressions) {
  llvm::IRBuilderBase& b = *state.builder;
  if (state.mask != nullptr) {
    index = b.CreateSelect(expressions.AnyLane(state.mask), index, b.getInt64(0));
  }
  auto* const global = llvm::cast<llvm::GlobalVariable>(ArrayOf(table, state));
  llvm::Type* const element = llvm::cast<llvm::ArrayType>(global->getValueType())->getElementType();
  llvm::LoadInst* const load = b.CreateLoad(element, b.CreateInBoundsGEP(element, global, index));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(load->getContext(), {}));
  if (IsFloat(table.dtype)) return load;
  if (table.dtype == DType::kBool) {
    return b.CreateICmpNE(load, llvm::Constant::getNullValue(element));
  }
  return b.CreateSExtOrTrunc(load, expressions.ScalarType(table.dtype));
}

}  // namespace burnish
