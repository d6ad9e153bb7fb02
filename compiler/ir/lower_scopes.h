// Private to lowering: where temporaries live.
#ifndef COMPILER_IR_LOWER_SCOPES_H_
#define COMPILER_IR_LOWER_SCOPES_H_

#include "absl/status/status.h"
#include "compiler/ir/program.h"

namespace burnish {

// Gives every buffer of a program of explicit stores its scope. A scope that was asked for is kept,
// or refused with INVALID_ARGUMENT where the memory is not one of all that touch it (scratch of a
// serial nest, which one worker runs, is spelled kGlobal). kAuto becomes
// the narrowest memory that all who touch the buffer have in common: a worker's scratch within one
// parallel nest, a thread's or a block's memory within one nest of bound loops, else kGlobal.
absl::Status ResolveScopes(Program& program);

}  // namespace burnish

#endif  // COMPILER_IR_LOWER_SCOPES_H_
