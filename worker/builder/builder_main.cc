// The builder: the one program that has the compiler. A child of workers and tuners; reads compile
// requests as frames on stdin and answers on stdout until stdin ends. One thread, so that it may
// fork for each candidate.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/measuring_watch.h"
#include "base/own_user.h"
#include "base/status_macros.h"
#include "base/usable_cpus.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "proto/compile.h"
#include "worker/builder/builder_server.h"
#include "worker/builder/candidate_compiler.h"

namespace burnish {
namespace {

// A whole model's workloads, traces and contracts are a few MiB.
constexpr size_t kRequestBytesMax = 256 << 20;

// Makes the backend load and initialise what all candidates need, once, before the first fork.
void WarmUp(CandidateCompiler& compiler) {
  const CompileItem item = {.workload =
                                "workload/1\n"
                                "input b0: f32[8]\n"
                                "output b1: f32[8]\n"
                                "block b1(i0 in 8) {\n"
                                "  step b1[i0] = b0[i0] + 0x1p+0\n"
                                "}\n"};
  const absl::StatusOr<Target> target = ParseTarget("cpu:arch=x86-64-v2");
  if (!target.ok()) return;
  // The first real candidate will say what is wrong.
  (void)compiler.CompileArtifact(item, *target);
}

// The folder becomes the own user's, and where this process is: that user may have no right to the
// folders on the way there.
absl::Status EnterAsOwnUser(const std::string& folder) {
  Clock::Real();  // Opens a page that its environment names; see base/pace_page.h.
  if (chdir(folder.c_str()) != 0) return absl::ErrnoToStatus(errno, folder);
  if (geteuid() == 0 && MayBecomeOwnUser() && chown(".", kOwnUser, kOwnUser) != 0) {
    return absl::ErrnoToStatus(errno, folder);
  }
  // Children with foreign code are its forks, and it moves them from CPU to CPU.
  BecomeOwnUser();
  return absl::OkStatus();
}

// `measuring_folder`: see base/measuring_files.h; empty: stands aside for nobody.
absl::Status Serve(const std::string& measuring_folder) {
  ASSIGN_OR_RETURN(const TempDir folder, TempDir::CreateLocked("burnish-builder"));
  std::unique_ptr<MeasuringWatch> watch;
  if (!measuring_folder.empty()) watch = MeasuringWatch::Start(measuring_folder, UsableCpus());
  RETURN_IF_ERROR(EnterAsOwnUser(folder.path()));
  const std::unique_ptr<Backend> backend = MakeLlvmBackend({.temporary_folder = "."});
  CandidateCompiler compiler(*backend, LlvmVersion());
  WarmUp(compiler);
  BuilderServer server(compiler, ".", std::move(watch));
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<std::string> frame,
                     ReadFrame(STDIN_FILENO, kRequestBytesMax));
    if (!frame.has_value()) return absl::OkStatus();
    const absl::StatusOr<CompileRequest> request = DecodeCompileRequest(*frame);
    const absl::StatusOr<CompileReply> reply =
        request.ok() ? server.Build(*request) : absl::StatusOr<CompileReply>(request.status());
    RETURN_IF_ERROR(WriteFrame(STDOUT_FILENO, Encode(reply)));
  }
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) {
  const bool stands_aside = argc == 3 && strcmp(argv[1], "--stand-aside") == 0;
  if (argc > 1 && !stands_aside) {
    fprintf(stderr,
            "usage: builder [--stand-aside FOLDER]\n"
            "builder: compiles for workers and tuners, which start it themselves; requests come as "
            "frames on stdin (proto/compile.proto). With --stand-aside it keeps off the CPUs on "
            "which somebody measures, as the files in FOLDER say\n");
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 64;
  }
  const absl::Status status = burnish::Serve(stands_aside ? argv[2] : "");
  if (status.ok()) return 0;
  fprintf(stderr, "builder: %s\n", status.ToString().c_str());
  return 70;
}
