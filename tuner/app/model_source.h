// What a user names, a model of the zoo, an operator or a file, as a graph.
#ifndef TUNER_APP_MODEL_SOURCE_H_
#define TUNER_APP_MODEL_SOURCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/frontend/model_file.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct ModelRequest {
  std::string task = {};   // Of the zoo, or one operator; or:
  std::string model = {};  // A file: ONNX, or a model graph.
  // Input name to its shape, "1x3x224x224", or behind an equals sign to its values: "=16000",
  // "=1,2,3". An input with values is none of the built model's. A name that begins with a colon is
  // a dimension's (":seq"): its text is a range, a number or a sum (ImportOptions::dims).
  std::map<std::string, std::string> shapes = {};
  int64_t batch = 1;   // Of the zoo's models.
  bool refit = false;  // Constants remember their parameters.
  uint64_t seed = 0;   // Of the weights of zoo and operators.
};

// Exactly one of `task` and `model` is given. A shape for a model of the zoo sets batch and image
// size (or sequence length). Errors: B0101, B02xx, B03xx.
absl::StatusOr<Graph> LoadModel(const ModelRequest& request);

// Loads one model with several shapes: a file is read once, and its constants lie in the same
// memory in all of its graphs.
class ModelLoader {
 public:
  explicit ModelLoader(ModelRequest request);

  const ModelRequest& request() const { return request_; }
  // As LoadModel, with these shapes in place of the request's.
  absl::StatusOr<Graph> Load(const std::map<std::string, std::string>& shapes);

 private:
  const ModelRequest request_;
  ModelReader reader_;
};

// Shapes and values by input name, as in a request. Errors: B0101 a shape that is no list of
// positive extents. Values are read with the model, which has their type.
absl::Status CheckShapes(const std::map<std::string, std::string>& shapes);

// The bytes of a model file. Errors: B0201, B0203, B0304, and those of CheckModelFormat.
absl::StatusOr<std::string> ReadModelFile(const std::string& path);

}  // namespace burnish

#endif  // TUNER_APP_MODEL_SOURCE_H_
