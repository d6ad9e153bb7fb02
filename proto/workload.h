// The identity of a tensor program to be tuned. The text is opaque here: compiler/ir prints it.
#ifndef PROTO_WORKLOAD_H_
#define PROTO_WORKLOAD_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

namespace v1 {
class Workload;
}

// 32 raw bytes.
std::string Sha256Bytes(absl::string_view bytes);

struct Workload {
  static constexpr size_t kTextBytesMax = 4 << 20;

  std::string text;       // Canonical; never empty.
  std::string id;         // SHA-256 of `text`, 32 raw bytes.
  std::string anchor_id;  // SHA-256 of the text with every `finish` emptied, 32 raw bytes.

  bool operator==(const Workload&) const = default;
};

// `anchor_text`: the same program's text with every `finish` emptied. Workloads of one anchor share
// their traces. INVALID_ARGUMENT: a text that is empty or longer than kTextBytesMax.
absl::StatusOr<Workload> MakeWorkload(absl::string_view text, absl::string_view anchor_text);

v1::Workload ToProto(const Workload& workload);
absl::StatusOr<Workload> FromProto(const v1::Workload& message);

}  // namespace burnish

#endif  // PROTO_WORKLOAD_H_
