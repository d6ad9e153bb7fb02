// Which program this is.
#ifndef TUNER_CLI_VERSION_H_
#define TUNER_CLI_VERSION_H_

#include <string>

namespace burnish {

// "tuner 0.2.0 (protocol 2, commit 0123456789ab, LLVM 19.1.7, library ABI BURNISH_0, kernel ABI 1)"
std::string VersionText();

// The same as one line of JSON.
std::string VersionJson();

std::string BuildCommit();  // "unknown" where the build was not in a git checkout.
std::string LlvmVersion();  // That the builder is built with; this program has no LLVM.

}  // namespace burnish

#endif  // TUNER_CLI_VERSION_H_
