// One dimension of a Resize by constant taps. Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_ONNX_RESIZE_TAPS_H_
#define COMPILER_FRONTEND_ONNX_RESIZE_TAPS_H_

#include <string>

#include "compiler/frontend/onnx_compose.h"

namespace burnish {

struct ResizeAxis {
  std::string coordinates;  // ONNX's coordinate_transformation_mode.
  int64_t in = 1;
  int64_t out = 1;
  double scale = 1;
  double crop_begin = 0;  // Of tf_crop_and_resize, as shares of the extent.
  double crop_end = 1;
};

struct ResizeKernel {
  bool cubic = false;  // Else linear.
  double cubic_a = -0.75;
  bool antialias = false;
  bool exclude_outside = false;
  double extrapolation = 0;
};

ValueId EmitResizeAxis(Composer& c, ValueId x, int64_t d, const ResizeAxis& axis,
                       const ResizeKernel& kernel);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_RESIZE_TAPS_H_
