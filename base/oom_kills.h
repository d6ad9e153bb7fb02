// Whether the kernel killed somebody for want of memory: what tells its SIGKILL from anybody
// else's.
#ifndef BASE_OOM_KILLS_H_
#define BASE_OOM_KILLS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace burnish {

// The count in the text of /proc/vmstat; nothing: it has none (Linux before 4.13, some sandboxes).
std::optional<int64_t> ParseOomKills(absl::string_view vmstat);

// Watches from its construction on. The kernel's count is of the whole host, kills within a control
// group included, so another process may have been the one: evidence, not proof.
class OomKillWatch {
 public:
  explicit OomKillWatch(std::string vmstat_path = "/proc/vmstat");

  // False also where the kernel does not count.
  bool SawAny() const;

 private:
  std::string vmstat_path_;
  std::optional<int64_t> before_;
};

}  // namespace burnish

#endif  // BASE_OOM_KILLS_H_
