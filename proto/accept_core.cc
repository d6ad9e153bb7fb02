#include "proto/accept_core.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/unique_fd.h"

namespace burnish {
namespace {

// A tracker takes 4,096 workers and as many tuners (TrackerOptions), with one connection each; the
// rest is for people.
constexpr int kConnectionsMax = 16'384;
// For what is no connection: libraries, logs, databases, pipes of children. An idle tracker has 20
// files open.
constexpr int64_t kFilesReservedMin = 32;
constexpr int64_t kFilesMin = 2 * kFilesReservedMin;
// Of a process's files. A `tuner serve` with 64 studies has some 300.
constexpr int64_t kFilesReservedPart = 8;
// A look at each connection costs a microsecond, so no stranger makes a limit cost more than one
// part in six of a core.
constexpr absl::Duration kSweepInterval = absl::Milliseconds(100);
constexpr absl::Duration kNoticeInterval = absl::Seconds(10);
// The part of an IPv6 address that names a network (RFC 4291, section 2.5.4).
constexpr size_t kNetworkBytes = 8;

// Of gRPC's text for who calls; nullopt: no address of a network.
std::optional<sockaddr_storage> AddressOf(absl::string_view peer) {
  sockaddr_storage address = {};
  absl::string_view host = peer.substr(0, peer.rfind(':'));
  const bool is_four = absl::ConsumePrefix(&host, "ipv4:");
  if (!is_four && !absl::ConsumePrefix(&host, "ipv6:")) return std::nullopt;
  if (absl::ConsumePrefix(&host, "%5B")) absl::ConsumeSuffix(&host, "%5D");
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  address.ss_family = is_four ? AF_INET : AF_INET6;
  void* const bytes = is_four
                          ? static_cast<void*>(&reinterpret_cast<sockaddr_in&>(address).sin_addr)
                          : &reinterpret_cast<sockaddr_in6&>(address).sin6_addr;
  if (inet_pton(address.ss_family, std::string(host).c_str(), bytes) != 1) return std::nullopt;
  return address;
}

bool IsLoopback(const sockaddr_storage& address) {
  constexpr uint32_t kNet = 127, kNetShift = 24;
  if (address.ss_family == AF_INET) {
    const in_addr v4 = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    return ntohl(v4.s_addr) >> kNetShift == kNet;
  }
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == kNet);
}

// Whether it is an address of this machine. The kernel is asked, whose answer is today's: it lets a
// socket have no other.
bool IsOwn(const sockaddr_storage& address) {
  // Most are on one host, where three calls of the kernel are a part of what a job costs.
  if (IsLoopback(address)) return true;
  const UniqueFd probe(socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const socklen_t size = address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0;
}

}  // namespace

absl::StatusOr<AcceptLimits> LimitsOfFiles(int64_t files_max) {
  if (files_max < kFilesMin) {
    return absl::FailedPreconditionError(
        absl::StrCat("this process may have ", files_max, " files open, want at least ", kFilesMin,
                     ": ulimit -n 1024, or LimitNOFILE= of its unit"));
  }
  const int64_t reserved = std::max(kFilesReservedMin, files_max / kFilesReservedPart);
  const auto connections =
      static_cast<int>(std::min<int64_t>(kConnectionsMax, files_max - reserved));
  // One address may be a whole site behind its router, but leaves a quarter to others.
  return AcceptLimits{.connections_max = connections,
                      .connections_per_address_max = connections * 3 / 4};
}

std::string AddressKey(const sockaddr_storage& peer, uid_t uid) {
  char text[INET6_ADDRSTRLEN] = {};
  if (peer.ss_family == AF_INET) {
    in_addr address = reinterpret_cast<const sockaddr_in&>(peer).sin_addr;
    return inet_ntop(AF_INET, &address, text, sizeof(text));
  }
  if (peer.ss_family == AF_INET6) {
    in6_addr address = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
    // A caller of IPv4 at a socket that takes both.
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
      return inet_ntop(AF_INET, &address.s6_addr[12], text, sizeof(text));
    }
    std::memset(&address.s6_addr[kNetworkBytes], 0, sizeof(address) - kNetworkBytes);
    return absl::StrCat(inet_ntop(AF_INET6, &address, text, sizeof(text)), "/", 8 * kNetworkBytes);
  }
  return absl::StrCat(kUserPrefix, uid);
}

std::string ClientKey(absl::string_view peer) {
  const std::optional<sockaddr_storage> address = AddressOf(peer);
  return address.has_value() ? AddressKey(*address, 0) : std::string(kUnixClient);
}

std::string HostKey(absl::string_view peer) {
  const std::optional<sockaddr_storage> address = AddressOf(peer);
  return address.has_value() && !IsOwn(*address) ? AddressKey(*address, 0) : "local";
}

AcceptCore::AcceptCore(AcceptLimits limits, std::function<bool(const Connection&)> is_open)
    : limits_(limits), is_open_(std::move(is_open)) {}

bool AcceptCore::IsFull(const std::string& address) const {
  if (connection_count() >= limits_.connections_max) return true;
  const auto count = counts_.find(address);
  return count != counts_.end() && count->second >= limits_.connections_per_address_max;
}

void AcceptCore::Forget(std::map<int, Connection>::iterator connection) {
  const auto count = counts_.find(connection->second.address);
  if (--count->second == 0) counts_.erase(count);
  connections_.erase(connection);
}

void AcceptCore::Sweep() {
  for (auto connection = connections_.begin(); connection != connections_.end();) {
    const auto next = std::next(connection);
    if (!is_open_(connection->second)) Forget(connection);
    connection = next;
  }
}

AcceptVerdict AcceptCore::Came(absl::Time now, const Connection& connection) {
  // The file is new, so whatever had its number has ended.
  if (const auto old = connections_.find(connection.fd); old != connections_.end()) Forget(old);
  if (IsFull(connection.address) && now - swept_at_ >= kSweepInterval) {
    swept_at_ = now;
    Sweep();
  }
  if (IsFull(connection.address)) {
    ++refused_;
    refused_address_ = connection.address;
    return AcceptVerdict::kRefuse;
  }
  connections_[connection.fd] = connection;
  ++counts_[connection.address];
  return AcceptVerdict::kServe;
}

AcceptVerdict AcceptCore::Failed(int error) {
  switch (error) {
    case EAGAIN:
      return AcceptVerdict::kWait;
    case EMFILE:
    case ENFILE:
      ++shed_;
      return AcceptVerdict::kShed;
    // accept(2): errors of the connection that would have come next, which is gone with them.
    case EINTR:
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return AcceptVerdict::kNext;
    // No memory in the kernel, and whatever else there may be.
    default:
      return AcceptVerdict::kPause;
  }
}

std::string AcceptCore::TakeNotice(absl::Time now) {
  if (refused_ + shed_ == 0 || now - noticed_at_ < kNoticeInterval) return "";
  noticed_at_ = now;
  std::string notice = "turned connections away:";
  if (refused_ > 0) {
    absl::StrAppend(&notice, " ", refused_, " beyond ", limits_.connections_max, " in all or ",
                    limits_.connections_per_address_max, " of one address, the last from ",
                    refused_address_, shed_ > 0 ? ";" : "");
  }
  if (shed_ > 0) absl::StrAppend(&notice, " ", shed_, " without a file to have them by");
  refused_ = shed_ = 0;
  return notice;
}

}  // namespace burnish
