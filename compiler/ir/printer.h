// Text of a program, in any form. Parse(Print(p)) prints the same text again.
#ifndef COMPILER_IR_PRINTER_H_
#define COMPILER_IR_PRINTER_H_

#include <string>

#include "compiler/ir/program.h"

namespace burnish {

// Whole program: buffers, variables, blocks, tree. Deterministic; floats in hex, so nothing is
// lost.
std::string Print(const Program& program);

// One expression with variable and buffer names of `program`.
std::string PrintExpr(const Program& program, const Expr& e);

// Workload text v2: the definition alone (parameters, blocks in topological order with a fixed
// tie-break, no schedule, no storage), with positional names (buffers b0.., axes i0..), so that two
// programs that define the same computation have the same text. `empty_finish` leaves every finish
// out: the text of the anchor key. Parse gives a program with default nests.
std::string PrintWorkload(const Program& program, bool empty_finish = false);

}  // namespace burnish

#endif  // COMPILER_IR_PRINTER_H_
