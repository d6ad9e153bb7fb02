// What a user names, a model of the zoo, an operator or a file, as a graph.
#ifndef TUNER_APP_MODEL_SOURCE_H_
#define TUNER_APP_MODEL_SOURCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct ModelRequest {
  std::string task = {};                           // Of the zoo, or one operator; or:
  std::string model = {};                          // An ONNX file.
  std::map<std::string, std::string> shapes = {};  // Input name to "1x3x224x224".
  int64_t batch = 1;                               // Of the zoo's models.
  bool refit = false;                              // Constants remember their parameters.
  uint64_t seed = 0;                               // Of the weights of zoo and operators.
};

// Exactly one of `task` and `model` is given. A shape for a model of the zoo sets batch and image
// size (or sequence length). Errors: B0101, B02xx, B03xx.
absl::StatusOr<Graph> LoadModel(const ModelRequest& request);

// Shapes by input name, as in a request. Errors: B0101 one that is no list of positive extents.
absl::Status CheckShapes(const std::map<std::string, std::string>& shapes);

// The bytes of a model file. Errors: B0201, B0203, B0304.
absl::StatusOr<std::string> ReadModelFile(const std::string& path);

}  // namespace burnish

#endif  // TUNER_APP_MODEL_SOURCE_H_
