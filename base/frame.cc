#include "base/frame.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

absl::Status WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE) return absl::UnavailableError("nobody reads the pipe any more");
      return absl::ErrnoToStatus(errno, "cannot write to the pipe");
    }
    data += written;
    size -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

// How many bytes came before the end of the stream.
absl::StatusOr<size_t> ReadUpTo(int fd, char* data, size_t size) {
  size_t have = 0;
  while (have < size) {
    const ssize_t got = read(fd, data + have, size - have);
    if (got < 0) {
      if (errno == EINTR) continue;
      return absl::ErrnoToStatus(errno, "cannot read from the pipe");
    }
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  return have;
}

}  // namespace

FrameHeader EncodeFrameHeader(size_t size_bytes) {
  FrameHeader header;
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) {
    header[i] = static_cast<char>(size_bytes >> (8 * i));
  }
  return header;
}

uint32_t DecodeFrameHeader(const char* header) {
  uint32_t size = 0;
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) {
    size |= uint32_t{static_cast<unsigned char>(header[i])} << (8 * i);
  }
  return size;
}

absl::Status WriteFrame(int fd, absl::string_view bytes) {
  if (bytes.size() > UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("got a frame of ", bytes.size(), " bytes, want less than 4 GiB"));
  }
  const FrameHeader header = EncodeFrameHeader(bytes.size());
  RETURN_IF_ERROR(WriteAll(fd, header.data(), header.size()));
  return WriteAll(fd, bytes.data(), bytes.size());
}

absl::StatusOr<std::optional<std::string>> ReadFrame(int fd, size_t limit_bytes) {
  FrameHeader header;
  ASSIGN_OR_RETURN(const size_t header_size, ReadUpTo(fd, header.data(), header.size()));
  // Between two frames: the writer has ended as it should. Inside of one: it died.
  if (header_size == 0) return std::nullopt;
  const size_t size = header_size < header.size() ? 0 : DecodeFrameHeader(header.data());
  if (size > limit_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("got a frame of ", size, " bytes, want at most ", limit_bytes));
  }
  std::string bytes(size, '\0');
  ASSIGN_OR_RETURN(const size_t got, ReadUpTo(fd, bytes.data(), size));
  if (header_size < header.size() || got < size) {
    return absl::DataLossError("the pipe ended inside a frame");
  }
  return bytes;
}

}  // namespace burnish
