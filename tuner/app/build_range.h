// A model whose sizes each run chooses, as one bundle with kernels for several bounds.
#ifndef TUNER_APP_BUILD_RANGE_H_
#define TUNER_APP_BUILD_RANGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "compiler/driver/build_model.h"
#include "compiler/graph/graph.h"
#include "tuner/app/build_bundle.h"
#include "tuner/app/model_source.h"

namespace burnish {

// As BuildBundle; `model` is that of the loader's request. What is said of the built model is
// said of the greatest sizes, but for the bundle and its weights. With its `refit` there is one
// bound only: replacements know one way to make each weight. Errors: BuildBundle's and LoadModel's.
absl::StatusOr<BuiltModel> BuildRange(const Graph& model, ModelLoader& loader,
                                      const ScheduleFacts& facts, const BuildModelOptions& options,
                                      const std::string& what);

}  // namespace burnish

#endif  // TUNER_APP_BUILD_RANGE_H_
