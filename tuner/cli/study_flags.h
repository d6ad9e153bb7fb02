// Flags that name a model, and the options of `tuner submit` as a study's specification.
#ifndef TUNER_CLI_STUDY_FLAGS_H_
#define TUNER_CLI_STUDY_FLAGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/target/target.h"
#include "proto/study.h"
#include "tuner/cli/command.h"

namespace burnish {

// Exactly one of --task and --model. `command`: "tuner submit". Errors: B0101.
absl::Status CheckModelFlags(const std::string& task, const std::string& model,
                             const std::string& command);

// Of --precision and --data, for all commands that have them.
inline constexpr char kPrecisionHelp[] =
    "how floats between operators and weights are stored; auto: by layer, as is fastest, int8 with "
    "--data only";
inline constexpr char kDataHelp[] =
    "a folder of NumPy files, examples that int8 has its ranges from and errors are measured on; "
    "or "
    "random, which is what errors are measured on without it";

// What commands that read a model take of its inputs.
struct InputFlags {
  std::vector<std::string> shapes, values, dims;

  void Add(CommandOptions& options);
  // "NAME=1x3x224x224" each, of `values` "NAME=16000" or "NAME=1,2,3", of `dims`
  // "NAME=1..512,NAME=8"; as a ModelRequest has them. Errors: B0101.
  absl::StatusOr<std::map<std::string, std::string>> Parse() const;
};

struct StudyFlags {
  std::string task, model, out;
  InputFlags inputs = {};
  int64_t batch = 1, trials = StudySpec::kTrialsUntilGain, early_stopping = 0, opt_level = 3;
  int64_t seed = 0, priority = 0, threads = 0;
  std::string time, until_gain = "0.5%", accuracy;
  std::string scheduler = "burnish", strategy = "bayesian", task_scheduler = "gradient";
  std::string cost_model = "xgboost", refine = "on", precision = "f32", data;
  bool no_default = false, deterministic = false;

  void AddOptions(CommandOptions& options);

  // Resolved: paths are absolute, the model file is hashed. Errors: B0101, B02xx.
  absl::StatusOr<StudySpec> ToSpec(const Target& target) const;
};

}  // namespace burnish

#endif  // TUNER_CLI_STUDY_FLAGS_H_
