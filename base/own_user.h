// The user that a process becomes before it reads or runs what others wrote, where it is root.
// Free of Abseil.
#ifndef BASE_OWN_USER_H_
#define BASE_OWN_USER_H_

#include <cstdint>

namespace burnish {

// nobody's number on Linux, of the user and of the group: owns no file.
inline constexpr uint32_t kOwnUser = 65534;

// Gives up root for good: user, group, further groups, and what set-user-id programs would give
// (no_new_privs). The parent death signal stays. What is open stays open; who needs another file
// opens it before. Returns whether this process is not root afterwards: who was not is left as it
// is, and some systems let root become nobody else (a user namespace with one user, a container
// without that capability). Only for processes with one thread.
bool BecomeOwnUser();

// What BecomeOwnUser would return here, of a child that tries.
bool MayBecomeOwnUser();

}  // namespace burnish

#endif  // BASE_OWN_USER_H_
