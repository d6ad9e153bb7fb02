// libFuzzer target: a study's log in a store. Each entry is refused, or is written again as it was;
// what a log says as a whole is found without a crash. The input is a list of entries, each after
// its length in a byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "proto/study.h"
#include "proto/study.pb.h"
#include "tuner/study/study_log.h"
#include "tuner/study/study_storage.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  std::vector<StudyEvent> events;
  while (size >= 1) {
    const size_t length = std::min<size_t>(data[0], size - 1);
    v1::StudyLogEntry message;
    if (message.ParseFromArray(data + 1, static_cast<int>(length))) {
      if (const auto entry = FromProto(message); entry.ok()) {
        const absl::StatusOr<StudyEvent> event = FromLog(*entry);
        if (event.ok()) {
          const absl::StatusOr<StudyEvent> again = FromLog(ToLog(*event));
          CHECK_OK(again);
          CHECK(*again == *event);
          events.push_back(*event);
        } else {
          CHECK(absl::IsDataLoss(event.status())) << event.status();
        }
      } else {
        CHECK(absl::IsInvalidArgument(entry.status())) << entry.status();
      }
    }
    data += 1 + length;
    size -= 1 + length;
  }
  LiftedTrials(events);
  return 0;
}
