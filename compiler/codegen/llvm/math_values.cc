#include "compiler/codegen/llvm/math_values.h"

#include <algorithm>
#include <limits>
#include <string>

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace burnish {

using llvm::Value;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
}  // namespace

MathValues::MathValues(llvm::IRBuilderBase& builder, const MathUnits& units, llvm::Type* type)
    : b_(builder), units_(units), type_(type), is_f64_(type->getScalarType()->isDoubleTy()) {}

llvm::Type* MathValues::Like(llvm::Type* scalar) const {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type_);
  return vector == nullptr ? scalar : llvm::FixedVectorType::get(scalar, vector->getNumElements());
}
llvm::Type* MathValues::Int32() const { return Like(b_.getInt32Ty()); }
llvm::Type* MathValues::Bits() const {
  return Like(is_f64_ ? static_cast<llvm::Type*>(b_.getInt64Ty()) : b_.getInt32Ty());
}
Value* MathValues::Number(double value) const { return llvm::ConstantFP::get(type_, value); }
Value* MathValues::Int(llvm::Type* type, int64_t value) {
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(value), true);
}
Value* MathValues::Add(Value* a, Value* b) { return b_.CreateFAdd(a, b); }
Value* MathValues::Sub(Value* a, Value* b) { return b_.CreateFSub(a, b); }
Value* MathValues::Mul(Value* a, Value* b) { return b_.CreateFMul(a, b); }
Value* MathValues::Abs(Value* a) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a); }
Value* MathValues::AtMost(Value* x, double limit) {
  return b_.CreateSelect(b_.CreateFCmpOGT(x, Number(limit)), Number(limit), x);
}
Value* MathValues::AtLeast(Value* x, double limit) {
  return b_.CreateSelect(b_.CreateFCmpOLT(x, Number(limit)), Number(limit), x);
}

std::pair<Value*, Value*> MathValues::RoundToInt(Value* x) {
  Value* const magic = Number(is_f64_ ? 0x1.8p52 : 0x1.8p23);
  Value* const shifted = Add(x, magic);
  Value* const n = b_.CreateSub(b_.CreateBitCast(shifted, Bits()), b_.CreateBitCast(magic, Bits()));
  return {Sub(shifted, magic), b_.CreateTrunc(n, Int32())};
}

Value* MathValues::PowerOfTwo(Value* n) {
  Value* const biased = b_.CreateSExt(b_.CreateAdd(n, Int(Int32(), is_f64_ ? 1023 : 127)), Bits());
  return b_.CreateBitCast(b_.CreateShl(biased, Int(Bits(), is_f64_ ? 52 : 23)), type_);
}

// Both ways give the same bits.
Value* MathValues::Scale(Value* x, Value* rounded, Value* n) {
  if (units_.scale) {
    const int64_t bits = type_->isVectorTy() ? type_->getPrimitiveSizeInBits().getFixedValue() : 0;
    const auto of_type = [&](llvm::Intrinsic::ID f32, llvm::Intrinsic::ID f64) {
      return is_f64_ ? f64 : f32;
    };
    llvm::Intrinsic::ID id = llvm::Intrinsic::not_intrinsic;
    if (bits == 128) {
      id = of_type(llvm::Intrinsic::x86_avx512_mask_scalef_ps_128,
                   llvm::Intrinsic::x86_avx512_mask_scalef_pd_128);
    } else if (bits == 256) {
      id = of_type(llvm::Intrinsic::x86_avx512_mask_scalef_ps_256,
                   llvm::Intrinsic::x86_avx512_mask_scalef_pd_256);
    } else if (bits == 512) {
      id = of_type(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512,
                   llvm::Intrinsic::x86_avx512_mask_scalef_pd_512);
    }
    if (id != llvm::Intrinsic::not_intrinsic) {
      // A mask of all lanes, in 8 bits at least.
      const auto lanes = static_cast<unsigned>(bits) / (is_f64_ ? 64 : 32);
      std::vector<Value*> arguments = {
          x, rounded, llvm::PoisonValue::get(type_),
          llvm::Constant::getAllOnesValue(b_.getIntNTy(std::max(8U, lanes)))};
      constexpr int kCurrentRounding = 4;  // _MM_FROUND_CUR_DIRECTION
      if (bits == 512) arguments.push_back(b_.getInt32(kCurrentRounding));
      return b_.CreateIntrinsic(id, {}, arguments);
    }
  }
  // In two steps: 2^n alone may be outside of the type where the result is not.
  Value* const half = b_.CreateAShr(n, Int(Int32(), 1));
  return Mul(Mul(x, PowerOfTwo(half)), PowerOfTwo(b_.CreateSub(n, half)));
}

