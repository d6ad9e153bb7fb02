#include "proto/listen_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "proto/door.h"

namespace burnish {
namespace {

// A port that is free on one of a host's addresses is so on the others but by ill luck.
constexpr int kPortAttempts = 16;

// As sd_listen_fds(3) has it.
constexpr int kInheritedFirst = 3;
// A daemon has one or two: of each family.
constexpr int kInheritedMax = 16;
// Of addresses: no user can mean a host by it, since its port is no number.
constexpr absl::string_view kInheritedScheme = "inherited:";
constexpr absl::string_view kInheritedEnd = " sockets";

absl::Status CannotListen(const std::string& address, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address, ": ", std::strerror(error)));
}

UniqueFd NewSocket(int family) {
  return UniqueFd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// 0, or the error.
int BindAndListen(int fd, const sockaddr* address, socklen_t size) {
  return bind(fd, address, size) == 0 && listen(fd, SOMAXCONN) == 0 ? 0 : errno;
}

// Whether somebody listens there. A file that a killed process left answers nobody.
bool Answers(const sockaddr_un& address, socklen_t size) {
  const UniqueFd fd = NewSocket(AF_UNIX);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 ||
         errno == EAGAIN;
}

bool IsSocket(const std::string& path, uint64_t* inode) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return false;
  *inode = info.st_ino;
  return true;
}

int PortOf(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // At one place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// Listens on one of a host's addresses, at `port`; 0: at any. The error is the system's, 0: none.
int ListenOn(const addrinfo& info, int port, std::vector<UniqueFd>& files) {
  UniqueFd fd = NewSocket(info.ai_family);
  if (!fd.valid()) return errno;
  const int yes = 1, no = 0;
  // A restarted daemon takes its port again although old connections linger. Two that are alive
  // never share one: SO_REUSEPORT is not set.
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_storage address = {};
  std::memcpy(&address, info.ai_addr, info.ai_addrlen);
  reinterpret_cast<sockaddr_in&>(address).sin_port = htons(static_cast<uint16_t>(port));
  // [::] takes callers of IPv4 as well, whatever the system's default is.
  if (info.ai_family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  }
  const int error =
      BindAndListen(fd.get(), reinterpret_cast<const sockaddr*>(&address), info.ai_addrlen);
  if (error == 0) files.push_back(std::move(fd));
  return error;
}

// All of them at one port.
int ListenOnAll(const addrinfo* infos, int port, std::vector<UniqueFd>& files) {
  int skipped = EADDRNOTAVAIL;
  for (const addrinfo* info = infos; info != nullptr; info = info->ai_next) {
    const int error = ListenOn(*info, files.empty() ? port : PortOf(files[0].get()), files);
    if (error == 0) continue;
    // A name has addresses of a family that this host does without.
    if (error != EADDRNOTAVAIL && error != EAFNOSUPPORT) return error;
    skipped = error;
  }
  return files.empty() ? skipped : 0;
}

// Of a stream socket that listens.
absl::StatusOr<std::string> InheritedAddress(int fd) {
  const auto option = [fd](int name) {
    int value = 0;
    socklen_t size = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  if (option(SO_TYPE) != SOCK_STREAM || option(SO_ACCEPTCONN) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("file ", fd,
                     " of the service manager is no stream socket that listens: use "
                     "ListenStream= with Accept=no"));
  }
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    if (address.ss_family == AF_UNIX && size > offsetof(sockaddr_un, sun_path)) {
      const char* const path = reinterpret_cast<const sockaddr_un&>(address).sun_path;
      const std::string name(path, size - offsetof(sockaddr_un, sun_path));
      return name[0] == 0 ? absl::StrCat("unix-abstract:", name.substr(1))
                          : absl::StrCat("unix:", name.c_str());
    }
    char host[INET6_ADDRSTRLEN] = {};
    if (address.ss_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, host,
                sizeof(host));
      return absl::StrCat(host, ":", PortOf(fd));
    }
    if (address.ss_family == AF_INET6) {
      inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, host,
                sizeof(host));
      return absl::StrCat("[", host, "]:", PortOf(fd));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("file ", fd, " of the service manager has no address of TCP or a unix socket"));
}

}  // namespace

absl::StatusOr<InheritedSockets> TakeInheritedSockets(const GetEnv& getenv) {
  const char* const pid_text = getenv("LISTEN_PID");
  const char* const count_text = getenv("LISTEN_FDS");
  if (pid_text == nullptr || count_text == nullptr) return InheritedSockets();
  int64_t pid = 0;
  int count = 0;
  const bool is_number = absl::SimpleAtoi(pid_text, &pid) && absl::SimpleAtoi(count_text, &count);
  // They may be meant for the process that has started this one.
  if (is_number && pid != getpid()) return InheritedSockets();
  if (!is_number || count < 1 || count > kInheritedMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("got LISTEN_PID=", pid_text, " and LISTEN_FDS=", count_text,
                     ", want a process and 1 to ", kInheritedMax, " sockets"));
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(name);
  InheritedSockets sockets{.listen = absl::StrCat(kInheritedScheme, count, kInheritedEnd)};
  for (int fd = kInheritedFirst; fd < kInheritedFirst + count; ++fd) {
    ASSIGN_OR_RETURN(sockets.addresses.emplace_back(), InheritedAddress(fd));
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot take file ", fd));
    }
  }
  return sockets;
}

