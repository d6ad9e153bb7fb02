// What a caller of any importer may set: shapes, and the limits that a hostile model meets.
#ifndef COMPILER_FRONTEND_IMPORT_OPTIONS_H_
#define COMPILER_FRONTEND_IMPORT_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace burnish {

// Of one input: what a person types.
inline constexpr size_t kInputValuesMax = 1024;

struct ImportOptions {
  // Shapes of graph inputs by name: the command line's `--shape NAME=1x3x224x224`. Needed for
  // inputs with symbolic dimensions; must agree with the fixed ones.
  std::map<std::string, std::vector<int64_t>> input_shapes;
  // Values of graph inputs by name: the command line's `--value NAME=16000` or `NAME=1,2,3`. Such
  // an input is a constant, and none of the graph's inputs. Integers, decimals, true and false, at
  // most kInputValuesMax of them: sizes, axes and rates, no weights.
  std::map<std::string, std::string> input_values;
  // Symbolic dimensions of graph inputs by name: the command line's `--dim`. "1..512": each run
  // decides; "8": fixed; "past + seq": what others add up to. A dimension without a name of its own
  // is "INPUT.0", after the input and its place. Shapes win.
  std::map<std::string, std::string> dims;
  // Folder that ONNX's external data may lie in. Empty: external data is refused.
  std::string folder;
  // Constants remember how they came from the initializers (graph/constant_origin.h).
  bool track_parameters = false;
  // Limits; a model beyond one is refused with RESOURCE_EXHAUSTED.
  int64_t max_model_bytes = int64_t{2} << 30;      // Of an ONNX message: protobuf's own limit.
  int64_t max_constant_bytes = int64_t{16} << 30;  // Weights and constants together.
  int64_t max_folded_bytes = int64_t{4} << 30;     // What constants are computed at import.
  int64_t max_tensor_elements = int64_t{1} << 34;  // Of any one tensor.
  int max_nodes = 100000;                          // Of all graphs in the model.
  int max_depth = 16;                              // Of graphs in graphs (If).
};

}  // namespace burnish

#endif  // COMPILER_FRONTEND_IMPORT_OPTIONS_H_
