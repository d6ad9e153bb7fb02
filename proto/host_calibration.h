// This machine's calibration row: one file on disk, measured by the calibrator program where there
// is none of this boot. What a worker sends, and what `compile` for the host and `doctor` use.
#ifndef PROTO_HOST_CALIBRATION_H_
#define PROTO_HOST_CALIBRATION_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "proto/calibration_row.h"

namespace burnish {

struct HostCalibrationOptions {
  // Of the rows; made where it is not there. Empty: none are kept, and each Get measures.
  std::string folder = "";
  // Empty: worker/calibrate/calibrator of the installation that this program belongs to.
  std::string program = "";
  std::string lock_folder = "";  // Of measuring locks; empty: the calibrator's default.
  std::string machine = "";      // Empty: this machine's MachineIdentity.
  std::string boot_id = "";      // Empty: what the kernel says.
};

// A new measurement beside what was kept.
struct Recalibration {
  CalibrationRow measured = {};
  std::optional<CalibrationRow> before = std::nullopt;  // Nothing, or of another version: none.
  // What holds from now on: `before`, confirmed for this boot, unless the drift is over kDriftMax.
  CalibrationRow kept = {};
  double drift = 0;  // Between the first two; 0 where there is no `before`.
};

// Thread-safe, and so among processes: of several that find no row, one measures.
class HostCalibration {
 public:
  explicit HostCalibration(HostCalibrationOptions options);

  // The row on disk, of whatever boot. NOT_FOUND: there is none that can be used.
  absl::StatusOr<CalibrationRow> Find() const;
  // The row of this boot, measured in one to three seconds where there is none, and after the
  // measurements that others have begun. Errors: NOT_FOUND no calibrator, UNAVAILABLE it cannot
  // measure, DEADLINE_EXCEEDED others never let it; those of its files.
  absl::StatusOr<CalibrationRow> Get() const;
  // Measures whatever there is. Errors: as Get.
  absl::StatusOr<Recalibration> Recalibrate() const;

  // Where the row is, as text. Empty: rows are not kept.
  std::string path() const;

 private:
  absl::StatusOr<UniqueFd> LockRow() const;
  absl::StatusOr<Recalibration> MeasureLocked() const;

  HostCalibrationOptions options_;
};

// $XDG_CACHE_HOME/burnish/calibration: a row can be measured again. Empty: no such folder.
std::string CalibrationFolder(const std::function<const char*(const char*)>& getenv);

// What a user may set.
inline constexpr char kCalibrationAuto[] = "auto";    // This machine's row.
inline constexpr char kCalibrationTable[] = "table";  // No row: the table of microarchitectures.

// The row of `choice`; nothing for the table. Anything else is the path of a row's text, whoever's
// it is. Errors: as Get; of the file; INVALID_ARGUMENT where it holds no row.
absl::StatusOr<std::optional<CalibrationRow>> ChooseCalibration(const std::string& choice,
                                                                const HostCalibration& host);

}  // namespace burnish

#endif  // PROTO_HOST_CALIBRATION_H_
