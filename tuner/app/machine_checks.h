// What on this machine would spoil a measurement or a build, each with its cure.
#ifndef TUNER_APP_MACHINE_CHECKS_H_
#define TUNER_APP_MACHINE_CHECKS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace burnish {

enum class CheckResult { kOk, kWarning, kFailure };

struct MachineCheck {
  std::string name;  // "governor"
  CheckResult result = CheckResult::kOk;
  std::string detail;  // What was found.
  std::string cure;    // Empty when all is well.
};

// "ok", "warning", "failure".
absl::string_view CheckResultName(CheckResult result);

// Where the system tells about itself; tests have folders of their own.
struct MachineRoots {
  std::string proc = "/proc";
  std::string sys = "/sys";
};

MachineCheck CheckCpu();
MachineCheck CheckSiblings();
MachineCheck CheckGovernor(const MachineRoots& roots);
MachineCheck CheckHugePages(const MachineRoots& roots);
MachineCheck CheckMemory(const MachineRoots& roots);
// CPU time that others took or the hypervisor stole, over `sample`.
MachineCheck CheckInterference(const MachineRoots& roots, absl::Duration sample);
// What one value of /proc/stat after another says; for tests. `before`, `after`: whole files.
MachineCheck JudgeInterference(absl::string_view before, absl::string_view after);
// Whether denormals are left alone where programs start: generated code sets it for itself.
MachineCheck CheckDenormals();
// What the processes that compile and run candidates can be kept from.
MachineCheck CheckSandbox();
MachineCheck CheckDisk(const std::string& folder);

}  // namespace burnish

#endif  // TUNER_APP_MACHINE_CHECKS_H_
