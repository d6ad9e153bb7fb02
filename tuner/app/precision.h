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

// Sets storage, or that the fastest is to be found. Error B0101: with `strict`, which nothing in
// fewer bits is.
absl::Status TakePrecision(const std::string& precision, BuildModelOptions& options);

// Sets what errors are measured on, the examples of `folder` (LoadExamples), and where `precision`
// may quantize, which is with as many examples as calibration takes, the ranges of storage. Errors:
// LoadExamples'; RangesOfModel's, and B0101 for int8 without examples or with replaceable
// parameters.
absl::Status TakeExamples(const std::string& folder, const std::string& precision,
                          const Graph& graph, const ScheduleFacts& facts, const std::string& what,
                          BuildModelOptions& options);

// Sets the layers of a study that is submitted. `facts`: of default schedules. Errors:
// BuildBundle's, LoadModel's and LoadExamples'.
absl::Status ChooseLayers(const ScheduleFacts& facts, const BuildModelOptions& options,
                          StudySpec& spec);

// Of all that is in the examples; empty: they are random.
std::string ExamplesDigest(const ExampleInputs& inputs);

// The folder's examples, or drawn ones, at most as many as errors are measured on, spread evenly;
// of an empty name none, which are random inputs. Errors: ExampleData's; B0101 for a model whose
// sizes each run chooses.
absl::StatusOr<ExampleInputs> LoadExamples(const std::string& folder, const Graph& graph);

}  // namespace burnish

#endif  // TUNER_APP_PRECISION_H_
