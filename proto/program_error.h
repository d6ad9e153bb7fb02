// How every program says why it ends: a number that never changes its meaning, what happened, and
// what to do next. docs/cli.md lists the numbers.
#ifndef PROTO_PROGRAM_ERROR_H_
#define PROTO_PROGRAM_ERROR_H_

#include <string>

namespace burnish {

struct ProgramError {
  std::string number;      // "B0101"
  std::string message;     // What happened; no control characters where a terminal reads it.
  std::string where = {};  // What it is about, such as a file or a flag; may be empty.
  std::string hint = {};   // What to do next; may be empty.
};

// Those that daemons end with; the others are the tuner's (tuner/app/error.h).
inline constexpr char kUsageError[] = "B0101";
inline constexpr char kOutputError[] = "B0204";
inline constexpr char kTrackerProtocolError[] = "B0702";
inline constexpr char kProgramMissingError[] = "B0801";
inline constexpr char kPermissionError[] = "B0904";
inline constexpr char kUnavailableError[] = "B0906";

// error[B0201]: cannot open x.npy: No such file or directory
//   where: x.npy
//   hint: ...
std::string ProgramErrorText(const ProgramError& error, bool color);

// For programs: one line without its end, {"error":{"code":"B0201","message":"...","where":"...",
// "hint":"..."},"schema":1}. What is empty is left out.
std::string ProgramErrorJson(const ProgramError& error);

}  // namespace burnish

#endif  // PROTO_PROGRAM_ERROR_H_
