#include "tuner/cli/fd_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace burnish {

void FillStandardFds() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest number that is free, which is this one. Talk to a closed stderr is no error; data
    // to a closed stdout is one.
    if (open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

FdStream::Buffer::int_type FdStream::Buffer::overflow(int_type next) {
  if (sync() != 0) return traits_type::eof();
  if (traits_type::eq_int_type(next, traits_type::eof())) return traits_type::not_eof(next);
  return sputc(traits_type::to_char_type(next));
}

int FdStream::Buffer::sync() {
  for (const char* at = pbase(); at < pptr() && error_ == 0;) {
    const ssize_t written = ::write(fd_, at, static_cast<size_t>(pptr() - at));
    if (written > 0) at += written;
    if (written < 0 && errno != EINTR) error_ = errno;
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return error_ == 0 ? 0 : -1;
}

}  // namespace burnish
