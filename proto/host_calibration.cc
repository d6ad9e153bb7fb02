#include "proto/host_calibration.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/cpu_info.h"
#include "base/file.h"
#include "base/self_path.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "base/unique_fd.h"
#include "base/xdg_folder.h"

namespace burnish {
namespace {

// A row of every unit and level that there is has 2 KiB.
constexpr int64_t kRowBytesMax = 64 << 10;
constexpr int64_t kBootIdBytesMax = 256;
// The calibrator takes three seconds at most; before that it waits for timed sections of others,
// which take a second or so each.
constexpr absl::Duration kTimeout = absl::Seconds(20);

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

// Empty, where the kernel shows none: then rows hold for ever, as on a machine that never reboots.
std::string BootId() {
  const absl::StatusOr<std::string> text =
      ReadFile("/proc/sys/kernel/random/boot_id", kBootIdBytesMax);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make ", folder));
}

// Waits for whoever has it; the holder's end gives it back, and a calibrator ends at its timeout.
absl::StatusOr<UniqueFd> Lock(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  while (flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
  }
  return fd;
}

// What the calibrator measured, still nobody's.
absl::StatusOr<CalibrationRow> RunCalibrator(const HostCalibrationOptions& options) {
  SubprocessOptions calibrator{
      .program = options.program, .timeout = kTimeout, .stdout_bytes_max = kRowBytesMax};
  if (calibrator.program.empty()) {
    ASSIGN_OR_RETURN(calibrator.program, FindProgram("worker/calibrate/calibrator"));
  }
  if (!options.lock_folder.empty()) calibrator.args.push_back(options.lock_folder);
  ASSIGN_OR_RETURN(const ExitInfo exit, RunSubprocess(calibrator));
  if (exit.timed_out) {
    return absl::DeadlineExceededError(absl::StrCat(
        "calibrator: not done after ", absl::FormatDuration(kTimeout), ", others measure here"));
  }
  if (!exit.ok()) return absl::UnavailableError(absl::StrCat("calibrator: ", Describe(exit)));
  absl::StatusOr<CalibrationRow> row = ParseCalibrationRow(exit.stdout_bytes);
  // Of another installation, or broken: nothing that a caller could mend by another argument.
  if (!row.ok()) return absl::UnavailableError(row.status().message());
  return row;
}

}  // namespace

HostCalibration::HostCalibration(HostCalibrationOptions options) : options_(std::move(options)) {
  if (options_.machine.empty()) options_.machine = MachineIdentity(HostCpuInfo(), HostName());
  if (options_.boot_id.empty()) options_.boot_id = BootId();
}

std::string HostCalibration::path() const {
  if (options_.folder.empty()) return "";
  return absl::StrCat(options_.folder, "/", options_.machine, ".row");
}

absl::StatusOr<CalibrationRow> HostCalibration::Find() const {
  if (options_.folder.empty()) return absl::NotFoundError("calibration rows are not kept");
  const absl::StatusOr<std::string> text = ReadFile(path(), kRowBytesMax);
  if (absl::IsNotFound(text.status())) return absl::NotFoundError("this machine has no row yet");
  if (!absl::IsInvalidArgument(text.status())) RETURN_IF_ERROR(text.status());
  absl::StatusOr<CalibrationRow> row = text.ok() ? ParseCalibrationRow(*text) : text.status();
  // A damaged file, another version's, or another machine's under this name, is measured again.
  if (!row.ok()) return absl::NotFoundError(absl::StrCat(path(), ": ", row.status().message()));
  if (row->machine != options_.machine) {
    return absl::NotFoundError(absl::StrCat(path(), " is another machine's"));
  }
  return row;
}

absl::StatusOr<UniqueFd> HostCalibration::LockRow() const {
  if (options_.folder.empty()) return UniqueFd();
  RETURN_IF_ERROR(MakeFolder(options_.folder));
  return Lock(absl::StrCat(path(), ".lock"));
}

absl::StatusOr<Recalibration> HostCalibration::MeasureLocked() const {
  Recalibration result;
  ASSIGN_OR_RETURN(result.measured, RunCalibrator(options_));
  result.measured.machine = options_.machine;
  result.measured.boot_id = options_.boot_id;
  result.measured.measured_at_ns = absl::ToUnixNanos(Clock::Real().WallNow());
  result.kept = result.measured;
  if (absl::StatusOr<CalibrationRow> before = Find(); before.ok()) {
    result.drift = Drift(*before, result.measured);
    if (result.drift <= kDriftMax) {
      // Small changes would give the default schedules another choice at every boot.
      result.kept = *before;
      result.kept.boot_id = options_.boot_id;
    }
    result.before = *std::move(before);
  }
  if (!options_.folder.empty()) RETURN_IF_ERROR(WriteFileAtomically(path(), ToText(result.kept)));
  return result;
}

absl::StatusOr<CalibrationRow> HostCalibration::Get() const {
  const auto find = [this]() -> absl::StatusOr<CalibrationRow> {
    ASSIGN_OR_RETURN(CalibrationRow row, Find());
    if (row.boot_id != options_.boot_id) return absl::NotFoundError("a row of another boot");
    return row;
  };
  absl::StatusOr<CalibrationRow> row = find();
  if (!absl::IsNotFound(row.status())) return row;
  ASSIGN_OR_RETURN(const UniqueFd lock, LockRow());
  // Whoever had the lock before may have measured.
  row = find();
  if (!absl::IsNotFound(row.status())) return row;
  ASSIGN_OR_RETURN(const Recalibration measured, MeasureLocked());
  return measured.kept;
}

absl::StatusOr<Recalibration> HostCalibration::Recalibrate() const {
  ASSIGN_OR_RETURN(const UniqueFd lock, LockRow());
  return MeasureLocked();
}

std::string CalibrationFolder(const std::function<const char*(const char*)>& getenv) {
  const std::string folder = XdgFolder(getenv, "XDG_CACHE_HOME", ".cache");
  return folder.empty() ? "" : absl::StrCat(folder, "/burnish/calibration");
}

absl::StatusOr<std::optional<CalibrationRow>> ChooseCalibration(const std::string& choice,
                                                                const HostCalibration& host) {
  if (choice == kCalibrationTable) return std::nullopt;
  if (choice == kCalibrationAuto) return host.Get();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(choice, kRowBytesMax));
  return ParseCalibrationRow(text);
}

}  // namespace burnish
