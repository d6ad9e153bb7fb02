#include "proto/door.h"

#include <arpa/inet.h>

#include <string>

#include "absl/strings/match.h"
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

absl::Status CheckDoor(absl::string_view address, Door door, bool insecure) {
  const bool is_address = address.find(':') != absl::string_view::npos;
  if (insecure || !is_address || IsLocalAddress(address)) return absl::OkStatus();
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
