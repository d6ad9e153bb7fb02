// The checker: compares what runners computed with what the workload says, for a worker, which
// starts it itself. Frames come on stdin and go to stdout (runner_wire.h); outputs lie in the file
// of descriptor 3.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/frame.h"
#include "base/own_user.h"
#include "worker/runner/checker.h"
#include "worker/runner/checker_sandbox.h"
#include "worker/runner/runner_wire.h"

namespace burnish {
namespace {

constexpr size_t kFrameBytesMax = 64 << 20;

int Serve() {
  // Before the first byte of anybody else's. What cannot be had the worker has said already
  // (`tuner doctor` says it too).
  BecomeOwnUser();
  EnterCheckerSandbox();
  Checker checker(kOutputsDescriptor);
  while (true) {
    const absl::StatusOr<std::optional<std::string>> frame =
        ReadFrame(STDIN_FILENO, kFrameBytesMax);
    if (!frame.ok()) {
      std::fprintf(stderr, "checker: %s\n", frame.status().ToString().c_str());
      return 1;
    }
    if (!frame->has_value()) return 0;
    const std::string& bytes = **frame;
    const std::optional<CheckerRequest> request =
        DecodeCheckerRequest({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    const CheckerReply reply = request.has_value()
                                   ? checker.Answer(*request)
                                   : CheckerReply{.message = "got a malformed request"};
    if (!WriteFrame(STDOUT_FILENO, EncodeFrame(reply)).ok()) return 1;
  }
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "checker: compares outputs for a worker, which starts it itself\n");
    return std::strcmp(argv[1], "--help") == 0 ? 0 : 64;
  }
  return burnish::Serve();
}
