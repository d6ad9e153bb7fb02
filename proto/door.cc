#include "proto/door.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace burnish {

bool IsLocalAddress(absl::string_view address) {
  // Not "unix-abstract:", which has no file whose mode says who may use it.
  if (absl::StartsWith(address, "unix:")) return true;
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

}  // namespace burnish
