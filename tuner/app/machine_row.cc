#include "tuner/app/machine_row.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/app/target_text.h"

namespace burnish {
namespace {

MachineRow FarmRow(const std::string& tracker, const Target& target) {
  const absl::StatusOr<std::vector<FarmWorker>> workers = FarmClient(tracker).ListWorkers();
  if (!workers.ok()) return {.trouble = workers.status()};
  const FarmWorker* const first = FirstWithRow(*workers, target.DeviceKey());
  return first == nullptr ? MachineRow{} : MachineRow{.row = first->calibration};
}

}  // namespace

absl::StatusOr<MachineRow> FindMachineRow(const MachineRowOptions& options, const Target& target) {
  const std::string& choice = options.calibration;
  if (choice == kCalibrationTable) return MachineRow{};
  if (choice == kCalibrationAuto) {
    if (!options.tracker.empty()) return FarmRow(options.tracker, target);
    // Another machine's figures say nothing of this target.
    if (!IsOfThisMachine(target)) return MachineRow{};
    const HostCalibration host(options.host);
    absl::StatusOr<CalibrationRow> row = options.may_measure ? host.Get() : host.Find();
    if (!options.may_measure && absl::IsNotFound(row.status())) return MachineRow{};
    if (!row.ok()) return MachineRow{.trouble = row.status()};
    return MachineRow{.row = *std::move(row)};
  }
  absl::StatusOr<std::optional<CalibrationRow>> row =
      ChooseCalibration(choice, HostCalibration(options.host));
  if (!row.ok()) {
    return WithError(row.status(), ErrorCode::kSettings, absl::StrCat("calibration ", choice),
                     "auto, table, or the path of a row's text");
  }
  return MachineRow{.row = *std::move(row)};
}

bool IsOfThisMachine(const Target& target) {
  const absl::StatusOr<Target> host = ResolveTarget("host", 0);
  return host.ok() && target.RunsOn(*host) && host->l1d == target.l1d && host->l2 == target.l2 &&
         host->l3 == target.l3 && host->line_bytes == target.line_bytes;
}

}  // namespace burnish