absl::StatusOr<ListenDoor> FindListenDoor(const std::string& address, absl::string_view program,
                                          bool insecure, const GetEnv& getenv) {
  ASSIGN_OR_RETURN(const InheritedSockets inherited, TakeInheritedSockets(getenv));
  ListenDoor door{.listen = address};
  std::vector<std::string> addresses = inherited.addresses;
  if (!addresses.empty()) {
    if (!address.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the service manager has sockets for it already (", addresses[0],
                       "); write no --listen"));
    }
    door.listen = inherited.listen;
  } else {
    if (address.empty()) {
      ASSIGN_OR_RETURN(door.listen, UserSocket(program, getenv));
    }
    addresses = {door.listen};
  }
  for (size_t i = 0; i < addresses.size(); ++i) {
    RETURN_IF_ERROR(CheckDoor(addresses[i], Door::kListen, insecure));
    ASSIGN_OR_RETURN(std::string secret, LoopbackSecret(addresses[i], getenv));
    // A call does not say by which socket it came.
    if (i > 0 && secret != door.secret) {
      return absl::InvalidArgumentError(
          absl::StrCat(addresses[0], " and ", addresses[i],
                       " differ in what callers must know: give one kind to a daemon"));
    }
    door.secret = std::move(secret);
  }
  return door;
}

absl::StatusOr<ListenSockets> ListenSockets::Open(const std::string& address) {
  ListenSockets sockets;
  sockets.address_ = address;
  absl::string_view rest = address;
  if (absl::ConsumePrefix(&rest, kInheritedScheme)) {
    RETURN_IF_ERROR(sockets.OpenInherited(rest));
    return sockets;
  }
  RETURN_IF_ERROR(CheckAddress(address));
  if (absl::ConsumePrefix(&rest, "unix-abstract:")) {
    RETURN_IF_ERROR(sockets.OpenUnix(std::string(rest), /*is_abstract=*/true));
    return sockets;
  }
  if (absl::ConsumePrefix(&rest, "unix:")) {
    absl::ConsumePrefix(&rest, "//");
    RETURN_IF_ERROR(sockets.OpenUnix(std::string(rest), /*is_abstract=*/false));
    return sockets;
  }
  const size_t colon = rest.rfind(':');
  absl::string_view host = rest.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  RETURN_IF_ERROR(sockets.OpenTcp(std::string(host), std::string(rest.substr(colon + 1))));
  sockets.address_ = absl::StrCat(rest.substr(0, colon), ":", PortOf(sockets.files_[0].get()));
  return sockets;
}

absl::Status ListenSockets::OpenInherited(absl::string_view count_text) {
  int count = 0;
  if (!absl::ConsumeSuffix(&count_text, kInheritedEnd) || !absl::SimpleAtoi(count_text, &count) ||
      count < 1 || count > kInheritedMax) {
    return absl::InvalidArgumentError(absl::StrCat("got ", address_, ", want no such address"));
  }
  for (int fd = kInheritedFirst; fd < kInheritedFirst + count; ++fd) {
    ASSIGN_OR_RETURN(std::string address, InheritedAddress(fd));
    files_.emplace_back(fd);
    if (files_.size() == 1) address_ = std::move(address);
  }
  return absl::OkStatus();
}

absl::Status ListenSockets::OpenUnix(const std::string& name, bool is_abstract) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t at = is_abstract ? 1 : 0;
  // With a zero before an abstract name, or behind a path.
  if (name.empty() || name.size() + 1 > sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("got a unix socket of ", name.size(),
                                                   " bytes, want 1 to ",
                                                   sizeof(address.sun_path) - 1, ": ", name));
  }
  std::memcpy(address.sun_path + at, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
  UniqueFd fd = NewSocket(AF_UNIX);
  if (!fd.valid()) return CannotListen(address_, errno);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  int error = BindAndListen(fd.get(), generic, size);
  if (error == EADDRINUSE && !is_abstract && IsSocket(name, &inode_) && !Answers(address, size)) {
    unlink(name.c_str());
    error = BindAndListen(fd.get(), generic, size);
  }
  if (error != 0) return CannotListen(address_, error);
  if (!is_abstract && IsSocket(name, &inode_)) path_ = name;
  files_.push_back(std::move(fd));
  return absl::OkStatus();
}

absl::Status ListenSockets::OpenTcp(const std::string& host, const std::string& port) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (host.empty() || getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address_, ": no such host is known here"));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> infos(found, freeaddrinfo);
  const int wanted = ntohs(reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_port);
  int error = EADDRINUSE;
  for (int i = 0; error == EADDRINUSE && i < (wanted == 0 ? kPortAttempts : 1); ++i) {
    files_.clear();
    error = ListenOnAll(found, wanted, files_);
  }
  return error == 0 ? absl::OkStatus() : CannotListen(address_, error);
}

ListenSockets::~ListenSockets() {
  uint64_t inode = 0;
  if (!path_.empty() && IsSocket(path_, &inode) && inode == inode_) unlink(path_.c_str());
}

}  // namespace burnish
