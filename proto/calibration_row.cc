#include "proto/calibration_row.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/cpu_info.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "compiler/target/target.h"
#include "proto/calibration.pb.h"

namespace burnish {
namespace {

// Nothing that was ever sold lies outside; a stopped clock or an empty loop does.
struct Bounds {
  double low;
  double high;
};
constexpr Bounds kClockGhz = {0.1, 20}, kGops = {0.01, 1e6}, kGbPerS = {0.01, 1e5},
                 kNanoseconds = {0.1, 1e6};

// What the rates of two neighbouring levels may be out of order by, where both are about as fast
// (a small share of a large L3 and memory) and one was disturbed.
constexpr double kOrderTolerance = 1.25;

template <typename Row, typename Name>
auto* Find(const std::vector<Row>& rows, Name Row::* name, absl::string_view wanted) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.*name == wanted; });
  return found == rows.end() ? nullptr : &*found;
}

double TwoDigits(double value) {
  double rounded = 0;
  // Through text, so that the nearest decimal fraction comes out: 0.29 and not 0.29000000000000004.
  return absl::SimpleAtod(absl::StrFormat("%.1e", value), &rounded) ? rounded : value;
}

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("calibration: ", what));
}

absl::Status CheckBounds(absl::string_view name, double value, const Bounds& bounds) {
  // Written so that a NaN is refused.
  if (value >= bounds.low && value <= bounds.high) return absl::OkStatus();
  return Bad(absl::StrFormat("got %s = %g, want %g to %g", name, value, bounds.low, bounds.high));
}

absl::Status CheckUnits(const CalibrationRow& row) {
  std::set<absl::string_view> names;
  for (const UnitRate& unit : row.units) {
    if (unit.unit.empty() || !names.insert(unit.unit).second) {
      return Bad(absl::StrCat("got the unit '", unit.unit, "' twice or without a name"));
    }
    RETURN_IF_ERROR(CheckBounds(unit.unit, unit.gops_alone, kGops));
    RETURN_IF_ERROR(
        CheckBounds(absl::StrCat(unit.unit, " with loads"), unit.gops_with_loads, kGops));
    if (unit.gops_with_loads > kOrderTolerance * unit.gops_alone) {
      return Bad(absl::StrFormat("%s is faster with loads (%g) than without (%g)", unit.unit,
                                 unit.gops_with_loads, unit.gops_alone));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLevels(const CalibrationRow& row) {
  std::set<absl::string_view> names;
  const LevelRate* inner = nullptr;
  for (const LevelRate& level : row.levels) {
    if (level.level.empty() || !names.insert(level.level).second) {
      return Bad(absl::StrCat("got the level '", level.level, "' twice or without a name"));
    }
    RETURN_IF_ERROR(CheckBounds(level.level, level.gb_per_s_alone, kGbPerS));
    RETURN_IF_ERROR(
        CheckBounds(absl::StrCat(level.level, " shared"), level.gb_per_s_shared, kGbPerS));
    RETURN_IF_ERROR(
        CheckBounds(absl::StrCat(level.level, " latency"), level.latency_ns, kNanoseconds));
    if (inner != nullptr && level.gb_per_s_alone > kOrderTolerance * inner->gb_per_s_alone) {
      return Bad(absl::StrFormat("%s (%g GB/s) is faster than %s (%g GB/s)", level.level,
                                 level.gb_per_s_alone, inner->level, inner->gb_per_s_alone));
    }
    if (inner != nullptr && inner->latency_ns > kOrderTolerance * level.latency_ns) {
      return Bad(absl::StrFormat("%s (%g ns) answers before %s (%g ns)", level.level,
                                 level.latency_ns, inner->level, inner->latency_ns));
    }
    inner = &level;
  }
  return absl::OkStatus();
}

// Keeps the library from writing to stderr what the caller gets as a status.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat("line ", line + 1, ": ", message);
  }
  void AddWarning(int line, int column, const std::string& message) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void AddDrift(double a, double b, double& drift) {
  const double most = std::max(a, b);
  if (most > 0) drift = std::max(drift, std::abs(a - b) / most);
}

}  // namespace

const UnitRate* CalibrationRow::FindUnit(absl::string_view unit) const {
  return Find(units, &UnitRate::unit, unit);
}

const LevelRate* CalibrationRow::FindLevel(absl::string_view level) const {
  return Find(levels, &LevelRate::level, level);
}

CalibrationRow Rounded(CalibrationRow row) {
  row.clock_ghz = TwoDigits(row.clock_ghz);
  for (UnitRate& unit : row.units) {
    unit.gops_alone = TwoDigits(unit.gops_alone);
    unit.gops_with_loads = TwoDigits(unit.gops_with_loads);
  }
  for (LevelRate& level : row.levels) {
    level.gb_per_s_alone = TwoDigits(level.gb_per_s_alone);
    level.gb_per_s_shared = TwoDigits(level.gb_per_s_shared);
    level.latency_ns = TwoDigits(level.latency_ns);
  }
  row.barrier_ns = TwoDigits(row.barrier_ns);
  row.peer_latency_ns = TwoDigits(row.peer_latency_ns);
  row.peer_gb_per_s = TwoDigits(row.peer_gb_per_s);
  return row;
}

v1::CalibrationRow ToProto(const CalibrationRow& row) {
  v1::CalibrationRow message;
  message.set_version(row.version);
  message.set_machine(row.machine);
  message.set_boot_id(row.boot_id);
  message.set_measured_at_ns(row.measured_at_ns);
  message.set_threads(row.threads);
  message.set_clock_ghz(row.clock_ghz);
  for (const UnitRate& unit : row.units) {
    v1::CalibrationRow::UnitRate* out = message.add_units();
    out->set_unit(unit.unit);
    out->set_gops_alone(unit.gops_alone);
    out->set_gops_with_loads(unit.gops_with_loads);
  }
  for (const LevelRate& level : row.levels) {
    v1::CalibrationRow::LevelRate* out = message.add_levels();
    out->set_level(level.level);
    out->set_gb_per_s_alone(level.gb_per_s_alone);
    out->set_gb_per_s_shared(level.gb_per_s_shared);
    out->set_latency_ns(level.latency_ns);
  }
  message.set_barrier_ns(row.barrier_ns);
  message.set_peer_latency_ns(row.peer_latency_ns);
  message.set_peer_gb_per_s(row.peer_gb_per_s);
  return message;
}

absl::StatusOr<CalibrationRow> FromProto(const v1::CalibrationRow& message) {
  if (message.version() != CalibrationRow::kVersion) {
    return absl::FailedPreconditionError(
        absl::StrFormat("calibration: got version %d, want %d: measure it again", message.version(),
                        CalibrationRow::kVersion));
  }
  CalibrationRow row{.version = message.version(),
                     .machine = message.machine(),
                     .boot_id = message.boot_id(),
                     .measured_at_ns = message.measured_at_ns(),
                     .threads = message.threads(),
                     .clock_ghz = message.clock_ghz(),
                     .barrier_ns = message.barrier_ns(),
                     .peer_latency_ns = message.peer_latency_ns(),
                     .peer_gb_per_s = message.peer_gb_per_s()};
  for (const v1::CalibrationRow::UnitRate& unit : message.units()) {
    row.units.push_back({unit.unit(), unit.gops_alone(), unit.gops_with_loads()});
  }
  for (const v1::CalibrationRow::LevelRate& level : message.levels()) {
    row.levels.push_back(
        {level.level(), level.gb_per_s_alone(), level.gb_per_s_shared(), level.latency_ns()});
  }
  RETURN_IF_ERROR(CheckPlausible(row));
  return row;
}

absl::StatusOr<std::optional<CalibrationRow>> FromProtoIfKnown(const v1::CalibrationRow* message) {
  if (message == nullptr) return std::nullopt;
  absl::StatusOr<CalibrationRow> row = FromProto(*message);
  if (absl::IsFailedPrecondition(row.status())) return std::nullopt;
  return row;
}

std::string ToText(const CalibrationRow& row) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(ToProto(row), &text);
  return text;
}

