#include "tuner/app/study_spec.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "base/status_macros.h"
#include "proto/workload.h"
#include "tuner/app/error.h"
#include "tuner/app/example_data.h"
#include "tuner/app/model_source.h"
#include "tuner/study/search_preset.h"

namespace burnish {
namespace {

std::string Absolute(const std::string& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal().string();
}

}  // namespace

absl::StatusOr<StudySpec> CompleteStudySpec(StudySpec spec) {
  const absl::StatusOr<SearchPreset> preset = FindSearchPreset(spec.scheduler);
  RETURN_IF_ERROR(WithError(preset.status(), ErrorCode::kUsage, spec.scheduler));
  if (!preset->tunes) spec.trials_max = 0;
  if (!preset->analytic) spec.no_default = true;
  if (!spec.model_path.empty()) {
    spec.model_path = Absolute(spec.model_path);
    ASSIGN_OR_RETURN(const std::string bytes, ReadModelFile(spec.model_path));
    spec.model_sha256 = Sha256Bytes(bytes);
  }
  if (!spec.out_path.empty()) spec.out_path = Absolute(spec.out_path);
  if (!spec.data_path.empty() && spec.data_path != kRandomData) {
    spec.data_path = Absolute(spec.data_path);
  }
  return spec;
}

}  // namespace burnish
