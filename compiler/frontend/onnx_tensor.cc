#include "compiler/frontend/onnx_tensor.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

using onnx::TensorProto;

constexpr int kUint4 = 21, kInt4 = 22, kUint2 = 25, kInt2 = 26;

// A repeated field of To's as constants of type T: int32_data holds
// all types of up to 32 bits but u32.
template <typename T, typename Field>
ConstantPtr FromField(const Field& field) {
  std::vector<T> values;
  values.reserve(field.size());
  for (const auto v : field) values.push_back(static_cast<T>(v));
  return MakeConstant(std::move(values));
}

absl::StatusOr<ConstantPtr> ReadExternal(const TensorProto& tensor, OnnxExternalData& files,
                                         int64_t want_bytes, absl::string_view what) {
  std::string location;
  int64_t offset = 0;
  int64_t length = want_bytes;
  for (const auto& entry : tensor.external_data()) {
    bool ok = true;
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      ok = absl::SimpleAtoi(entry.value(), &offset);
    } else if (entry.key() == "length") {
      ok = absl::SimpleAtoi(entry.value(), &length);
    }
    if (!ok) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": external data ", entry.key(),
                                                     " is no number: '", entry.value(), "'"));
    }
  }
  // Shape and type say how many bytes there are. A length that differs means that one of the three
  // is wrong.
  if (length != want_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": got ", length, " bytes of external data, want ", want_bytes));
  }
  return files.Read(location, offset, length);
}

ConstantPtr ReadTypedData(const TensorProto& tensor, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return FromField<float>(tensor.float_data());
    case DType::kF64:
      return FromField<double>(tensor.double_data());
    case DType::kI64:
      return FromField<int64_t>(tensor.int64_data());
    case DType::kI32:
      return FromField<int32_t>(tensor.int32_data());
    case DType::kI16:
      return FromField<int16_t>(tensor.int32_data());
    case DType::kI8:
      return FromField<int8_t>(tensor.int32_data());
    case DType::kU64:
      return FromField<uint64_t>(tensor.uint64_data());
    case DType::kU32:
      return FromField<uint32_t>(tensor.uint64_data());
    case DType::kU16:
    case DType::kBf16:  // Their bits.
    case DType::kF16:
      return FromField<uint16_t>(tensor.int32_data());
    case DType::kU8:
      return FromField<uint8_t>(tensor.int32_data());
    case DType::kBool: {
      std::vector<uint8_t> values;
      for (const int32_t v : tensor.int32_data()) values.push_back(v != 0);
      return MakeConstant(std::move(values));
    }
  }
  return nullptr;
}

// By number: the protobuf library that is built against may be older than these types.
const char* NewTypeName(int onnx_type) {
  switch (onnx_type) {
    case 17:
      return "FLOAT8E4M3FN";
    case 18:
      return "FLOAT8E4M3FNUZ";
    case 19:
      return "FLOAT8E5M2";
    case 20:
      return "FLOAT8E5M2FNUZ";
    case kUint4:
      return "UINT4";
    case kInt4:
      return "INT4";
    case 23:
      return "FLOAT4E2M1";
    case 24:
      return "FLOAT8E8M0";
    case kUint2:
      return "UINT2";
    case kInt2:
      return "INT2";
    default:
      return nullptr;
  }
}

std::string UnsupportedTypeText(int onnx_type) {
  const char* const name = NewTypeName(onnx_type);
  if (FewBitsOfOnnx(onnx_type).has_value()) {
    return absl::StrCat(
        "element type ", name,
        " is for constants alone, as weights of DequantizeLinear; use INT8 or UINT8");
  }
  const std::string text = absl::StrCat(
      "element type ",
      name != nullptr                            ? name
      : TensorProto::DataType_IsValid(onnx_type) ? TensorProto::DataType_Name(onnx_type)
                                                 : absl::StrCat("number ", onnx_type),
      " is not supported; supported: FLOAT, DOUBLE, BFLOAT16, FLOAT16, INT64, INT32, INT16, INT8, "
      "UINT64, UINT32, UINT16, UINT8, BOOL");
  if (name == nullptr) return text;
  return text + "; CPUs do not compute in floats of 8 bits: export in FLOAT16, or quantize to INT8";
}

}  // namespace

std::optional<FewBits> FewBitsOfOnnx(int onnx_type) {
  switch (onnx_type) {
    case kUint4:
      return FewBits{4, DType::kU8};
    case kInt4:
      return FewBits{4, DType::kI8};
    case kUint2:
      return FewBits{2, DType::kU8};
    case kInt2:
      return FewBits{2, DType::kI8};
    default:
      return std::nullopt;
  }
}

std::string FewBitsName(DType dtype, int bits) {
  if (bits == 0) return std::string(DTypeName(dtype));
  return absl::StrCat(IsUnsigned(dtype) ? "u" : "i", bits);
}

