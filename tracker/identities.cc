#include "tracker/identities.h"

#include "absl/strings/str_cat.h"
#include "base/secret.h"

namespace burnish {

absl::Status Identities::Check(const std::string& name, absl::string_view secret,
                               bool is_known) const {
  const bool is_anonymous = secret.empty() && !options_.secret_required;
  const bool is_secret = secret.size() >= kSecretBytesMin && secret.size() <= kSecretBytesMax;
  if (!is_anonymous && !is_secret) {
    // Programs before this rule sent none.
    return absl::PermissionDeniedError(
        absl::StrCat("got a secret of ", secret.size(), " bytes from ", options_.noun, " ", name,
                     ", want ", kSecretBytesMin, " to ", kSecretBytesMax, ": use a ", options_.noun,
                     " of this tracker's version"));
  }
  const auto bound = fingerprints_.find(name);
  if (!is_known || bound == fingerprints_.end()) return absl::OkStatus();
  if (!is_anonymous && IsFingerprintOf(bound->second, secret)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("the tracker knows ", options_.noun, " ", name,
                                                  " by another secret: ", options_.way_out));
}

void Identities::Bind(const std::string& name, absl::string_view secret, bool was_known) {
  if (secret.empty()) {
    // What an earlier one of that name had left, which the tracker has forgotten since.
    if (!was_known) fingerprints_.erase(name);
    return;
  }
  if (was_known && fingerprints_.contains(name)) return;  // This one's: Check has seen to it.
  fingerprints_[name] = FingerprintOf(secret);
}

bool Identities::IsOwner(const std::string& name, absl::string_view secret) const {
  const auto bound = fingerprints_.find(name);
  return bound != fingerprints_.end() && IsFingerprintOf(bound->second, secret);
}

void Identities::Prune(const std::function<bool(const std::string&)>& is_known) {
  std::erase_if(fingerprints_, [&](const auto& entry) { return !is_known(entry.first); });
}

}  // namespace burnish
