#include "tracker/tuner_identity.h"

#include "absl/strings/str_cat.h"
#include "base/secret.h"

namespace burnish {

absl::Status TunerIdentities::Check(const std::string& tuner_id, absl::string_view secret,
                                    bool is_known) const {
  if (secret.size() < kSecretBytesMin || secret.size() > kSecretBytesMax) {
    // Tuners before this rule sent none.
    return absl::PermissionDeniedError(absl::StrCat(
        "got a secret of ", secret.size(), " bytes from tuner ", tuner_id, ", want ",
        kSecretBytesMin, " to ", kSecretBytesMax, ": use a tuner of this tracker's version"));
  }
  const auto bound = fingerprints_.find(tuner_id);
  if (!is_known || bound == fingerprints_.end()) return absl::OkStatus();
  if (IsFingerprintOf(bound->second, secret)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the tracker knows tuner ", tuner_id,
                   " by another secret: another process uses this name; end it, wait a minute "
                   "until the tracker has forgotten it, then resume"));
}

void TunerIdentities::Bind(const std::string& tuner_id, absl::string_view secret) {
  fingerprints_[tuner_id] = FingerprintOf(secret);
}

void TunerIdentities::Prune(const std::function<bool(const std::string&)>& is_known) {
  std::erase_if(fingerprints_, [&](const auto& entry) { return !is_known(entry.first); });
}

}  // namespace burnish