absl::StatusOr<CalibrationRow> ParseCalibrationRow(absl::string_view text) {
  v1::CalibrationRow message;
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  parser.AllowUnknownField(true);  // A later version's row is to be told from what is none.
  if (!parser.ParseFromString(std::string(text), &message)) {
    return Bad(absl::StrCat("got a text that is no row, ", error.text()));
  }
  return FromProto(message);
}

absl::Status CheckPlausible(const CalibrationRow& row) {
  if (row.threads < 1 || row.threads > Target::kThreadsMax) {
    return Bad(absl::StrFormat("got %d threads, want 1 to %d", row.threads, Target::kThreadsMax));
  }
  RETURN_IF_ERROR(CheckBounds("clock_ghz", row.clock_ghz, kClockGhz));
  RETURN_IF_ERROR(CheckUnits(row));
  RETURN_IF_ERROR(CheckLevels(row));
  if (row.threads == 1) return absl::OkStatus();
  RETURN_IF_ERROR(CheckBounds("barrier_ns", row.barrier_ns, kNanoseconds));
  RETURN_IF_ERROR(CheckBounds("peer_latency_ns", row.peer_latency_ns, kNanoseconds));
  return CheckBounds("peer_gb_per_s", row.peer_gb_per_s, kGbPerS);
}

double Drift(const CalibrationRow& a, const CalibrationRow& b) {
  if (a.version != b.version || a.threads != b.threads || a.units.size() != b.units.size() ||
      a.levels.size() != b.levels.size()) {
    return 1;
  }
  double drift = 0;
  AddDrift(a.clock_ghz, b.clock_ghz, drift);
  for (const UnitRate& unit : a.units) {
    const UnitRate* const other = b.FindUnit(unit.unit);
    if (other == nullptr) return 1;
    AddDrift(unit.gops_alone, other->gops_alone, drift);
    AddDrift(unit.gops_with_loads, other->gops_with_loads, drift);
  }
  for (const LevelRate& level : a.levels) {
    const LevelRate* const other = b.FindLevel(level.level);
    if (other == nullptr) return 1;
    AddDrift(level.gb_per_s_alone, other->gb_per_s_alone, drift);
    AddDrift(level.gb_per_s_shared, other->gb_per_s_shared, drift);
    AddDrift(level.latency_ns, other->latency_ns, drift);
  }
  AddDrift(a.barrier_ns, b.barrier_ns, drift);
  AddDrift(a.peer_latency_ns, b.peer_latency_ns, drift);
  AddDrift(a.peer_gb_per_s, b.peer_gb_per_s, drift);
  return drift;
}

std::string MachineIdentity(const CpuInfo& info, absl::string_view host) {
  std::string text =
      absl::StrCat(host, "\n", info.vendor, "\n", info.brand, "\n", info.family, " ", info.model,
                   " ", info.stepping, "\n", absl::StrJoin(info.features, "+"), "\n");
  for (const CpuCache& cache : info.caches) {
    absl::StrAppend(&text, cache.level, ":", cache.size_bytes, ":", cache.way_count, "\n");
  }
  for (const std::vector<int>& core : info.cores) {
    absl::StrAppend(&text, absl::StrJoin(core, ","), ";");
  }
  return Sha256Hex(text);
}

}  // namespace burnish
