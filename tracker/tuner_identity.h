// Whose a tuner id is: of whoever came with it first. Its jobs and results are nobody else's, and
// a restarted tuner is known again by the secret that it kept.
#ifndef TRACKER_TUNER_IDENTITY_H_
#define TRACKER_TUNER_IDENTITY_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace burnish {

// Not thread-safe. Which tuners there are is TrackerCore's to know; an entry of one that it has
// forgotten says nothing.
class TunerIdentities {
 public:
  // Before anything is done for a caller. `is_known`: to the tracker. PERMISSION_DENIED: the id is
  // another's, or the secret is none; the message says what to do.
  absl::Status Check(const std::string& tuner_id, absl::string_view secret, bool is_known) const;
  // The caller has passed Check, and the tracker knows the tuner since this call or longer.
  void Bind(const std::string& tuner_id, absl::string_view secret);
  // Drops what is bound to tuners that are not known any more.
  void Prune(const std::function<bool(const std::string&)>& is_known);

  size_t size() const { return fingerprints_.size(); }

 private:
  std::map<std::string, std::string> fingerprints_;  // By tuner id.
};

}  // namespace burnish

#endif  // TRACKER_TUNER_IDENTITY_H_
