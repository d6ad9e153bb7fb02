#include "compiler/runtime/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace burnish {
namespace {

RuntimeStatus BeyondTheEnd(uint64_t offset, uint64_t size, uint64_t have) {
  return RuntimeStatus(RuntimeCode::kDataLoss, "the file is cut off: got " + std::to_string(have) +
                                                   " bytes, want [" + std::to_string(offset) +
                                                   ", +" + std::to_string(size) + ")");
}

class FileSource : public ByteSource {
 public:
  FileSource(int descriptor, uint64_t size) : descriptor_(descriptor), size_(size) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { close(descriptor_); }

  uint64_t size() const override { return size_; }
  RuntimeStatus Read(uint64_t offset, std::span<uint8_t> destination) const override {
    if (offset > size_ || destination.size() > size_ - offset) {
      return BeyondTheEnd(offset, destination.size(), size_);
    }
    size_t done = 0;
    while (done < destination.size()) {
      // One call moves at most 2 GiB; a smaller step keeps it interruptible.
      const size_t step = std::min<size_t>(destination.size() - done, size_t{1} << 26);
      const ssize_t got = pread(descriptor_, destination.data() + done, step, offset + done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus("reading the file", errno);
      if (got == 0) return BeyondTheEnd(offset, destination.size(), offset + done);
      done += static_cast<size_t>(got);
    }
    return RuntimeStatus();
  }

 private:
  const int descriptor_;
  const uint64_t size_;
};

class SpanSource : public ByteSource {
 public:
  explicit SpanSource(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  RuntimeStatus Read(uint64_t offset, std::span<uint8_t> destination) const override {
    if (offset > bytes_.size() || destination.size() > bytes_.size() - offset) {
      return BeyondTheEnd(offset, destination.size(), bytes_.size());
    }
    if (!destination.empty()) {
      std::memcpy(destination.data(), bytes_.data() + offset, destination.size());
    }
    return RuntimeStatus();
  }

 private:
  const std::span<const uint8_t> bytes_;
};

}  // namespace

RuntimeOr<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return ErrnoStatus(path, errno);
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    const int error = errno;
    close(descriptor);
    return ErrnoStatus(path, error);
  }
  if (!S_ISREG(status.st_mode)) {
    close(descriptor);
    return RuntimeStatus(RuntimeCode::kInvalidArgument, path + " is not a regular file");
  }
  return std::unique_ptr<ByteSource>(
      std::make_unique<FileSource>(descriptor, static_cast<uint64_t>(status.st_size)));
}

std::unique_ptr<ByteSource> MemorySource(std::span<const uint8_t> bytes) {
  return std::make_unique<SpanSource>(bytes);
}

}  // namespace burnish
