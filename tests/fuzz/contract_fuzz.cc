// libFuzzer target: a contract, as builders and checkers get it with a job, is refused with
// INVALID_ARGUMENT, or is what ContractOf says of the program afterwards.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/program.h"

namespace burnish {
namespace {

// An input with four dimensions, a constant, and an output without any.
Program Task() {
  Program program;
  const auto add = [&program](std::string name, std::vector<int64_t> shape, BufferRole role) {
    Storage storage = DenseStorage(shape);
    AddBuffer(program, {.name = std::move(name),
                        .shape = std::move(shape),
                        .role = role,
                        .storage = std::move(storage)});
  };
  add("x", {1, 28, 7, 3}, BufferRole::kInput);
  add("w", {4}, BufferRole::kConstant);
  add("y", {}, BufferRole::kOutput);
  return program;
}

}  // namespace
}  // namespace burnish

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  Program program = Task();
  const absl::Status status = ApplyContract(text, program);
  if (!status.ok()) {
    CHECK(status.code() == absl::StatusCode::kInvalidArgument) << status;
    return 0;
  }
  CHECK_EQ(ContractOf(program), std::string(text));
  return 0;
}
