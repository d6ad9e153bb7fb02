#include "base/cpu_quota.h"

#include <limits>
#include <sstream>

#include "base/control_groups.h"

namespace burnish {
namespace {

// Both in microseconds. "max" and -1 are no limit, and so is what is no number.
double Ratio(const std::string& quota_us, const std::string& period_us) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::istringstream quota_text(quota_us), period_text(period_us);
  double quota = 0, period = 0;
  if (!(quota_text >> quota) || !(period_text >> period) || quota <= 0 || period <= 0) return kNone;
  return quota / period;
}

double QuotaOfGroup(const std::string& folder, bool is_version_2) {
  if (is_version_2) {
    const auto [quota, period] = TwoWords(folder + "/cpu.max");
    return Ratio(quota, period);
  }
  return Ratio(TwoWords(folder + "/cpu.cfs_quota_us").first,
               TwoWords(folder + "/cpu.cfs_period_us").first);
}

}  // namespace

double CpuQuota(const std::string& root) { return LeastOfGroups(root, "cpu", QuotaOfGroup); }

}  // namespace burnish
