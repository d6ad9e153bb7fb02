#include "tuner/cli/version.h"

#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "compiler/runtime/kernel_abi.h"
#include "llvm/Config/llvm-config.h"
#include "proto/protocol.h"
#include "tuner/cli/build_commit.h"  // Generated.

namespace burnish {

std::string BuildCommit() { return BURNISH_BUILD_COMMIT; }

std::string LlvmVersion() { return LLVM_VERSION_STRING; }

std::string VersionText() {
  return absl::StrCat("tuner ", kBurnishVersion, " (protocol ", kProtocolNewest, ", commit ",
                      BuildCommit(), ", LLVM ", LlvmVersion(), ", kernel ABI ",
                      BURNISH_KERNEL_ABI_VERSION, ")");
}

}  // namespace burnish
