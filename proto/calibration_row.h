// What was measured of a machine: the facts that a table of microarchitectures cannot know. Refines
// a DeviceModel. Never part of a target's text, of a key or of a candidate's id: two workers with
// equal targets may have unequal rows.
#ifndef PROTO_CALIBRATION_ROW_H_
#define PROTO_CALIBRATION_ROW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

struct CpuInfo;
namespace v1 {
class CalibrationRow;
}  // namespace v1

struct UnitRate {
  std::string unit = "";       // As in DeviceModel.
  double gops_alone = 0;       // Of one core while all others do the same; 2 a multiply-add. > 0.
  double gops_with_loads = 0;  // The same with a load for each instruction. > 0.

  bool operator==(const UnitRate&) const = default;
};

struct LevelRate {
  std::string level = "";      // "L1", "L2", "L3", "memory".
  double gb_per_s_alone = 0;   // Read by one core while the others rest. > 0.
  double gb_per_s_shared = 0;  // Read by all cores together. > 0.
  double latency_ns = 0;       // Of a load that waits for the one before. > 0.

  bool operator==(const LevelRate&) const = default;
};

struct CalibrationRow {
  // Raised when rows of two versions do not compare.
  static constexpr int32_t kVersion = 1;

  int32_t version = kVersion;
  std::string machine = "";    // MachineIdentity.
  std::string boot_id = "";    // Of the boot in which it was last confirmed; empty: not known.
  int64_t measured_at_ns = 0;  // Since 1970.
  int32_t threads = 1;         // Cores that took part.
  double clock_ghz = 0;        // While the widest multiply-adds run on all of them. > 0.
  std::vector<UnitRate> units = {};
  std::vector<LevelRate> levels = {};  // From the core outwards.
  // 0 with one core.
  double barrier_ns = 0;       // All cores arrive together.
  double peer_latency_ns = 0;  // A load of what another core has just written. No model asks it.
  double peer_gb_per_s = 0;    // A stream of that, one reader a writer.

  const UnitRate* FindUnit(absl::string_view unit) const;     // Null: was not measured.
  const LevelRate* FindLevel(absl::string_view level) const;  // Null: there is no such level.

  bool operator==(const CalibrationRow&) const = default;
};

// To two significant digits: a machine does not repeat more, and a row should not look as if it
// did. Exact decimal values come out, so that a row survives its text.
CalibrationRow Rounded(CalibrationRow row);

v1::CalibrationRow ToProto(const CalibrationRow& row);
// Errors as ParseCalibrationRow.
absl::StatusOr<CalibrationRow> FromProto(const v1::CalibrationRow& message);
// Where a row may be left out: nothing for null, and for one of another version of this program,
// which is of no use and no reason to refuse what it came with. INVALID_ARGUMENT as above.
absl::StatusOr<std::optional<CalibrationRow>> FromProtoIfKnown(const v1::CalibrationRow* message);

// For the disk and for people; ParseCalibrationRow gives the row back.
std::string ToText(const CalibrationRow& row);

// INVALID_ARGUMENT: no row, or one that CheckPlausible refuses. FAILED_PRECONDITION: of another
// version, so that it has to be measured again.
absl::StatusOr<CalibrationRow> ParseCalibrationRow(absl::string_view text);

// INVALID_ARGUMENT for what no machine can be: a number that is not finite or out of bounds, a name
// twice, an outer level that is faster than the one before. That is what disturbed measurements
// look like.
absl::Status CheckPlausible(const CalibrationRow& row);

// How far apart two rows of one machine are: the greatest |a - b| / max(a, b) of all that both
// measured; 1 where one of them lacks what the other has.
double Drift(const CalibrationRow& a, const CalibrationRow& b);

// A row is replaced by a new one that differs by more than this: less is what one machine's
// measurements differ by from hour to hour.
inline constexpr double kDriftMax = 0.10;

// Names a machine as its programs see it, in 64 hexadecimal digits: processor, features, caches,
// the cores that may be used, and `host`, its name.
std::string MachineIdentity(const CpuInfo& info, absl::string_view host);

}  // namespace burnish

#endif  // PROTO_CALIBRATION_ROW_H_
