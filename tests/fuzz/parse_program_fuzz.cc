// libFuzzer target: any bytes are refused with INVALID_ARGUMENT or are a program whose text is its
// own inverse: `./dev fuzz parse_program`.
// What crashes it becomes a case of compiler/ir/parser_test.cc and stays in the corpus.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<burnish::Program> program = burnish::ParseProgram(text);
  if (!program.ok()) {
    CHECK(program.status().code() == absl::StatusCode::kInvalidArgument) << program.status();
    return 0;
  }
  const std::string printed = burnish::Print(*program);
  const absl::StatusOr<burnish::Program> again = burnish::ParseProgram(printed);
  CHECK(again.ok()) << again.status() << "\n" << printed;
  CHECK_EQ(burnish::Print(*again), printed);
  if (!program->lowered) {
    const std::string workload = burnish::PrintWorkload(*program);
    CHECK_EQ(burnish::PrintWorkload(*again), workload);
    for (size_t i = 0; i < program->buffers.size(); ++i) {
      burnish::InPlaceInputs(*program, static_cast<burnish::BufferId>(i));
    }
  }
  return 0;
}
