// Which calibration row holds for a target: what `compile`, `submit` and `serve` have in common.
#ifndef TUNER_APP_MACHINE_ROW_H_
#define TUNER_APP_MACHINE_ROW_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/target/target.h"
#include "proto/calibration_row.h"
#include "proto/host_calibration.h"

namespace burnish {

struct MachineRowOptions {
  // kCalibrationAuto, kCalibrationTable, or the path of a row, which then holds for any target.
  std::string calibration = kCalibrationTable;
  HostCalibrationOptions host = {};  // Where this machine's row is kept.
  bool may_measure = true;  // Where this machine has no row of this boot; else it has none.
  // Of the farm that measures; empty: this machine does, or nobody.
  std::string tracker = "";
};

struct MachineRow {
  std::optional<CalibrationRow> row = std::nullopt;  // Nothing: the microarchitecture's table.
  // Why there is no row where one was to be expected: the table does instead. A remark, no error.
  absl::Status trouble = absl::OkStatus();
};

// Of a farm: the row of its first worker for the target, by id, that has one. Of this machine: its
// own, measured in one to three seconds where there is none of this boot. A target that is neither
// has the table. Error B0102: a file that is not there or holds no row.
absl::StatusOr<MachineRow> FindMachineRow(const MachineRowOptions& options, const Target& target);

// Whether this machine could be what `target` names: its microarchitecture and caches, and no
// feature that the machine lacks. Threads do not matter.
bool IsOfThisMachine(const Target& target);

}  // namespace burnish

#endif  // TUNER_APP_MACHINE_ROW_H_
