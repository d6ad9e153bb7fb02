// Well-known models with seeded random weights, built as the importer would give them.
#ifndef COMPILER_FRONTEND_ZOO_H_
#define COMPILER_FRONTEND_ZOO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct ZooOptions {
  int64_t batch = 1;
  int64_t image_size = 224;  // Height and width; a multiple of 32.
  int64_t sequence = 128;    // Tokens of bert_base, at most 512.
  uint64_t seed = 0;
};

// "bert_base", "mobilenet_v2", "resnet18", "resnet50", "vgg16".
std::vector<std::string> ZooModelNames();

// Image models: input "input" f32[batch,3,size,size], output "output" f32[batch,1000].
// bert_base: input "input_ids" i64[batch,sequence], outputs "last_hidden_state" and
// "pooler_output". Weights of convolutions and products are He-scaled, scales and variances of
// batch norms uniform in 0.5..1.5, biases and means normal with deviation 0.1, all by (seed, model,
// name of the weight). Errors: NOT_FOUND with the names there are; INVALID_ARGUMENT for an option
// out of range.
absl::StatusOr<Graph> BuildZooModel(absl::string_view name, const ZooOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ZOO_H_
