// From a processor's vendor, family, model and features to LLVM's name of its microarchitecture.
// Free of Abseil and of LLVM.
#ifndef COMPILER_TARGET_CPU_NAMES_H_
#define COMPILER_TARGET_CPU_NAMES_H_

#include <string>

namespace burnish {

struct CpuInfo;

// Reads `vendor`, `family`, `model` and `features`. Features beat the model number: a processor
// with a feature that the numbered microarchitecture never had gets the name of the least one that
// has it. So a server behind a hypervisor that masks the number, or one newer than the table,
// counts as a server (amx-tile with the number of a Rocket Lake is a "sapphirerapids"). A processor
// of which neither says anything gets the highest x86-64 level that its features reach: right
// everywhere, tuned for nothing. Source: the vendors' lists of family and model numbers; the names
// are those of LLVM 19.
std::string LlvmCpuName(const CpuInfo& info);

}  // namespace burnish

#endif  // COMPILER_TARGET_CPU_NAMES_H_
