#include "proto/door.h"

#include <arpa/inet.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/secret.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

bool IsUnixSocket(absl::string_view address) { return absl::StartsWith(address, "unix:"); }

// Whether this user alone can enter it.
absl::StatusOr<bool> IsOwnFolder(const std::string& folder) {
  struct stat info = {};
  if (lstat(folder.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", folder));
  }
  return S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

}  // namespace

bool IsLocalAddress(absl::string_view address) {
  // Not "unix-abstract:", which has no file whose mode says who may use it.
  if (IsUnixSocket(address)) return true;
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return false;
  const std::string host(address.substr(0, colon));
  if (absl::EqualsIgnoreCase(host, "localhost") || host == "[::1]") return true;
  // Parsed and not compared: 127.0.0.1.example.org is somebody's name.
  in_addr parsed = {};
  return inet_pton(AF_INET, host.c_str(), &parsed) == 1 && ntohl(parsed.s_addr) >> 24 == 127;
}

absl::Status CheckAddress(absl::string_view address) {
  for (const absl::string_view scheme : {"unix:", "unix-abstract:"}) {
    if (absl::StartsWith(address, scheme) && address.size() > scheme.size()) {
      return absl::OkStatus();
    }
  }
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", address, ", want HOST:PORT or unix:PATH"));
  }
  constexpr int kPortMax = 65535;  // Of TCP.
  const absl::string_view port = address.substr(colon + 1);
  int number = 0;
  const bool digits = !port.empty() && std::all_of(port.begin(), port.end(), absl::ascii_isdigit);
  if (digits && absl::SimpleAtoi(port, &number) && number <= kPortMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("got port ", port, " of ", address, ", want a number up to ", kPortMax));
}

absl::Status CheckDoor(absl::string_view address, Door door, bool insecure) {
  if (const absl::Status parsed = CheckAddress(address); !parsed.ok()) return parsed;
  if (insecure || IsLocalAddress(address)) return absl::OkStatus();
  const absl::string_view what =
      door == Door::kListen
          ? "is reached from other machines, whoever reaches it can run code on the farm"
          : "is another machine, whoever answers there can run code on this one";
  const absl::string_view instead = door == Door::kListen ? "listen on localhost:PORT or unix:PATH"
                                                          : "use localhost:PORT or unix:PATH";
  return absl::InvalidArgumentError(absl::StrCat(
      address, " ", what, ", and nothing is encrypted; ", instead,
      " (for other machines through a tunnel, such as ssh -L), or write --insecure where every "
      "machine that can reach it is trusted"));
}

const char* SystemGetEnv(const char* name) { return std::getenv(name); }

absl::StatusOr<std::string> LoopbackSecret(absl::string_view address, const GetEnv& getenv) {
  if (!IsLocalAddress(address) || IsUnixSocket(address)) return "";
  return UserSecret(getenv, "BURNISH_LOOPBACK_SECRET", "loopback-secret");
}

bool IsOwnDoor(absl::string_view address) {
  if (!absl::ConsumePrefix(&address, "unix:")) return false;
  const std::filesystem::path path{std::string(address)};
  return IsOwnFolder(path.parent_path().string()).value_or(false);
}

absl::StatusOr<std::string> UserSocket(absl::string_view program, const GetEnv& getenv) {
  const char* const runtime = getenv("XDG_RUNTIME_DIR");
  std::string folder = runtime == nullptr ? "" : absl::StrCat(runtime, "/burnish");
  // It does not count where it is relative, or not there, as after su.
  if (folder[0] != '/' || (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)) {
    folder = absl::StrCat("/tmp/burnish-", geteuid());
    mkdir(folder.c_str(), S_IRWXU);
  }
  // Anybody may have made it before, in /tmp.
  ASSIGN_OR_RETURN(const bool is_own, IsOwnFolder(folder));
  if (!is_own) {
    return absl::PermissionDeniedError(
        absl::StrCat(folder,
                     " is not this user's alone: remove it, or name another place by "
                     "--listen unix:PATH"));
  }
  return absl::StrCat("unix:", folder, "/", program, ".sock");
}

}  // namespace burnish
