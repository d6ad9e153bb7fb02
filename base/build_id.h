// Which build of a program a file holds.
#ifndef BASE_BUILD_ID_H_
#define BASE_BUILD_ID_H_

#include <string>

namespace burnish {

// The build id that the linker wrote into the ELF program (its note NT_GNU_BUILD_ID), in
// hexadecimal digits; empty where there is none, or where `path` is no such file. Two programs of
// one id have the same code and data. `path`: /proc/self/exe for this one.
std::string BuildIdOf(const std::string& path);

}  // namespace burnish

#endif  // BASE_BUILD_ID_H_
