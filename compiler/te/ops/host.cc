// A row for each host kernel. Names, attributes and types are the kernel's own.
#include <utility>

#include "base/check.h"
#include "compiler/te/host_operator.h"
#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish {
namespace {

TensorType TensorTypeOf(const HostType& type) {
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kBf16, DType::kF16, DType::kI64, DType::kI32, DType::kI16,
        DType::kI8, DType::kU64, DType::kU32, DType::kU16, DType::kU8, DType::kBool}) {
    if (ElementTypeOf(dtype) == type.type) return {dtype, type.shape};
  }
  CHECK(false) << "a host kernel made up an element type";
  return {};
}

// Without the outputs.
HostSignature CallOf(const HostKernel& kernel, const Attributes& attributes,
                     absl::Span<const TensorType> inputs) {
  HostSignature call{.kernel = kernel.name, .attributes = kernel.attributes};
  for (HostAttribute& attribute : call.attributes) {
    if (attribute.text.empty()) {
      attribute.number = attributes.Int(attribute.name, attribute.number);
    } else {
      attribute.text = attributes.String(attribute.name, attribute.text);
    }
  }
  for (const TensorType& input : inputs) call.inputs.push_back(HostTypeOf(input));
  return call;
}

absl::StatusOr<std::vector<TensorType>> InferAs(const HostKernel& kernel,
                                                const Attributes& attributes,
                                                absl::Span<const TensorType> inputs) {
  RETURN_IF_ERROR(ops::CheckNotEmpty(inputs));
  for (const TensorType& input : inputs) {
    if (!IsStorageFloat(input.dtype)) continue;
    return absl::UnimplementedError(
        absl::StrCat("got ", ops::TypeText(input), ", want f32 (Cast before and behind ",
                     kernel.name, ", which runs as a function on numbers of 32 and 64 bits)"));
  }
  const RuntimeOr<std::vector<HostType>> types = kernel.infer(CallOf(kernel, attributes, inputs));
  if (!types.ok()) return absl::InvalidArgumentError(types.status().message());
  std::vector<TensorType> outputs;
  for (const HostType& type : *types) outputs.push_back(TensorTypeOf(type));
  return outputs;
}

// A row's functions have no place for a kernel, so each kernel gets functions of its own.
template <size_t index>
absl::StatusOr<std::vector<TensorType>> Infer(const Attributes& attributes,
                                              absl::Span<const TensorType> inputs) {
  return InferAs(AllHostKernels()[index], attributes, inputs);
}

std::vector<Tensor> Define(TeBuilder&, const Attributes&, absl::Span<const Tensor>) {
  CHECK(false) << "a host operator has no definition";
  return {};
}

int64_t NoFlops(const Attributes&, absl::Span<const TensorType>) { return 0; }

constexpr size_t kKernelsMax = 64;

template <size_t... index>
std::vector<OperatorDef> Rows(std::index_sequence<index...>) {
  const std::vector infers = {&Infer<index>...};
  CHECK(AllHostKernels().size() <= infers.size());
  std::vector<OperatorDef> rows;
  for (size_t i = 0; i < AllHostKernels().size(); ++i) {
    const std::optional<OpId> id = FindOpId(AllHostKernels()[i].name);
    CHECK(id.has_value()) << AllHostKernels()[i].name;
    rows.push_back({.id = *id,
                    .fusion = FusionKind::kHost,
                    .layout = LayoutRule::kFixed,
                    .traits = {},
                    .infer = infers[i],
                    .define = &Define,
                    .flop_count = &NoFlops});
  }
  return rows;
}

}  // namespace

ElementType ElementTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return ElementType::kF32;
    case DType::kF64:
      return ElementType::kF64;
    case DType::kBf16:
      return ElementType::kBf16;
    case DType::kF16:
      return ElementType::kF16;
    case DType::kI64:
      return ElementType::kI64;
    case DType::kI32:
      return ElementType::kI32;
    case DType::kI16:
      return ElementType::kI16;
    case DType::kI8:
      return ElementType::kI8;
    case DType::kU64:
      return ElementType::kU64;
    case DType::kU32:
      return ElementType::kU32;
    case DType::kU16:
      return ElementType::kU16;
    case DType::kU8:
      return ElementType::kU8;
    case DType::kBool:
      return ElementType::kBool;
  }
  return ElementType::kBool;
}

HostType HostTypeOf(const TensorType& type) { return {ElementTypeOf(type.dtype), type.shape}; }

HostSignature HostSignatureOf(const OperatorDef& op, const Attributes& attributes,
                              absl::Span<const TensorType> inputs) {
  const HostKernel* kernel = FindHostKernel(op.name());
  CHECK(kernel != nullptr) << op.name();
  HostSignature call = CallOf(*kernel, attributes, inputs);
  RuntimeOr<std::vector<HostType>> outputs = kernel->infer(call);
  CHECK(outputs.ok()) << outputs.status().message();
  call.outputs = *std::move(outputs);
  return call;
}

std::vector<OperatorDef> ops::HostOperators() {
  return Rows(std::make_index_sequence<kKernelsMax>());
}

}  // namespace burnish
