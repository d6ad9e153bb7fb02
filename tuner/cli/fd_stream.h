// A stream that says why it could not write, which the standard's streams forget.
#ifndef TUNER_CLI_FD_STREAM_H_
#define TUNER_CLI_FD_STREAM_H_

#include <array>
#include <ostream>
#include <streambuf>

namespace burnish {

// Opens /dev/null for each of stdin, stdout and stderr that whoever started this process has
// closed. Else the next file that is opened, a database perhaps, would have that number and take
// what is printed. Writing to a stdout that was closed fails as before, with EBADF.
void FillStandardFds();

// Writes to a file descriptor that is not its own. Once a write has failed the stream is bad and
// writes nothing more.
class FdStream : public std::ostream {
 public:
  explicit FdStream(int fd) : std::ostream(nullptr), buffer_(fd) { rdbuf(&buffer_); }

  // The errno of the write that failed; 0: none has.
  int error() const { return buffer_.error(); }

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(int fd) : fd_(fd) { setp(bytes_.data(), bytes_.data() + bytes_.size()); }
    int error() const { return error_; }

   protected:
    int_type overflow(int_type next) override;
    int sync() override;

   private:
    static constexpr size_t kBytes = 1 << 14;  // Of a pipe's 64 KiB. A guess.

    const int fd_;
    int error_ = 0;
    std::array<char, kBytes> bytes_;
  };

  Buffer buffer_;
};

}  // namespace burnish

#endif  // TUNER_CLI_FD_STREAM_H_
