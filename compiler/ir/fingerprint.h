// A number for what a program does, where comparing or hashing its text would take too long.
#ifndef COMPILER_IR_FINGERPRINT_H_
#define COMPILER_IR_FINGERPRINT_H_

#include <string>

#include "compiler/ir/program.h"

namespace burnish {

// 16 raw bytes. Equal for lowered programs with the same buffers, loops, stores and expressions
// whatever their names are, and whatever else they declare that nothing mentions; different for
// others but for chance (64 * 2 bits, mixed, not cryptographic: nobody gains by a collision). Not
// to be stored: it may change with the code.
std::string FingerprintOf(const Program& lowered);

}  // namespace burnish

#endif  // COMPILER_IR_FINGERPRINT_H_
