// libFuzzer target: texts that people write and records hold are refused with INVALID_ARGUMENT, or
// are their own inverse. The first byte says which text follows.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "compiler/schedule/step.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/target.h"
#include "proto/calibration_row.h"

namespace burnish {
namespace {

void CheckRefusal(const absl::Status& status) {
  CHECK(status.code() == absl::StatusCode::kInvalidArgument) << status;
}

void FuzzTarget(absl::string_view text) {
  const absl::StatusOr<Target> target = ParseTarget(text);
  if (absl::IsUnimplemented(target.status())) return;  // cuda: and opencl:.
  if (!target.ok()) return CheckRefusal(target.status());
  const std::string printed = target->ToText();
  const absl::StatusOr<Target> again = ParseTarget(printed);
  CHECK_OK(again);
  CHECK_EQ(again->ToText(), printed);
}

void FuzzTrace(absl::string_view text) {
  const absl::StatusOr<Trace> trace = ParseTrace(text);
  if (!trace.ok()) return CheckRefusal(trace.status());
  const std::string printed = PrintTrace(*trace);
  const absl::StatusOr<Trace> again = ParseTrace(printed);
  CHECK_OK(again) << printed;
  CHECK_EQ(PrintTrace(*again), printed);
}

void FuzzCalibrationRow(absl::string_view text) {
  const absl::StatusOr<CalibrationRow> row = ParseCalibrationRow(text);
  // A row of another version is refused in another way: it has to be measured again.
  if (absl::IsFailedPrecondition(row.status())) return;
  if (!row.ok()) return CheckRefusal(row.status());
  const absl::StatusOr<CalibrationRow> again = ParseCalibrationRow(ToText(*row));
  CHECK_OK(again);
  CHECK(*again == *row);
}

}  // namespace
}  // namespace burnish

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 3) {
    case 0:
      burnish::FuzzTarget(text);
      break;
    case 1:
      burnish::FuzzTrace(text);
      break;
    case 2:
      burnish::FuzzCalibrationRow(text);
      break;
  }
  return 0;
}
