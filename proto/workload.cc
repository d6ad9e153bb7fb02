#include "proto/workload.h"

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "proto/workload.pb.h"

namespace burnish {
namespace {

absl::Status CheckText(absl::string_view name, absl::string_view text) {
  if (!text.empty() && text.size() <= Workload::kTextBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("workload: got %s of %d bytes, want 1..%d",
                                                    name, text.size(), Workload::kTextBytesMax));
}

}  // namespace

std::string Sha256Bytes(absl::string_view bytes) {
  const Sha256Digest digest = Sha256Of(bytes.data(), bytes.size());
  return std::string(digest.begin(), digest.end());
}

absl::StatusOr<Workload> MakeWorkload(absl::string_view text, absl::string_view anchor_text) {
  RETURN_IF_ERROR(CheckText("text", text));
  RETURN_IF_ERROR(CheckText("anchor text", anchor_text));
  return Workload{
      .text = std::string(text), .id = Sha256Bytes(text), .anchor_id = Sha256Bytes(anchor_text)};
}

v1::Workload ToProto(const Workload& workload) {
  v1::Workload message;
  message.set_text(workload.text);
  message.set_anchor_id(workload.anchor_id);
  return message;
}

absl::StatusOr<Workload> FromProto(const v1::Workload& message) {
  RETURN_IF_ERROR(CheckText("text", message.text()));
  if (message.anchor_id().size() != sizeof(Sha256Digest)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "workload: got anchor_id of %d bytes, want 32", message.anchor_id().size()));
  }
  return Workload{
      .text = message.text(), .id = Sha256Bytes(message.text()), .anchor_id = message.anchor_id()};
}

}  // namespace burnish
