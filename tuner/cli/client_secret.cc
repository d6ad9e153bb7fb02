#include "tuner/cli/client_secret.h"

#include "absl/strings/str_cat.h"
#include "base/secret.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

constexpr char kVariable[] = "BURNISH_CLIENT_SECRET";
constexpr char kName[] = "client-secret";

}  // namespace

absl::StatusOr<std::string> ClientSecret(const std::function<const char*(const char*)>& getenv) {
  absl::StatusOr<std::string> secret = UserSecret(getenv, kVariable, kName);
  if (secret.ok()) return secret;
  const std::string path = UserSecretPath(getenv, kName);
  const char* const set = getenv(kVariable);
  if (set != nullptr && *set != '\0') {
    return WithError(secret.status(), ErrorCode::kSettings, kVariable);
  }
  if (path.empty()) return WithError(secret.status(), ErrorCode::kSettings, "HOME");
  const bool is_denied = absl::IsPermissionDenied(secret.status());
  return WithError(secret.status(), is_denied ? ErrorCode::kPermission : ErrorCode::kIo, path,
                   absl::StrCat("or set ", kVariable));
}

}  // namespace burnish
