#include "tuner/cli/version.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "compiler/runtime/kernel_abi.h"
#include "llvm/Config/llvm-config.h"
#include "proto/protocol.h"
#include "tuner/cli/build_commit.h"  // Generated.

namespace burnish {
namespace {

// The newest version node of libburnish.so.0 (compiler/runtime/burnish.map).
constexpr char kLibraryAbi[] = "BURNISH_1";

}  // namespace

std::string BuildCommit() { return BURNISH_BUILD_COMMIT; }

std::string LlvmVersion() { return LLVM_VERSION_STRING; }

std::string VersionText() {
  return absl::StrCat("tuner ", kBurnishVersion, " (protocol ", kProtocolNewest, ", commit ",
                      BuildCommit(), ", LLVM ", LlvmVersion(), ", library ABI ", kLibraryAbi,
                      ", kernel ABI ", BURNISH_KERNEL_ABI_VERSION, ")");
}

std::string VersionJson() {
  return nlohmann::ordered_json({{"schema", 1},
                                 {"program", "tuner"},
                                 {"version", kBurnishVersion},
                                 {"commit", BuildCommit()},
                                 {"protocol", kProtocolNewest},
                                 {"protocol_oldest", kProtocolOldest},
                                 {"library_abi", kLibraryAbi},
                                 {"kernel_abi", BURNISH_KERNEL_ABI_VERSION},
                                 {"llvm", LlvmVersion()}})
      .dump();
}

}  // namespace burnish
