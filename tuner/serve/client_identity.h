// Whose a study of a daemon is: of the client that knows the secret it was submitted with. Until
// clients have certificates.
#ifndef TUNER_SERVE_CLIENT_IDENTITY_H_
#define TUNER_SERVE_CLIENT_IDENTITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "db/open.h"

namespace burnish {

// What the daemon stores of a client's secret with its study: SHA-256; empty for none. Errors:
// B0101: none that could be a secret.
absl::StatusOr<std::string> StoredClient(absl::string_view secret);

// Before a client changes a study. `study_id`: whole. Errors: B0608: the study is another's, or
// nobody's but of those who run on the machine of the database; B0601, B05xx.
absl::Status CheckClient(const Database& database, const std::string& study_id,
                         absl::string_view secret);

}  // namespace burnish

#endif  // TUNER_SERVE_CLIENT_IDENTITY_H_
