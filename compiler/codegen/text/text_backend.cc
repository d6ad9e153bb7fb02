#include "compiler/codegen/text/text_backend.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "compiler/codegen/llvm/shared_library.h"
#include "compiler/codegen/text/c_text.h"

namespace burnish {
namespace {

// From stdin to stdout, so that nothing is left behind. There is no library to call, loops stay
// loops, sums keep their order and rounding, and buffers of several types share memory.
const std::vector<std::string>& Arguments() {
  static const auto* const arguments =
      new std::vector<std::string>{"clang-19",
                                   "-xc",
                                   "-std=c11",
                                   "-O1",
                                   "-w",
                                   "-c",
                                   "-fPIC",
                                   "-ffreestanding",
                                   "-fno-builtin",
                                   "-fno-math-errno",
                                   "-ffp-contract=off",
                                   "-fno-strict-aliasing",
                                   "-fwrapv",
                                   "-fno-stack-protector",
                                   "-fno-asynchronous-unwind-tables",
                                   "-fno-crash-diagnostics",
                                   "-fbracket-depth=100000",
                                   "-o-",
                                   "-"};
  return *arguments;
}

}  // namespace

absl::StatusOr<std::string> CompileC(const std::string& source) {
  ASSIGN_OR_RETURN(const ExitInfo exit, RunSubprocess({.program = "/usr/bin/env",
                                                       .args = Arguments(),
                                                       .stdin_bytes = source,
                                                       .timeout = absl::Minutes(5),
                                                       .dies_with_parent = false}));
  if (exit.ok() && !exit.output_cut) return exit.stdout_bytes;
  if (exit.exit_code == 127) return absl::UnavailableError("there is no clang-19: install it");
  return absl::InternalError(absl::StrCat("clang-19: ", Describe(exit)));
}

namespace {

class TextBackend : public Backend {
 public:
  absl::StatusOr<CompiledObject> CompileObject(
      const CodegenTarget& target, absl::Span<const KernelSource> sources) const override {
    if (target.triple != CodegenTarget().triple) {
      return absl::InvalidArgumentError(absl::StrCat("no backend for triple ", target.triple));
    }
    ASSIGN_OR_RETURN(CText printed, PrintC(sources));
    CompiledObject compiled{.kernels = std::move(printed.kernels)};
    ASSIGN_OR_RETURN(compiled.elf, CompileC(printed.text));
    std::map<std::string, int64_t> sizes = FunctionSizes(compiled.elf);
    for (KernelInfo& info : compiled.kernels) info.code_bytes = sizes[info.symbol];
    return compiled;
  }

  absl::StatusOr<std::vector<uint8_t>> Link(absl::Span<const std::string> objects) override {
    return LinkSharedLibrary(objects, "/tmp");
  }

  absl::StatusOr<std::string> Emit(const CodegenTarget&, const KernelSource& source,
                                   absl::string_view form) override {
    if (form != "c") return absl::InvalidArgumentError(absl::StrCat("got form ", form, ", want c"));
    ASSIGN_OR_RETURN(CText printed, PrintC({&source, 1}));
    return std::move(printed.text);
  }
};

}  // namespace

std::unique_ptr<Backend> MakeTextBackend() { return std::make_unique<TextBackend>(); }

}  // namespace burnish
