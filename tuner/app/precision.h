// How a model's floats are stored, as a user says it and as a study remembers it.
#ifndef TUNER_APP_PRECISION_H_
#define TUNER_APP_PRECISION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/driver/build_model.h"
#include "compiler/graph/graph.h"
#include "proto/study.h"
#include "tuner/app/build_bundle.h"

namespace burnish {

// Of --precision.
const std::vector<std::string>& Precisions();  // "f32", "auto", "bf16", "f16", "int8".

// Error of the whole model at most, where nobody said: of a precision.
double DefaultAccuracy(const std::string& precision);

// Sets storage, or that the fastest is to be found. Errors: B0101 with `strict`, which no storage
// in 16 bits is; B0104 what is no storage of a float model (int8), with the way to it.
// Of int8 the caller builds Int8Model instead.
absl::Status TakePrecision(const std::string& precision, BuildModelOptions& options);

// A model whose products are in integers, by ranges on examples.
class Int8Model {
 public:
  // Errors: B0101 without `folder`; ExampleData's and QuantizeModel's.
  static absl::StatusOr<Int8Model> Quantize(const Graph& graph, const std::string& folder,
                                            const ScheduleFacts& facts,
                                            const BuildModelOptions& options,
                                            const std::string& what);

  const Graph& graph() const { return quantized_; }
  // Sets what `built`, of `graph`, shows against the model in f32 on the examples. Error B0804: it
  // is more than `options` allow.
  absl::Status Measure(const ScheduleFacts& facts, const BuildModelOptions& options,
                       BuiltModel& built) const;

 private:
  Graph source_, quantized_;
  ExampleInputs examples_;
  std::string what_;
};

// Sets the layers of a study that is submitted. `facts`: of default schedules. Errors:
// BuildBundle's, LoadModel's and LoadExamples'.
absl::Status ChooseLayers(const ScheduleFacts& facts, const BuildModelOptions& options,
                          StudySpec& spec);

// Of all that is in the examples; empty: they are random.
std::string ExamplesDigest(const ExampleInputs& inputs);

// The folder's examples, at most as many as errors are measured on, spread evenly; of an empty name
// random inputs. Errors: ExampleData's; B0101 for a model whose sizes each run chooses.
absl::StatusOr<ExampleInputs> LoadExamples(const std::string& folder, const Graph& graph);

}  // namespace burnish

#endif  // TUNER_APP_PRECISION_H_
