// The steps of an f32 build as layers that may be stored in fewer bits.
#ifndef COMPILER_DRIVER_PROBED_MODEL_H_
#define COMPILER_DRIVER_PROBED_MODEL_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/driver/assemble.h"
#include "compiler/driver/planned_model.h"
#include "compiler/graph/quantize_graph.h"
#include "proto/compile.h"

namespace burnish {

// Steps of the f32 build that are stored alike.
struct ProbedLayer {
  std::vector<std::string> nodes;  // By GraphNode::layer.
  // Constants that are narrow with the layer: buffers of steps.
  struct Weights {
    size_t step = 0, buffer = 0;
  };
  std::vector<Weights> weights;
};

struct ProbedModel {
  std::vector<ProbedLayer> layers;
  // Layers that read each output of each step, and each input of the model: numbers of layers.
  std::vector<std::vector<std::vector<int>>> step_readers;
  std::vector<std::vector<int>> input_readers;
  // How these would be quantized, where that is known.
  std::vector<std::vector<std::optional<ByteScale>>> step_scales;
  std::vector<std::optional<ByteScale>> input_scales;
};

// Layers of nodes that read or write floats of 16 bits, and do more than move them.
std::set<std::string> NarrowNodes(const Graph& graph);

// Of a model without control flow that was built in f32. `narrow`: NarrowNodes of the same model,
// cut with all its floats in 16 bits: which nodes may be. `ranges`: FloatStorage::ranges.
ProbedModel ProbedModelOf(const PlannedModel& model, const std::vector<StepPlan>& steps,
                          const CompileReply& reply, const std::set<std::string>& narrow,
                          const std::map<std::string, ValueRange>& ranges);

}  // namespace burnish

#endif  // COMPILER_DRIVER_PROBED_MODEL_H_
