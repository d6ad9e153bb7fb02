// Who may reach a daemon, or be reached by one, as long as nothing on the wire is encrypted and
// nobody has to show who they are.
#ifndef PROTO_DOOR_H_
#define PROTO_DOOR_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

// Whether only this machine's processes are at the other end: "unix:PATH", and a port of
// "localhost", 127.0.0.0/8 or [::1]. Any other name is looked up elsewhere, and may be anybody.
bool IsLocalAddress(absl::string_view address);

// "HOST:PORT" with a port up to 65535, or "unix:PATH". Else INVALID_ARGUMENT, with what is wrong:
// the system's own look-up takes 65536 and more, and wraps.
absl::Status CheckAddress(absl::string_view address);

enum class Door {
  kListen,   // Whoever connects may have code of their own run here, or take and give results.
  kConnect,  // Whoever answers may.
};

// OK for a local address, and for any with `insecure`. Else, and for what is no address at all,
// INVALID_ARGUMENT, with the reason and the ways out.
absl::Status CheckDoor(absl::string_view address, Door door, bool insecure);

// The value of a variable of the environment, or nullptr.
using GetEnv = std::function<const char*(const char*)>;
const char* SystemGetEnv(const char* name);

// Every user of this machine reaches a port of loopback, so who calls there has to know a secret of
// the daemon's user: $BURNISH_LOOPBACK_SECRET, or the file UserSecret names "loopback-secret",
// which is made where there is none. Whoever connects to such an address, or listens on it, gets
// the secret by this. Empty: the address asks for none, as a unix socket, whose folder says who may
// connect. Errors are UserSecret's.
absl::StatusOr<std::string> LoopbackSecret(absl::string_view address,
                                           const GetEnv& getenv = SystemGetEnv);

// Whether only this user's processes can be at the other end: a unix socket in a folder that nobody
// else may enter, as it is now.
bool IsOwnDoor(absl::string_view address);

// "unix:PATH" of a socket that only this user can reach, for the program of that name: in
// $XDG_RUNTIME_DIR/burnish, or /tmp/burnish-UID, which is made. PERMISSION_DENIED, with what to do:
// it is another user's, or others may enter it.
absl::StatusOr<std::string> UserSocket(absl::string_view program,
                                       const GetEnv& getenv = SystemGetEnv);

}  // namespace burnish

#endif  // PROTO_DOOR_H_
