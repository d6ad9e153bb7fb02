// Values that are worth keeping from run to run, one file each: a folder of a user's, with a bound
// on its bytes. What cannot be read or kept costs time and nothing else: no call fails.
#ifndef BASE_FILE_CACHE_H_
#define BASE_FILE_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace burnish {

// Several processes and threads may use one folder at once.
class FileCache {
 public:
  // `folder` is made when something is kept. One that others may write to is not used: what is
  // kept is believed, and some of it is run. `bytes_max`: of all files.
  FileCache(std::string folder, int64_t bytes_max)
      : folder_(std::move(folder)), bytes_max_(bytes_max) {}

  // The value that was last put under the key; nothing where there is none, or where the file is
  // damaged. Keys are texts of any length; all that the value depends on belongs into its key.
  std::optional<std::string> Get(absl::string_view key) const;

  // Removes what was used longest ago, where it gets too much. A value of more than a quarter of
  // `bytes_max` is not kept: it would push out what many runs use.
  void Put(absl::string_view key, absl::string_view value) const;

 private:
  std::string PathOf(absl::string_view key) const;
  void Evict() const;

  const std::string folder_;
  const int64_t bytes_max_;
};

}  // namespace burnish

#endif  // BASE_FILE_CACHE_H_
