// Operators whose meaning is a function of the runtime instead of a tensor expression
// (compiler/runtime/host/host_kernel.h): FusionKind::kHost.
#ifndef COMPILER_TE_HOST_OPERATOR_H_
#define COMPILER_TE_HOST_OPERATOR_H_

#include "absl/types/span.h"
#include "compiler/ir/dtype.h"
#include "compiler/runtime/host/host_kernel.h"
#include "compiler/runtime/tensor_info.h"
#include "compiler/te/operator.h"

namespace burnish {

ElementType ElementTypeOf(DType dtype);
HostType HostTypeOf(const TensorType& type);

// The call that a node of such an operator is. `infer` accepted these.
HostSignature HostSignatureOf(const OperatorDef& op, const Attributes& attributes,
                              absl::Span<const TensorType> inputs);

}  // namespace burnish

#endif  // COMPILER_TE_HOST_OPERATOR_H_