ConstantPtr UnpackBits(absl::Span<const uint8_t> packed, FewBits type, int64_t rows, int64_t kept) {
  const int per_byte = 8 / type.bits;
  const int64_t row_bytes = (kept + per_byte - 1) / per_byte;
  CHECK_EQ(static_cast<int64_t>(packed.size()), rows * row_bytes);
  const int mask = (1 << type.bits) - 1;
  const int sign = IsUnsigned(type.dtype) ? 0 : 1 << (type.bits - 1);
  std::vector<uint8_t> values;
  values.reserve(rows * kept);
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* const bytes = packed.data() + row * row_bytes;
    for (int64_t i = 0; i < kept; ++i) {
      const int number = bytes[i / per_byte] >> (i % per_byte * type.bits) & mask;
      // Two's complement of few bits: the highest counts as negative.
      values.push_back(static_cast<uint8_t>((number ^ sign) - sign));
    }
  }
  return MakeConstant(std::move(values));
}

absl::StatusOr<DType> DTypeOfOnnx(int onnx_type, absl::string_view what) {
  switch (onnx_type) {
    case TensorProto::FLOAT:
      return DType::kF32;
    case TensorProto::DOUBLE:
      return DType::kF64;
    case TensorProto::BFLOAT16:
      return DType::kBf16;
    case TensorProto::FLOAT16:
      return DType::kF16;
    case TensorProto::INT64:
      return DType::kI64;
    case TensorProto::INT32:
      return DType::kI32;
    case TensorProto::INT16:
      return DType::kI16;
    case TensorProto::INT8:
      return DType::kI8;
    case TensorProto::UINT64:
      return DType::kU64;
    case TensorProto::UINT32:
      return DType::kU32;
    case TensorProto::UINT16:
      return DType::kU16;
    case TensorProto::UINT8:
      return DType::kU8;
    case TensorProto::BOOL:
      return DType::kBool;
    default:
      break;
  }
  return absl::UnimplementedError(absl::StrCat(what, ": ", UnsupportedTypeText(onnx_type)));
}

int OnnxTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return TensorProto::FLOAT;
    case DType::kF64:
      return TensorProto::DOUBLE;
    case DType::kBf16:
      return TensorProto::BFLOAT16;
    case DType::kF16:
      return TensorProto::FLOAT16;
    case DType::kI64:
      return TensorProto::INT64;
    case DType::kI32:
      return TensorProto::INT32;
    case DType::kI16:
      return TensorProto::INT16;
    case DType::kI8:
      return TensorProto::INT8;
    case DType::kU64:
      return TensorProto::UINT64;
    case DType::kU32:
      return TensorProto::UINT32;
    case DType::kU16:
      return TensorProto::UINT16;
    case DType::kU8:
      return TensorProto::UINT8;
    case DType::kBool:
      return TensorProto::BOOL;
  }
  CHECK(false);
  return 0;
}

absl::StatusOr<OnnxTensor> ReadOnnxTensor(const TensorProto& tensor, OnnxTensorBytes& bytes,
                                          int64_t max_elements, absl::string_view what) {
  OnnxTensor result;
  const std::optional<FewBits> few = FewBitsOfOnnx(tensor.data_type());
  if (few.has_value()) {
    result.bits = few->bits;
    result.type.dtype = few->dtype;
  } else {
    ASSIGN_OR_RETURN(result.type.dtype, DTypeOfOnnx(tensor.data_type(), what));
  }
  if (tensor.has_segment()) {
    return absl::UnimplementedError(absl::StrCat(what, ": tensors in segments are not supported"));
  }
  result.type.shape.assign(tensor.dims().begin(), tensor.dims().end());
  ASSIGN_OR_RETURN(const int64_t count, CheckedElementCount(result.type.shape, max_elements, what));
  const int64_t want_bytes =
      few.has_value() ? (count * few->bits + 7) / 8 : count * SizeBytes(result.type.dtype);
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    ASSIGN_OR_RETURN(result.data, ReadExternal(tensor, bytes.files, want_bytes, what));
  } else if (const auto taken = bytes.raw.find(&tensor); taken != bytes.raw.end()) {
    result.data = taken->second;
  } else if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    result.data = MakeConstant(std::vector<uint8_t>(raw.begin(), raw.end()));
  } else {
    result.data = ReadTypedData(tensor, result.type.dtype);
  }
  const auto got_bytes = static_cast<int64_t>(result.data->bytes().size());
  // One check for all three ways in which a tensor may be stored: nobody reads past its end later.
  if (got_bytes != want_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": got ", got_bytes, " bytes of data, want ", want_bytes, " for shape [",
                     absl::StrJoin(result.type.shape, ","), "] of ",
                     FewBitsName(result.type.dtype, result.bits)));
  }
  if (few.has_value()) result.data = UnpackBits(result.data->bytes(), *few, 1, count);
  if (result.type.dtype == DType::kBool) {  // Any byte but 0 is true; keep 1 for it.
    std::vector<uint8_t> bits(result.data->bytes().begin(), result.data->bytes().end());
    for (uint8_t& bit : bits) bit = bit != 0;
    result.data = MakeConstant(std::move(bits));
  }
  return result;
}

}  // namespace burnish
