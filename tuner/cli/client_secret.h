// By what a daemon knows this user again: whoever submits a study there may change it later.
#ifndef TUNER_CLI_CLIENT_SECRET_H_
#define TUNER_CLI_CLIENT_SECRET_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace burnish {

// $BURNISH_CLIENT_SECRET, hexadecimal, for what has no home of its own (CI, several users of one
// farm account); else of the file $XDG_STATE_HOME/burnish/client-secret, or ~/.local/state/...,
// mode 0600, which is made where there is none. No flag and no file of settings: others read those.
// Errors: B0102: the variable holds none, or there is no home; B0904: others may read the file;
// B0902.
absl::StatusOr<std::string> ClientSecret(const std::function<const char*(const char*)>& getenv);

}  // namespace burnish

#endif  // TUNER_CLI_CLIENT_SECRET_H_
