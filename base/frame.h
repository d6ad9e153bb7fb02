// Frames on a pipe: four bytes of length, little-endian, then that many bytes. What parent and
// child processes say to each other; both sides of `Child`.
#ifndef BASE_FRAME_H_
#define BASE_FRAME_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

inline constexpr size_t kFrameHeaderBytes = 4;
using FrameHeader = std::array<char, kFrameHeaderBytes>;

// size_bytes < 4 GiB.
FrameHeader EncodeFrameHeader(size_t size_bytes);
uint32_t DecodeFrameHeader(const char* header);

// For the child's side: blocks. UNAVAILABLE when nobody reads any more (the process must ignore
// SIGPIPE to see it; by default it dies, which is what a child should do).
absl::Status WriteFrame(int fd, absl::string_view bytes);

// nullopt: the writer closed its end between two frames. DATA_LOSS: inside one. INVALID_ARGUMENT:
// more than `limit_bytes`, nothing of it was kept.
absl::StatusOr<std::optional<std::string>> ReadFrame(int fd, size_t limit_bytes);

}  // namespace burnish

#endif  // BASE_FRAME_H_
