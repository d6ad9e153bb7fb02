// From a processor's vendor, family, model and features to LLVM's name of its microarchitecture.
// Free of Abseil and of LLVM.
#ifndef BASE_CPU_NAMES_H_
#define BASE_CPU_NAMES_H_

#include <string>

namespace burnish {

struct CpuInfo;

// Reads `vendor`, `family`, `model` and `features`. A processor that is not in the table gets the
// highest x86-64 level that its features reach: right everywhere, tuned for nothing.
// Source: the vendors' lists of family and model numbers; the names are those of LLVM 19.
std::string LlvmCpuName(const CpuInfo& info);

}  // namespace burnish

#endif  // BASE_CPU_NAMES_H_
