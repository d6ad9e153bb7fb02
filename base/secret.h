// Secrets by which somebody is known again: a tuner by its tracker, a client by its daemon. Whoever
// has to know them again keeps a fingerprint, and no secret is ever written to a log.
#ifndef BASE_SECRET_H_
#define BASE_SECRET_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

// 16 bytes are beyond guessing; 64 bound what a stranger can send.
inline constexpr int kSecretBytesMin = 16;
inline constexpr int kSecretBytesMax = 64;

// 32 bytes from the kernel.
std::string NewSecret();

// A secret of its own for each name, so that whoever is told one learns nothing of the others.
std::string SecretFor(absl::string_view secret, absl::string_view name);

// SHA-256, 32 raw bytes.
std::string FingerprintOf(absl::string_view secret);
// In a time that does not depend on how much of it is right.
bool IsFingerprintOf(absl::string_view fingerprint, absl::string_view secret);

// From hexadecimal digits, as in a file or a variable. INVALID_ARGUMENT, without the text itself:
// not hexadecimal, or out of the bounds above.
absl::StatusOr<std::string> ParseSecret(absl::string_view text);

// What is in the file, which is made with mode 0600, and with its folder, where there is none. Of
// several processes that make it at a time all get the same. PERMISSION_DENIED: others may read it,
// or this user may not. INVALID_ARGUMENT: it holds something else. Each says what to do.
absl::StatusOr<std::string> ReadOrMakeSecret(const std::string& path);

// One of this user's secrets: of $`variable`, for what has no home of its own, else of the file
// $XDG_STATE_HOME/burnish/`name` (or ~/.local/state/...), as above. `getenv`: the value of a
// variable of the environment, or nullptr. PERMISSION_DENIED also: the file is another user's.
// FAILED_PRECONDITION: there is no home.
absl::StatusOr<std::string> UserSecret(const std::function<const char*(const char*)>& getenv,
                                       const char* variable, absl::string_view name);
// Where that file is; empty: this user has no home.
std::string UserSecretPath(const std::function<const char*(const char*)>& getenv,
                           absl::string_view name);

}  // namespace burnish

#endif  // BASE_SECRET_H_
