#include "base/tile_permission.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace burnish {

bool AllowTiles() {
  // From asm/prctl.h of Linux 5.16: older headers lack them.
  constexpr long kRequestComponent = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;              // XFEATURE_XTILEDATA
#if defined(__x86_64__)
  static const bool allowed = syscall(SYS_arch_prctl, kRequestComponent, kTileData) == 0;
  return allowed;
#else
  return false;
#endif
}

}  // namespace burnish
