#include "tuner/sketch/generator/generator_test_util.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/target/device_model.h"
#include "tuner/sketch/sketch.h"
#include "tuner/sketch/sketch_text.h"

namespace burnish {
namespace {

constexpr int64_t kPointsPerSketch = 4;

}  // namespace

Program ProductOf(DType dtype) {
  return WorkloadOf(
      {.name = "product", .op = "matmul", .inputs = {{64, 32}, {32, 48}}, .dtype = dtype});
}

Program LongProductOf(DType dtype) {
  return WorkloadOf({.name = "long",
                     .op = "matmul",
                     .inputs = {{2, 4096}, {40, 4096}},
                     .attributes = {{"trans_b", int64_t{1}}},
                     .dtype = dtype});
}

std::string DerivedText(const Program& program, absl::string_view target_text,
                        absl::string_view name) {
  const absl::StatusOr<Target> target = ParseTarget(target_text);
  CHECK_OK(target);
  std::string names;
  for (const Sketch& sketch :
       GenerateSketches(program, DeviceModelOf(*target), {.spaces = kGenerator})) {
    absl::StrAppend(&names, sketch.name, "\n");
    if (sketch.name != name) continue;
    for (const Point& point : EnumeratePoints(sketch, kPointsPerSketch)) {
      ExpectComputes(program, StepsAt(sketch.steps, point), sketch.name);
    }
    return ToText(sketch);
  }
  return names;
}

}  // namespace burnish
