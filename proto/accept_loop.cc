#include "proto/accept_loop.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/logging.h"

namespace burnish {
namespace {

// Where the kernel has no memory, or no file is left even for the spare one.
constexpr int kPauseMs = 50;
// Between two looks at whether to stop.
constexpr int kBatch = 256;

UniqueFd OpenSpare() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

// 0: the file is no socket, or none any more.
uint64_t CookieOf(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

std::string AddressOf(int fd) {
  sockaddr_storage peer = {};
  socklen_t size = sizeof(peer);
  getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size);
  ucred user = {};
  socklen_t user_size = sizeof(user);
  if (peer.ss_family == AF_UNIX) getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &user_size);
  return AddressKey(peer, user.uid);
}

}  // namespace

int64_t RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  // No limit at all is none that matters here.
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT32_MAX));
}

absl::StatusOr<std::unique_ptr<AcceptLoop>> AcceptLoop::Start(ListenSockets sockets,
                                                              AcceptLimits limits,
                                                              AcceptServe serve) {
  std::unique_ptr<AcceptLoop> loop(new AcceptLoop(std::move(sockets), limits, std::move(serve)));
  if (!loop->spare_.valid() || !loop->stop_.valid()) {
    return absl::UnavailableError("no file is left to listen with");
  }
  loop->thread_ = std::thread([&self = *loop] { self.Run(); });
  return loop;
}

AcceptLoop::AcceptLoop(ListenSockets sockets, AcceptLimits limits, AcceptServe serve)
    : sockets_(std::move(sockets)),
      serve_(std::move(serve)),
      core_(limits,
            [](const Connection& connection) {
              return CookieOf(connection.fd) == connection.cookie;
            }),
      spare_(OpenSpare()),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

AcceptLoop::~AcceptLoop() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void AcceptLoop::Run() {
  std::vector<pollfd> files = {{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
  for (const UniqueFd& file : sockets_.files()) {
    files.push_back({.fd = file.get(), .events = POLLIN, .revents = 0});
  }
  bool paused = false;
  while (true) {
    // In a pause only whether to stop.
    if (poll(files.data(), paused ? 1 : files.size(), paused ? kPauseMs : -1) < 0) continue;
    if (files[0].revents != 0) return;
    if (!spare_.valid()) spare_ = OpenSpare();
    const bool all = std::exchange(paused, false);
    for (size_t i = 1; i < files.size(); ++i) {
      if ((all || files[i].revents != 0) && !AcceptAll(files[i].fd)) paused = true;
    }
    const std::string notice = core_.TakeNotice(Clock::Real().SteadyNow());
    if (!notice.empty()) LogWarning(notice);
  }
}

bool AcceptLoop::AcceptAll(int listener) {
  for (int i = 0; i < kBatch; ++i) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      Serve(listener, fd);
      continue;
    }
    switch (core_.Failed(errno)) {
      case AcceptVerdict::kNext:
        continue;
      case AcceptVerdict::kShed:
        if (!spare_.valid()) return false;
        if (!Shed(listener)) return true;
        continue;
      case AcceptVerdict::kWait:
        return true;
      default:
        return false;
    }
  }
  return true;
}

void AcceptLoop::Serve(int listener, int fd) {
  const Connection connection{.fd = fd, .cookie = CookieOf(fd), .address = AddressOf(fd)};
  if (core_.Came(Clock::Real().SteadyNow(), connection) != AcceptVerdict::kServe) {
    close(fd);
    return;
  }
  const int yes = 1;
  // Calls are small, and wait for their answers. No error where it is no TCP.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  serve_(listener, connection);
}

bool AcceptLoop::Shed(int listener) {
  spare_.Reset();
  // None where nobody waits, which EMFILE hides, or where another thread has taken the file.
  UniqueFd shed(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  const bool is_shed = shed.valid();
  shed.Reset();
  spare_ = OpenSpare();
  return is_shed;
}

}  // namespace burnish
