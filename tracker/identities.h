// Whose a name is, of a tuner or a worker: of whoever came with it first. Its jobs and results are
// nobody else's, nor are its leases, and who is restarted is known again by the secret that it
// kept.
#ifndef TRACKER_IDENTITIES_H_
#define TRACKER_IDENTITIES_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace burnish {

// Not thread-safe. Which names there are is TrackerCore's to know; an entry of one that it has
// forgotten says nothing.
class Identities {
 public:
  struct Options {
    std::string noun = "";  // Of messages: "tuner".
    // False: one without a secret may have a name that is nobody's, and then shares it.
    bool secret_required = true;
    std::string way_out = "";  // Of a name that is another's, for people.
  };

  explicit Identities(const Options& options) : options_(options) {}

  // Before anything is done for a caller. `is_known`: to the tracker. PERMISSION_DENIED: the name
  // is another's, or the secret is none; the message says what to do.
  absl::Status Check(const std::string& name, absl::string_view secret, bool is_known) const;
  // The caller has passed Check, and the tracker knows it now. `was_known`: before the call, too.
  void Bind(const std::string& name, absl::string_view secret, bool was_known);
  // Whether the name came with this secret.
  bool IsOwner(const std::string& name, absl::string_view secret) const;
  // Drops what is bound to names that are not known any more.
  void Prune(const std::function<bool(const std::string&)>& is_known);

  size_t size() const { return fingerprints_.size(); }

 private:
  const Options options_;
  std::map<std::string, std::string> fingerprints_;  // By name.
};

}  // namespace burnish

#endif  // TRACKER_IDENTITIES_H_
