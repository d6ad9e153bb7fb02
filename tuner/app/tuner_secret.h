// By what a tracker knows the tuners of a database again, whichever process runs a study: its first
// run, `resume` after a crash, or a daemon's next child.
#ifndef TUNER_APP_TUNER_SECRET_H_
#define TUNER_APP_TUNER_SECRET_H_

#include <string>

#include "absl/status/statusor.h"

namespace burnish {

// In the file DATABASE.secret, mode 0600, which is made where there is none; beside the database
// and not in it, which others may read. Each tuner has its own of it (SecretFor). A database in
// memory ends with its process, and so does its secret. Errors: B0904: others may read the file, or
// this user may not; B0902.
absl::StatusOr<std::string> TunerSecret(const std::string& database_url);

}  // namespace burnish

#endif  // TUNER_APP_TUNER_SECRET_H_
