#include "proto/farm_secrets.h"

#include "base/secret.h"
#include "base/status_macros.h"

namespace burnish {

absl::StatusOr<std::string> WorkerSecret(const GetVariable& getenv, const std::string& worker_id) {
  ASSIGN_OR_RETURN(const std::string secret,
                   UserSecret(getenv, "BURNISH_WORKER_SECRET", "worker-secret"));
  return SecretFor(secret, worker_id);
}

absl::StatusOr<std::string> OperatorSecret(const GetVariable& getenv) {
  return UserSecret(getenv, "BURNISH_OPERATOR_SECRET", "operator-secret");
}

}  // namespace burnish
