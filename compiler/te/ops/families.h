// The operator families: one table each, concatenated in operator.cc.
#ifndef COMPILER_TE_OPS_FAMILIES_H_
#define COMPILER_TE_OPS_FAMILIES_H_

#include <vector>

#include "compiler/te/operator.h"

namespace burnish::ops {

std::vector<OperatorDef> ConvOperators();           // conv.cc
std::vector<OperatorDef> ConvTransposeOperators();  // conv_transpose.cc
std::vector<OperatorDef> PoolOperators();           // pool.cc
std::vector<OperatorDef> MatmulOperators();         // matmul.cc
std::vector<OperatorDef> NormalizationOperators();  // normalization.cc
std::vector<OperatorDef> SoftmaxOperators();        // softmax.cc
std::vector<OperatorDef> ElementwiseOperators();    // elementwise.cc: two or three inputs
std::vector<OperatorDef> UnaryOperators();          // unary.cc: one input
std::vector<OperatorDef> ReduceOperators();         // reduce.cc
std::vector<OperatorDef> TransformOperators();      // transform.cc
std::vector<OperatorDef> GatherOperators();         // gather.cc
std::vector<OperatorDef> ResizeOperators();         // resize.cc
std::vector<OperatorDef> QuantizeOperators();       // quantize.cc
std::vector<OperatorDef> HostOperators();           // host.cc: no definitions

}  // namespace burnish::ops

#endif  // COMPILER_TE_OPS_FAMILIES_H_
