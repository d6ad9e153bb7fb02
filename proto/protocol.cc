#include "proto/protocol.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/version.h"

namespace burnish {
namespace {

// Bounds on what a stranger may say. Names and versions go into messages for people; the number is
// far above what a release a month reaches.
constexpr size_t kNameBytesMax = 32;
constexpr int kProtocolMax = 1'000'000;
constexpr char kRefusalPayload[] = "burnish/protocol-refusal";

bool IsName(absl::string_view text) {
  if (text.empty() || text.size() > kNameBytesMax) return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(c) && c != ' ' && c != '.' && c != '-' && c != '+') return false;
  }
  return true;
}

bool ParseNumber(absl::string_view text, int& number) {
  return absl::SimpleAtoi(text, &number) && number >= 1 && number <= kProtocolMax;
}

// "2", "3 to 4".
std::string Range(const Speaker& speaker) {
  return speaker.oldest == speaker.newest ? absl::StrCat(speaker.newest)
                                          : absl::StrCat(speaker.oldest, " to ", speaker.newest);
}

std::string Speaks(const Speaker& speaker) {
  return absl::StrCat(speaker.program, " ", speaker.version, " speaks protocol ", Range(speaker));
}

}  // namespace

Speaker ThisVersion(absl::string_view program) {
  return {.program = std::string(program),
          .version = kBurnishVersion,
          .oldest = kProtocolOldest,
          .newest = kProtocolNewest};
}

Speaker FirstVersion(absl::string_view program) {
  return {.program = std::string(program), .version = "0.1", .oldest = 1, .newest = 1};
}

std::string VersionLine(const Speaker& speaker) {
  return absl::StrCat(speaker.program, " ", speaker.version, " (protocol ", Range(speaker), ")");
}

std::string ToText(const Speaker& speaker) {
  return absl::StrCat(speaker.oldest, ";", speaker.newest, ";", speaker.version, ";",
                      speaker.program);
}

absl::StatusOr<Speaker> ParseSpeaker(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ';');
  Speaker speaker;
  if (parts.size() < 4 || !ParseNumber(parts[0], speaker.oldest) ||
      !ParseNumber(parts[1], speaker.newest) || speaker.newest < speaker.oldest ||
      !IsName(parts[2]) || !IsName(parts[3])) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", kSpeakerMetadata, " metadata of ", text.size(),
                     " bytes, want OLDEST;NEWEST;VERSION;PROGRAM: is the other end Burnish?"));
  }
  speaker.version = std::string(parts[2]);
  speaker.program = std::string(parts[3]);
  return speaker;
}

absl::Status CheckTogether(const Speaker& client, const Speaker& server) {
  if (client.newest >= server.oldest && server.newest >= client.oldest) return absl::OkStatus();
  const Speaker& older = client.newest < server.oldest ? client : server;
  return ProtocolRefusal(
      absl::StrCat(Speaks(client), ", ", Speaks(server), ": update the ", older.program));
}

bool IsProtocolRefusal(const absl::Status& status) {
  return status.GetPayload(kRefusalPayload).has_value();
}

bool IsFinalRefusal(const absl::Status& status) {
  return IsProtocolRefusal(status) || absl::IsPermissionDenied(status) ||
         absl::IsUnauthenticated(status);
}

absl::Status ProtocolRefusal(absl::string_view message) {
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kRefusalPayload, absl::Cord());
  return status;
}

}  // namespace burnish
