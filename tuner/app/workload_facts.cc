#include "tuner/app/workload_facts.h"

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/ir/parser.h"
#include "compiler/te/operator.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

// "14x14x256"; without dimensions of 1 in front, but at least one dimension.
std::string Dims(const Shape& shape) {
  size_t first = 0;
  while (first + 1 < shape.size() && shape[first] == 1) ++first;
  return absl::StrJoin(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end(), "x");
}

const Buffer* FirstOf(const Program& program, BufferRole role) {
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role == role) return &buffer;
  }
  return nullptr;
}

}  // namespace

std::optional<int64_t> WorkloadFlops(absl::string_view workload_text) {
  const absl::StatusOr<Program> program = ParseProgram(workload_text);
  if (!program.ok()) return std::nullopt;
  return CountFlops(*program);
}

int64_t WorkloadConstantBytes(absl::string_view workload_text) {
  const absl::StatusOr<Program> program = ParseProgram(workload_text);
  if (!program.ok()) return 0;
  return WorkloadConstantBytes(*program);
}

int64_t WorkloadConstantBytes(const Program& workload) {
  int64_t bytes = 0;
  for (const Buffer& buffer : workload.buffers) {
    if (buffer.role != BufferRole::kConstant) continue;
    bytes += ElementCount(buffer.shape) * SizeBytes(buffer.dtype);
  }
  return bytes;
}

std::string WorkloadTitle(absl::string_view operators, absl::string_view workload_text) {
  const absl::StatusOr<Program> program = ParseProgram(workload_text);
  if (!program.ok()) return std::string(operators);
  const Buffer* input = FirstOf(*program, BufferRole::kInput);
  const Buffer* output = FirstOf(*program, BufferRole::kOutput);
  const Buffer* weights = FirstOf(*program, BufferRole::kConstant);
  if (output == nullptr) return std::string(operators);
  // By ranks alone: a workload's text has no name of the operator. A title is for people; where
  // this guess is wrong nothing but the title is.
  const bool is_convolution = input != nullptr && weights != nullptr && weights->shape.size() > 2 &&
                              weights->shape.size() == output->shape.size() &&
                              weights->shape.size() == input->shape.size();
  if (is_convolution) {
    // Images are [N, spatial.., C], weights [O, I / groups, kernel..].
    const Shape image(output->shape.begin(), output->shape.end() - 1);
    const Shape kernel(weights->shape.begin() + 2, weights->shape.end());
    return absl::StrCat(operators, " ", Dims(image), " ", input->shape.back(), "-",
                        output->shape.back(), " ", absl::StrJoin(kernel, "x"));
  }
  std::string title(operators);
  // A product of squares: without its inner dimension it would be named as products of any are.
  const bool is_product =
      input != nullptr && !input->shape.empty() && input->shape.back() > 1 &&
      CountFlops(*program) >= 2 * ElementCount(output->shape) * input->shape.back();
  if (input != nullptr && (input->shape != output->shape || is_product)) {
    absl::StrAppend(&title, " ", Dims(input->shape), " ->");
  }
  return absl::StrCat(title, " ", Dims(output->shape));
}

}  // namespace burnish
