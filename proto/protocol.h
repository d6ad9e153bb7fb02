// Which protocol programs speak over the network, and whether two of them understand each other.
// docs/contracts.md ("Versions") says what raises the number, and what never changes.
#ifndef PROTO_PROTOCOL_H_
#define PROTO_PROTOCOL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

// What this version speaks: its own protocol and, where it can, its predecessor's. Version 0.1
// spoke 1, without ever saying so. 0.2 speaks 2 alone: a worker has to say its incarnation, by
// which the tracker knows a process from its predecessor. Since 3 a worker has a secret.
inline constexpr int kProtocolOldest = 2;
inline constexpr int kProtocolNewest = 3;

// One end of a conversation.
struct Speaker {
  std::string program = {};  // For people: "worker", "tuner serve".
  std::string version = {};  // For people: "0.2.0".
  int oldest = 0;            // Of the protocols that it speaks; > 0.
  int newest = 0;            // At least `oldest`.

  friend bool operator==(const Speaker&, const Speaker&) = default;
};

// A program of this version.
Speaker ThisVersion(absl::string_view program);
// One that says nothing of its protocol.
Speaker FirstVersion(absl::string_view program);

// "tracker 0.2.0 (protocol 2)": what --version and GetStatus say.
std::string VersionLine(const Speaker& speaker);

// Metadata of every call and of every answer, see ToText. The key never changes.
inline constexpr char kSpeakerMetadata[] = "burnish-speaker";

// "2;2;0.2.0;worker". Later versions may append to it, which this one ignores.
std::string ToText(const Speaker& speaker);
// From the network. INVALID_ARGUMENT: not such a text, or one that no version would send.
absl::StatusOr<Speaker> ParseSpeaker(absl::string_view text);

// OK: there is a protocol that both speak. Else FAILED_PRECONDITION, which IsProtocolRefusal knows,
// with both programs, both versions, and which of them is to be updated.
absl::Status CheckTogether(const Speaker& client, const Speaker& server);

// Two programs do not understand each other: trying again does not help, another version does.
bool IsProtocolRefusal(const absl::Status& status);
// Another version, the end of another process, or a secret would help, and no patience: a protocol
// refusal; PERMISSION_DENIED, by which a tracker takes this program for a stranger under its name;
// or UNAUTHENTICATED (Greeter).
bool IsFinalRefusal(const absl::Status& status);
// A status that IsProtocolRefusal knows, with this message. How it crosses gRPC is rpc.h's concern.
absl::Status ProtocolRefusal(absl::string_view message);

}  // namespace burnish

#endif  // PROTO_PROTOCOL_H_
