// The runner: runs one candidate's kernel, for a worker, which starts one for each candidate. The
// runtime only, so that it starts quickly and a kernel that goes astray meets little else. Frames
// come on stdin and go to stdout (runner_wire.h).
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/own_user.h"
#include "worker/runner/runner_session.h"
#include "worker/runner/runner_wire.h"

namespace burnish {
namespace {

constexpr uint32_t kFrameBytesMax = 256 << 20;

bool ReadAll(void* bytes, size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t count = read(STDIN_FILENO, at, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    size -= count;
  }
  return true;
}

// base/frame.h without Abseil; this host is little-endian.
std::optional<std::vector<uint8_t>> ReadFrame() {
  uint32_t size = 0;
  if (!ReadAll(&size, sizeof(size)) || size > kFrameBytesMax) return std::nullopt;
  std::vector<uint8_t> bytes(size);
  if (!ReadAll(bytes.data(), size)) return std::nullopt;
  return bytes;
}

void WriteFrame(const std::string& payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes += payload;
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t count = write(STDOUT_FILENO, bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) _exit(1);  // Nobody listens any more.
    at += count;
  }
}

int Serve() {
  // First of all: not even the bytes of a candidate are read as root. Where root stays the worker
  // has said so already.
  BecomeOwnUser();
  const std::optional<std::vector<uint8_t>> frame = ReadFrame();
  if (!frame.has_value()) return 0;
  const std::optional<RunnerRequest> request = DecodeRunnerRequest(*frame);
  if (!request.has_value()) {
    std::fprintf(stderr, "runner: got a malformed request\n");
    return 1;
  }
  RunSession(*request, {.answer = [](const RunnerReply& reply) { WriteFrame(EncodeFrame(reply)); },
                        .wait_for_verdict = [] { return ReadFrame().has_value(); },
                        .outputs_descriptor = kOutputsDescriptor,
                        .arena_descriptor = kArenaDescriptor});
  // Not through destructors and unloading: memory is the kernel's to take, and quicker so.
  _exit(0);
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "runner: runs kernels for a worker, which starts it itself\n");
    return std::strcmp(argv[1], "--help") == 0 ? 0 : 64;
  }
  return burnish::Serve();
}
