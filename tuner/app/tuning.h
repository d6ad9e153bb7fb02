// From a study's specification to a graph and its tasks.
#ifndef TUNER_APP_TUNING_H_
#define TUNER_APP_TUNING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/build_model.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/precision_pass.h"
#include "compiler/ir/dtype.h"
#include "compiler/target/target.h"
#include "proto/study.h"
#include "tuner/app/model_source.h"
#include "tuner/study/study_types.h"

namespace burnish {

struct Tuning {
  StudySpec spec = {};
  Target target = {};
  // What loaded `graph`, which loads it within other bounds.
  std::shared_ptr<ModelLoader> loader = nullptr;
  Graph graph = {};
  std::vector<StudyTaskSpec> tasks = {};  // As the study store has them.
  std::vector<int64_t> flop_counts = {};  // Of the tasks.
  // Of all steps' weights: what decides where measurements find them.
  int64_t constant_bytes = 0;
  // The task of each step of the model; empty: it is a single operator.
  std::vector<int> model_order = {};
};

// Loads the model and cuts it into tasks. A pure function of the spec and the model file, so that a
// resumed study has the same tasks. Errors: B01xx, B03xx; B0604: another file than was submitted.
absl::StatusOr<Tuning> PrepareTuning(const StudySpec& spec);

// Of the model's name or path, for people.
std::string TitleOf(const StudySpec& spec);

// Of "f32", "bf16", "f16" and "int8".
DType TypeOfPrecision(const std::string& precision);

// What was found when it was submitted is not looked for again.
FloatStorage StorageOf(const StudySpec& spec);

// Of the study's tasks, as of its bundle.
BuildModelOptions BuildOptions(const Tuning& tuning);

}  // namespace burnish

#endif  // TUNER_APP_TUNING_H_