Value* MathValues::PowerCases(Value* x, Value* y, Value* power) {
  // The sign of x survives odd powers; other powers of negative numbers are no real numbers.
  const auto floor = [&](Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, v); };
  Value* const integer = b_.CreateFCmpOEQ(floor(y), y);
  Value* const half = Mul(y, Number(0.5));
  Value* const odd = b_.CreateAnd(integer, b_.CreateFCmpUNE(floor(half), half));
  Value* const with_sign = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, power, x);
  Value* result = b_.CreateSelect(odd, with_sign, power);
  Value* const negative =
      b_.CreateAnd(b_.CreateFCmpOLT(x, Number(0)), b_.CreateFCmpOGT(x, Number(-kInfinity)));
  result = b_.CreateSelect(b_.CreateAnd(negative, b_.CreateNot(integer)), Number(kNan), result);
  // pow(x, 0) = pow(1, y) = 1 even for NaN, and pow(-1, +-infinity) = 1.
  Value* const endless = b_.CreateFCmpOEQ(Abs(y), Number(kInfinity));
  Value* one = b_.CreateOr(b_.CreateFCmpOEQ(y, Number(0)), b_.CreateFCmpOEQ(x, Number(1)));
  one = b_.CreateOr(one, b_.CreateAnd(endless, b_.CreateFCmpOEQ(Abs(x), Number(1))));
  return b_.CreateSelect(one, Number(1), result);
}

std::vector<Value*> MathValues::WhereAny(Value* condition, const std::vector<Value*>& otherwise,
                                         const std::function<std::vector<Value*>()>& slow) {
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  llvm::Function* const function = before->getParent();
  llvm::LLVMContext& context = function->getContext();
  llvm::BasicBlock* const inside = llvm::BasicBlock::Create(context, "large", function);
  llvm::BasicBlock* const after = llvm::BasicBlock::Create(context, "reduced", function);
  b_.CreateCondBr(type_->isVectorTy() ? b_.CreateOrReduce(condition) : condition, inside, after);
  b_.SetInsertPoint(inside);
  std::vector<Value*> values = slow();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = b_.CreateSelect(condition, values[i], otherwise[i]);
  }
  llvm::BasicBlock* const inside_end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  for (size_t i = 0; i < values.size(); ++i) {
    llvm::PHINode* const phi = b_.CreatePHI(values[i]->getType(), 2);
    phi->addIncoming(otherwise[i], before);
    phi->addIncoming(values[i], inside_end);
    values[i] = phi;
  }
  return values;
}

llvm::Value* MathValues::CallByLane(llvm::Function* function, Value* x) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr) return b_.CreateCall(function, {x});
  const unsigned lanes = vector->getNumElements();
  const std::string name = function->getName().str() + "_x" + std::to_string(lanes);
  llvm::Module& module = *function->getParent();
  if (llvm::Function* const known = module.getFunction(name)) return b_.CreateCall(known, {x});
  // The result, or each part of it, as a vector.
  llvm::Type* const one = function->getReturnType();
  std::vector<llvm::Type*> parts;
  const auto* const record = llvm::dyn_cast<llvm::StructType>(one);
  for (unsigned i = 0; record != nullptr && i < record->getNumElements(); ++i) {
    parts.push_back(llvm::FixedVectorType::get(record->getElementType(i), lanes));
  }
  llvm::Type* const all = record == nullptr
                              ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(one, lanes))
                              : llvm::StructType::get(module.getContext(), parts);
  llvm::Function* const by_lane =
      llvm::Function::Create(llvm::FunctionType::get(all, {x->getType()}, false),
                             llvm::GlobalValue::PrivateLinkage, name, module);
  by_lane->setDoesNotThrow();
  by_lane->addFnAttr(llvm::Attribute::NoInline);
  {
    const llvm::IRBuilderBase::InsertPointGuard here(b_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", by_lane));
    Value* results = llvm::PoisonValue::get(all);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Value* const result =
          b_.CreateCall(function, {b_.CreateExtractElement(by_lane->getArg(0), lane)});
      if (record == nullptr) results = b_.CreateInsertElement(results, result, lane);
      for (unsigned i = 0; i < parts.size(); ++i) {
        Value* const part = b_.CreateInsertElement(b_.CreateExtractValue(results, i),
                                                   b_.CreateExtractValue(result, i), lane);
        results = b_.CreateInsertValue(results, part, i);
      }
    }
    b_.CreateRet(results);
  }
  return b_.CreateCall(by_lane, {x});
}

}  // namespace burnish
