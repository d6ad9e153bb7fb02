#include "tuner/cli/client_secret.h"

#include "absl/strings/str_cat.h"
#include "base/secret.h"
#include "base/xdg_folder.h"
#include "tuner/app/error.h"
#include "tuner/app/tuner_secret.h"

namespace burnish {
namespace {

constexpr char kVariable[] = "BURNISH_CLIENT_SECRET";

}  // namespace

absl::StatusOr<std::string> ClientSecret(const std::function<const char*(const char*)>& getenv) {
  if (const char* set = getenv(kVariable); set != nullptr && *set != '\0') {
    absl::StatusOr<std::string> secret = ParseSecret(set);
    if (secret.ok()) return secret;
    return WithError(secret.status(), ErrorCode::kSettings, kVariable);
  }
  const std::string folder = XdgFolder(getenv, "XDG_STATE_HOME", ".local/state");
  if (folder.empty()) {
    return MakeError(ErrorCode::kSettings, "a daemon knows its clients by a secret in their homes",
                     "HOME", absl::StrCat("set HOME, or ", kVariable));
  }
  return SecretInFile(absl::StrCat(folder, "/burnish/client-secret"),
                      absl::StrCat("or set ", kVariable));
}

}  // namespace burnish
