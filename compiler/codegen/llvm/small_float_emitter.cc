#include "compiler/codegen/llvm/small_float_emitter.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace burnish {
namespace {

// The conversions of base/small_float.h, without branches.
class Emitter {
 public:
  Emitter(llvm::IRBuilderBase& b, llvm::Type* shape) : b_(b), shape_(shape) {}

  llvm::Type* Like(llvm::Type* scalar) const {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape_);
    return vector == nullptr ? scalar
                             : llvm::FixedVectorType::get(scalar, vector->getNumElements());
  }
  llvm::Type* i16() const { return Like(b_.getInt16Ty()); }
  llvm::Type* i32() const { return Like(b_.getInt32Ty()); }
  llvm::Type* f32() const { return Like(b_.getFloatTy()); }
  llvm::Value* Number(uint32_t bits) const { return llvm::ConstantInt::get(i32(), bits); }

  llvm::Value* WidenBfloat16(llvm::Value* bits) {
    return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(bits, i32()), 16), f32());
  }

  llvm::Value* NarrowBfloat16(llvm::Value* value) {
    llvm::Value* const x = b_.CreateBitCast(value, i32());
    llvm::Value* const high = b_.CreateLShr(x, 16);
    llvm::Value* const odd = b_.CreateAnd(high, Number(1));
    llvm::Value* const sum = b_.CreateAdd(x, b_.CreateAdd(odd, Number(0x7fff)));
    llvm::Value* const quiet = b_.CreateOr(high, Number(0x40));
    llvm::Value* const is_nan = b_.CreateFCmpUNO(value, value);
    return b_.CreateTrunc(b_.CreateSelect(is_nan, quiet, b_.CreateLShr(sum, 16)), i16());
  }

  llvm::Value* WidenFloat16(llvm::Value* bits) {
    llvm::Value* const x = b_.CreateZExt(bits, i32());
    llvm::Value* const magnitude = b_.CreateAnd(x, Number(0x7fff));
    llvm::Value* const shifted = b_.CreateShl(magnitude, 13);
    constexpr uint32_t kBias = 112u << 23;  // 127 - 15
    llvm::Value* const normal = b_.CreateAdd(shifted, Number(kBias));
    // Exponent 31 becomes 255: the bias once more.
    llvm::Value* const is_special = b_.CreateICmpUGE(magnitude, Number(0x7c00));
    llvm::Value* wide = b_.CreateSelect(is_special, b_.CreateAdd(normal, Number(kBias)), normal);
    // Subnormal: a multiple of 2^-24, made without a subnormal f32 (the kernels' float mode takes
    // those for 0).
    llvm::Value* const small =
        b_.CreateFMul(b_.CreateSIToFP(magnitude, f32()), llvm::ConstantFP::get(f32(), 0x1p-24));
    llvm::Value* const is_small = b_.CreateICmpULT(magnitude, Number(0x400));
    wide = b_.CreateSelect(is_small, b_.CreateBitCast(small, i32()), wide);
    llvm::Value* const sign = b_.CreateShl(b_.CreateAnd(x, Number(0x8000)), 16);
    return b_.CreateBitCast(b_.CreateOr(wide, sign), f32());
  }

  llvm::Value* NarrowFloat16(llvm::Value* value) {
    llvm::Value* const x = b_.CreateBitCast(value, i32());
    llvm::Value* const magnitude = b_.CreateAnd(x, Number(0x7fffffff));
    // Normal: the bias comes off, 13 bits go, a tie goes to the even neighbour.
    llvm::Value* const rebiased = b_.CreateSub(magnitude, Number(112u << 23));
    llvm::Value* const odd = b_.CreateAnd(b_.CreateLShr(rebiased, 13), Number(1));
    llvm::Value* result =
        b_.CreateLShr(b_.CreateAdd(rebiased, b_.CreateAdd(odd, Number(0xfff))), 13);
    // Subnormal: 0.5 has 2^-24 as its last bit, so that the adder rounds to multiples of it.
    // Source of the trick: F. Giesen, float_to_half_fast3_rtne, 2016.
    llvm::Value* const half = llvm::ConstantFP::get(f32(), 0.5);
    llvm::Value* const sum = b_.CreateFAdd(b_.CreateBitCast(magnitude, f32()), half);
    llvm::Value* const small =
        b_.CreateSub(b_.CreateBitCast(sum, i32()), b_.CreateBitCast(half, i32()));
    result = b_.CreateSelect(b_.CreateICmpULT(magnitude, Number(0x38800000)), small, result);
    // From 65520 on it is infinite.
    result =
        b_.CreateSelect(b_.CreateICmpUGE(magnitude, Number(0x477ff000)), Number(0x7c00), result);
    llvm::Value* const quiet =
        b_.CreateOr(b_.CreateAnd(b_.CreateLShr(x, 13), Number(0x3ff)), Number(0x7e00));
    result = b_.CreateSelect(b_.CreateFCmpUNO(value, value), quiet, result);
    llvm::Value* const sign = b_.CreateAnd(b_.CreateLShr(x, 16), Number(0x8000));
    return b_.CreateTrunc(b_.CreateOr(result, sign), i16());
  }

  // By LLVM's own type, where that is an instruction.
  llvm::Value* Extend(llvm::Type* small, llvm::Value* bits) {
    return b_.CreateFPExt(b_.CreateBitCast(bits, Like(small)), f32());
  }
  llvm::Value* Truncate(llvm::Type* small, llvm::Value* value) {
    return b_.CreateBitCast(b_.CreateFPTrunc(value, Like(small)), i16());
  }

 private:
  llvm::IRBuilderBase& b_;
  llvm::Type* const shape_;
};

}  // namespace

llvm::Value* WidenFloat(llvm::IRBuilderBase& b, const SmallFloatUnits& units, DType from,
                        llvm::Value* bits) {
  Emitter emitter(b, bits->getType());
  if (from == DType::kBf16) return emitter.WidenBfloat16(bits);
  return units.f16 ? emitter.Extend(b.getHalfTy(), bits) : emitter.WidenFloat16(bits);
}

llvm::Value* NarrowFloat(llvm::IRBuilderBase& b, const SmallFloatUnits& units, DType to,
                         llvm::Value* value) {
  Emitter emitter(b, value->getType());
  if (to == DType::kBf16) {
    return units.bf16 ? emitter.Truncate(b.getBFloatTy(), value) : emitter.NarrowBfloat16(value);
  }
  return units.f16 ? emitter.Truncate(b.getHalfTy(), value) : emitter.NarrowFloat16(value);
}

}  // namespace burnish
