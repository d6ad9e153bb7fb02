// Contract: how the inputs, constants and outputs of a task lie in memory. A column of a record's
// key beside the workload, so that a change of fusion or layout does not change every workload.
//
// Text, one line a parameter that does not lie densely, by parameter:
//   parameter 0 strides 57600,960,64,1 border 0:0,1:1,1:1,0:0 value 0x0p+0 offset 1024
//   parameter 1 strides 100,1 offset 0 align 16
// The empty text: all parameters are row-major, without border, from the start of their memory. The
// memory is aligned to 64 bytes, or to what `align` says.
#ifndef COMPILER_IR_CONTRACT_H_
#define COMPILER_IR_CONTRACT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"

namespace burnish {

inline constexpr int kContractBytesMax = 256 << 10;

// Inputs, constants and outputs in the program's order: position in it is what a contract's line
// calls a parameter.
std::vector<BufferId> ParametersOf(const Program& program);

// Canonical: equal storages of the parameters give equal texts.
std::string ContractOf(const Program& program);

// Gives the parameters the storage that `text` says. Hostile input: INVALID_ARGUMENT for anything
// that ContractOf would not have written for this program, and for storage above 1 TiB.
absl::Status ApplyContract(absl::string_view text, Program& program);

// Element for element at the same place, and the same border.
bool SameStorage(const Storage& a, const Storage& b);

}  // namespace burnish

#endif  // COMPILER_IR_CONTRACT_H_
