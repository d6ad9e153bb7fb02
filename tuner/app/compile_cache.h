// What compiling repeats from run to run, kept in a folder of the user's: default schedules of a
// workload, which take half a second of a core each, and the kernels of a model.
#ifndef TUNER_APP_COMPILE_CACHE_H_
#define TUNER_APP_COMPILE_CACHE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_cache.h"
#include "compiler/ir/program.h"
#include "compiler/target/target.h"
#include "proto/builder.h"
#include "proto/calibration_row.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

class CompileCache {
 public:
  // `folder`: empty keeps nothing; a program without a build id does not, either.
  explicit CompileCache(const std::string& folder);

  // As DefaultSchedules for the target's machine, whose row is `calibration`.
  std::vector<DefaultChoice> Defaults(const Program& workload, const Target& target,
                                      const std::optional<CalibrationRow>& calibration,
                                      const SketchOptions& sketches,
                                      const DefaultNeeds& needs = {}) const;

  // Builds as `builder`, which outlives it; a library that was built before without a failure comes
  // from the folder. This outlives it, too.
  std::unique_ptr<Builder> Over(Builder& builder) const;

 private:
  std::optional<FileCache> files_;
  // In front of every key: the builds of this program and of the builder. All that another version
  // would do otherwise is in one of the two.
  std::string versions_;
};

}  // namespace burnish

#endif  // TUNER_APP_COMPILE_CACHE_H_
