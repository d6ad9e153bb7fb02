// What the zoo's models are written with: layers with their weights. Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_ZOO_BUILDER_H_
#define COMPILER_FRONTEND_ZOO_BUILDER_H_

#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/zoo.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct ConvSpec {
  int64_t channels = 0;  // Of the output.
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t group = 1;
  bool bias = false;
};

// Layers append nodes and return the result. The models are ours, so a type error is a bug:
// CHECKed.
class ZooBuilder {
 public:
  ZooBuilder(std::string model, const ZooOptions& options);

  ValueId ImageInput();
  ValueId Input(const std::string& name, TensorType type);
  // Padded so that stride 1 keeps the size ("same" for odd kernels).
  ValueId Conv(ValueId x, const std::string& name, const ConvSpec& spec);
  ValueId BatchNorm(ValueId x, const std::string& name);
  ValueId Relu(ValueId x) { return Op("relu", {x}); }
  ValueId Relu6(ValueId x);
  ValueId MaxPool(ValueId x, int64_t kernel, int64_t stride, int64_t pad);
  // Mean over height and width, then [N, C].
  ValueId GlobalAverage(ValueId x);
  // Y = X W^T + b over the last dimension, as `dense`.
  ValueId Dense(ValueId x, const std::string& name, int64_t units);
  // The same as exporters write it for more than two dimensions: matmul, then add.
  ValueId Linear(ValueId x, const std::string& name, int64_t units);
  ValueId LayerNorm(ValueId x, const std::string& name);
  ValueId Reshape(ValueId x, std::vector<int64_t> shape);
  ValueId Transpose(ValueId x, std::vector<int64_t> perm);
  ValueId Op(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {});
  ValueId Scalar(double value);

  // Roughly normal values with mean 0.
  ValueId Normal(const std::string& name, std::vector<int64_t> shape, double deviation);
  ValueId Uniform(const std::string& name, std::vector<int64_t> shape, double low, double high);

  int64_t dim(ValueId id, int d) const { return graph_.value(id).type.shape[d]; }
  const std::vector<int64_t>& shape(ValueId id) const { return graph_.value(id).type.shape; }
  void Output(ValueId id, const std::string& name);
  Graph Take() { return std::move(graph_); }

 private:
  ZooOptions options_;
  Graph graph_;
};

Graph BuildResnet(const ZooOptions& options, int layers);  // 18 or 50.
Graph BuildMobilenetV2(const ZooOptions& options);
Graph BuildVgg16(const ZooOptions& options);
Graph BuildBertBase(const ZooOptions& options);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ZOO_BUILDER_H_
