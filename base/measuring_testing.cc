#include "base/measuring_testing.h"

#include <sys/file.h>

#include "base/measuring_files.h"
#include "gtest/gtest.h"

namespace burnish {

std::vector<UniqueFd> MeasureOn(const std::string& folder, const std::vector<int>& cpus) {
  std::vector<UniqueFd> files;
  for (const int cpu : cpus) {
    const std::string path = MeasuringFile(folder, cpu);
    EXPECT_EQ(flock(files.emplace_back(OpenMeasuringFile(path)).get(), LOCK_EX), 0);
    AnnounceMeasuring({path});
  }
  return files;
}

}  // namespace burnish
