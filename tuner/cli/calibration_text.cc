#include "tuner/cli/calibration_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

// Rows have two digits; what the table says is shown as it would be measured.
std::string Number(double value) { return value > 0 ? absl::StrFormat("%.2g", value) : "-"; }

// "240" or "1200" instead of "2.4e+02".
std::string Plain(double value) {
  if (value <= 0) return "-";
  return value >= 10 ? absl::StrFormat("%.0f", value) : Number(value);
}

// Of what was measured from what the table says: "+12 %"; "-" where it says nothing.
std::string Deviation(double measured, double expected) {
  return expected > 0 ? absl::StrFormat("%+.0f %%", 100 * (measured / expected - 1)) : "-";
}

std::string UnitsText(const CalibrationRow& row, const DeviceModel& table) {
  TextTable text({{"unit, one core"},
                  {"GOP/s", TextTable::kRight},
                  {"table", TextTable::kRight},
                  {"off", TextTable::kRight},
                  {"with loads", TextTable::kRight},
                  {"table", TextTable::kRight},
                  {"off", TextTable::kRight}});
  for (const UnitRate& rate : row.units) {
    double alone = 0, loaded = 0;
    if (const ComputeUnit* const unit = table.FindUnit(rate.unit)) {
      const double gops = static_cast<double>(unit->operations()) * table.cycles_per_second * 1e-9;
      alone = gops * unit->PerCycle(0);
      loaded = gops * unit->PerCycle(1);
    }
    text.AddRow({rate.unit, Plain(rate.gops_alone), Plain(alone), Deviation(rate.gops_alone, alone),
                 Plain(rate.gops_with_loads), Plain(loaded),
                 Deviation(rate.gops_with_loads, loaded)});
  }
  return text.ToText();
}

std::string LevelsText(const CalibrationRow& row, const DeviceModel& table) {
  TextTable text({{"level"},
                  {"GB/s, one core", TextTable::kRight},
                  {"table", TextTable::kRight},
                  {"off", TextTable::kRight},
                  {"all cores", TextTable::kRight},
                  {"table", TextTable::kRight},
                  {"off", TextTable::kRight},
                  {"latency ns", TextTable::kRight},
                  {"table", TextTable::kRight},
                  {"off", TextTable::kRight}});
  const double ghz = table.cycles_per_second * 1e-9;
  for (const LevelRate& rate : row.levels) {
    double alone = 0, shared = 0, latency = 0;
    if (const MemoryLevel* const level = table.FindLevel(rate.level)) {
      alone = level->bytes_per_cycle_alone * ghz;
      shared = alone * row.threads;
      if (level->bytes_per_cycle_shared > 0) {
        shared = std::min(shared, level->bytes_per_cycle_shared * ghz);
      }
      latency = level->latency_cycles / ghz;
    }
    text.AddRow({rate.level, Plain(rate.gb_per_s_alone), Plain(alone),
                 Deviation(rate.gb_per_s_alone, alone), Plain(rate.gb_per_s_shared), Plain(shared),
                 Deviation(rate.gb_per_s_shared, shared), Plain(rate.latency_ns), Plain(latency),
                 Deviation(rate.latency_ns, latency)});
  }
  return text.ToText();
}

std::string ExchangeText(const CalibrationRow& row, const DeviceModel& table) {
  TextTable text({{"machine"},
                  {"measured", TextTable::kRight},
                  {"table", TextTable::kRight},
                  {"off", TextTable::kRight}});
  const auto add = [&](const char* what, double measured, double expected) {
    text.AddRow({what, Plain(measured), Plain(expected), Deviation(measured, expected)});
  };
  const double ghz = table.cycles_per_second * 1e-9;
  add("clock GHz", row.clock_ghz, ghz);
  const ParallelAxis* const workers = table.FindAxis(Axis::kWorker);
  // One core has nobody to exchange anything with.
  if (row.threads == 1 || workers == nullptr) return text.ToText();
  add("barrier ns", row.barrier_ns, workers->barrier_cycles / ghz);
  add("other core's data ns", row.peer_latency_ns, workers->peer_latency_cycles / ghz);
  add("other core's data GB/s", row.peer_gb_per_s, workers->peer_bytes_per_cycle * ghz);
  return text.ToText();
}

}  // namespace

std::string CalibrationLine(const CalibrationRow& row) {
  std::string text = absl::StrFormat("%g GHz", row.clock_ghz);
  if (!row.units.empty()) {
    absl::StrAppend(&text, ", ", Plain(row.units.front().gops_with_loads * row.threads),
                    " GOP/s of ", row.units.front().unit);
  }
  if (const LevelRate* const memory = row.FindLevel("memory")) {
    absl::StrAppend(&text, ", memory ", Plain(memory->gb_per_s_shared), " GB/s");
  }
  return absl::StrCat(text, ", measured ", FormatWallNs(row.measured_at_ns));
}

std::string CalibrationText(const CalibrationRow& row, const DeviceModel& table) {
  return absl::StrCat(UnitsText(row, table), "\n", LevelsText(row, table), "\n",
                      ExchangeText(row, table));
}

Json CalibrationJson(const CalibrationRow& row) {
  Json json = {{"version", row.version},
               {"machine", row.machine},
               {"boot", row.boot_id},
               {"measured_ns", row.measured_at_ns},
               {"threads", row.threads},
               {"clock_ghz", row.clock_ghz},
               {"units", Json::array()},
               {"levels", Json::array()},
               {"barrier_ns", row.barrier_ns},
               {"peer_latency_ns", row.peer_latency_ns},
               {"peer_gb_per_s", row.peer_gb_per_s}};
  for (const UnitRate& unit : row.units) {
    json["units"].push_back({{"unit", unit.unit},
                             {"gops", unit.gops_alone},
                             {"gops_with_loads", unit.gops_with_loads}});
  }
  for (const LevelRate& level : row.levels) {
    json["levels"].push_back({{"level", level.level},
                              {"gb_per_s", level.gb_per_s_alone},
                              {"gb_per_s_all_cores", level.gb_per_s_shared},
                              {"latency_ns", level.latency_ns}});
  }
  return json;
}

}  // namespace burnish
