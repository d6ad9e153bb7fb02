#include "tuner/app/tuner_secret.h"

#include "absl/strings/str_cat.h"
#include "base/secret.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"

namespace burnish {

absl::StatusOr<std::string> TunerSecret(const std::string& database_url) {
  const std::string database = DatabasePath(database_url);
  if (database.empty()) return NewSecret();
  const std::string path = absl::StrCat(database, ".secret");
  absl::StatusOr<std::string> secret = ReadOrMakeSecret(path);
  if (secret.ok()) return secret;
  const bool is_denied = absl::IsPermissionDenied(secret.status());
  return WithError(secret.status(), is_denied ? ErrorCode::kPermission : ErrorCode::kIo, path);
}

}  // namespace burnish
