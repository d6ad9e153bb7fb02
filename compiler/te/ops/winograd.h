// Algorithm variants of a convolution: other definitions of the same task.
//
// Winograd's minimal filtering F(m x m, 3 x 3). Source: Lavin and Gray, "Fast algorithms for
// convolutional neural networks", 2015, arXiv 1509.09308, section 4. For tile t of m x m outputs:
//   U[a,b,c,o] = G g Gt      of the weights g = W[o,c]: depends on weights only
//   V[a,b,t,c] = Bt d B      of the (m+2) x (m+2) input tile d, in two steps V0, V
//   M[a,b,t,o] = sum_c V * U (m+2)^2 matrix products
//   Y          = At M A      in two steps T, Y; bias and finish in Y
#ifndef COMPILER_TE_OPS_WINOGRAD_H_
#define COMPILER_TE_OPS_WINOGRAD_H_

#include <functional>
#include <string>
#include <vector>

#include "compiler/te/operator.h"

namespace burnish::ops {

struct Variant {
  std::string name;  // "winograd_m2", ..
  NumericsKind numerics = NumericsKind::kExact;
  int winograd_m = 0;
  // As OperatorDef::define, for the attributes that the variant was made for; also sets the
  // builder's numerics.
  std::function<std::vector<Tensor>(TeBuilder&, absl::Span<const Tensor>)> define;
};

// Other definitions than the operator's own. Empty where none applies: Winograd needs two spatial
// dimensions, channels last, kernel 3 x 3, stride 1, dilation 1, group 1, f32.
std::vector<Variant> ConvVariants(const Attributes& attributes,
                                  absl::Span<const TensorType> inputs);

}  // namespace burnish::ops

#endif  // COMPILER_TE_OPS_WINOGRAD_H_
