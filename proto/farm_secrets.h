// Secrets by which a tracker knows again whoever works for it, and who may tell its workers to
// rest.
#ifndef PROTO_FARM_SECRETS_H_
#define PROTO_FARM_SECRETS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace burnish {

using GetVariable = std::function<const char*(const char*)>;  // Of the environment, or nullptr.

// Of the worker of this id, if it is this user's: made of $BURNISH_WORKER_SECRET or of the file
// "worker-secret" (UserSecret), so that each id has one of its own and a tracker learns no other.
absl::StatusOr<std::string> WorkerSecret(const GetVariable& getenv, const std::string& worker_id);

// Of whoever runs a tracker as this user: $BURNISH_OPERATOR_SECRET or the file "operator-secret".
absl::StatusOr<std::string> OperatorSecret(const GetVariable& getenv);

}  // namespace burnish

#endif  // PROTO_FARM_SECRETS_H_
