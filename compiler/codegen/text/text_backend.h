// The text backend: lowered programs as C, for people and for tests.
#ifndef COMPILER_CODEGEN_TEXT_TEXT_BACKEND_H_
#define COMPILER_CODEGEN_TEXT_TEXT_BACKEND_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/codegen/backend.h"

namespace burnish {

// Emits "c". Objects are what the installed clang-19 makes of it as a child process, for the base
// CPU of x86-64 whatever the target's features are: UNAVAILABLE without that program.
std::unique_ptr<Backend> MakeTextBackend();

// An object file of C that includes and calls nothing.
absl::StatusOr<std::string> CompileC(const std::string& source);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEXT_TEXT_BACKEND_H_
