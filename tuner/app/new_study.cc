#include "tuner/app/new_study.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/app/database.h"
#include "tuner/study/study_storage.h"

namespace burnish {

std::string NewStudyId(absl::Time now) {
  std::random_device device;
  return absl::StrCat(absl::FormatTime("%Y%m%d-%H%M%S", now, absl::UTCTimeZone()), "-",
                      absl::Hex(device() & 0xffff, absl::kZeroPad4));
}

absl::StatusOr<std::string> StoreNewStudy(const Database& database, const Clock& clock,
                                          const Tuning& tuning, const std::string& title) {
  const absl::Time now = clock.WallNow();
  const std::string id = NewStudyId(now);
  RETURN_IF_ERROR(DatabaseError(CreateStudy(*database.studies, {.id = id,
                                                                .title = title,
                                                                .spec = tuning.spec,
                                                                .target = tuning.target,
                                                                .tasks = tuning.tasks,
                                                                .now_ns = absl::ToUnixNanos(now)}),
                                database.url));
  return id;
}

}  // namespace burnish
