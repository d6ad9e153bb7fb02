// Leave to use tile registers (AMX). Their contents are 8 KiB a thread, and Linux keeps room for
// them only for processes that have asked: without, the first instruction ends in SIGILL.
#ifndef BASE_TILE_PERMISSION_H_
#define BASE_TILE_PERMISSION_H_

namespace burnish {

// Whether this process may use them: asks the system the first time, which is to be before the
// process enters a sandbox (base/sandbox.h forbids the question). Threads and forked processes
// have what the process has; a program that it starts asks for itself. False on a system that does
// not know the question (before Linux 5.16), on a processor without tiles, and where a signal stack
// of the process is too small for them.
bool AllowTiles();

}  // namespace burnish

#endif  // BASE_TILE_PERMISSION_H_
