#include "tuner/cli/farm_text.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tuner/cli/calibration_text.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

Json SlotJson(const FarmSlot& slot) {
  return {{"kind", slot.kind},
          {"devices", slot.device_keys},
          {"labels", slot.labels},
          {"job", slot.job_id.empty() ? Json(nullptr) : Json(slot.job_id)},
          {"executing_s", absl::ToDoubleSeconds(slot.executing_for)},
          {"done", slot.done_count},
          {"faults", slot.fault_count},
          {"paused_s", absl::ToDoubleSeconds(slot.paused_for)}};
}

// Beside the row that holds for studies on this kind of device.
std::string RowText(std::optional<double> deviation) {
  if (!deviation.has_value()) return "none";
  return *deviation == 0 ? "holds" : absl::StrFormat("%.0f %% off", 100 * *deviation);
}

// "alive, doubted by 3": whose results studies do not take at their word.
std::string StateText(const FarmWorker& worker) {
  if (worker.doubted_by.empty()) return worker.state;
  return absl::StrCat(worker.state, ", doubted by ", absl::StrJoin(worker.doubted_by, ","));
}

std::string JobText(const FarmSlot& slot) {
  if (slot.paused_for > absl::ZeroDuration()) {
    return absl::StrCat("paused for ", FormatPeriod(slot.paused_for));
  }
  return slot.job_id.empty() ? "idle" : slot.job_id;
}

std::string DevicesText(const FarmSlot& slot) {
  return slot.device_keys.empty() ? "any" : absl::StrJoin(slot.device_keys, ",");
}

}  // namespace

std::string WorkersText(const std::vector<FarmWorker>& workers, int columns) {
  TextTable table({{.title = "worker", .is_id = true},
                   {"host"},
                   {"row", TextTable::kRight},
                   {"state"},
                   {"seen", TextTable::kRight},
                   {"slot"},
                   {"devices"},
                   {"job"},
                   {"done", TextTable::kRight},
                   {"faults", TextTable::kRight}});
  for (const FarmWorker& worker : workers) {
    for (const FarmSlot& slot : worker.slots) {
      table.AddRow({worker.id, worker.host, RowText(RowDeviation(workers, worker)),
                    StateText(worker), absl::StrCat(FormatPeriod(worker.since_seen), " ago"),
                    slot.kind, DevicesText(slot), JobText(slot), absl::StrCat(slot.done_count),
                    absl::StrCat(slot.fault_count)});
    }
  }
  return table.ToText(columns);
}

std::string WorkerText(const std::vector<FarmWorker>& workers, const FarmWorker& worker,
                       int columns) {
  TextTable facts({{"Worker"}, {.title = "", .wraps = true}});
  facts.AddRow({"  id", worker.id});
  facts.AddRow({"  host", worker.host});
  facts.AddRow({"  state", StateText(worker)});
  facts.AddRow({"  seen", absl::StrCat(FormatPeriod(worker.since_seen), " ago")});
  facts.AddRow({"  row", worker.calibration.has_value() ? CalibrationLine(*worker.calibration)
                                                        : "none: it has measured nothing"});
  facts.AddRow({"", RowText(RowDeviation(workers, worker)) + " for studies on its devices"});
  TextTable slots({{"Slots", TextTable::kRight},
                   {"kind"},
                   {"devices"},
                   {"job"},
                   {"for", TextTable::kRight},
                   {"done", TextTable::kRight},
                   {"faults", TextTable::kRight}});
  TextTable labels({{"Labels", TextTable::kRight}, {"name"}, {.title = "value", .wraps = true}});
  for (size_t i = 0; i < worker.slots.size(); ++i) {
    const FarmSlot& slot = worker.slots[i];
    slots.AddRow({absl::StrCat(i), slot.kind, DevicesText(slot), JobText(slot),
                  slot.job_id.empty() ? "-" : FormatPeriod(slot.executing_for),
                  absl::StrCat(slot.done_count), absl::StrCat(slot.fault_count)});
    for (const auto& [name, value] : slot.labels) labels.AddRow({absl::StrCat(i), name, value});
  }
  return absl::StrCat(facts.ToText(columns), "\n", slots.ToText(columns), "\n",
                      labels.ToText(columns));
}

Json WorkerJson(const std::vector<FarmWorker>& workers, const FarmWorker& worker) {
  Json slots = Json::array();
  const std::optional<double> deviation = RowDeviation(workers, worker);
  for (const FarmSlot& slot : worker.slots) slots.push_back(SlotJson(slot));
  return {{"id", worker.id},
          {"host", worker.host},
          {"state", worker.state},
          {"seen_s", absl::ToDoubleSeconds(worker.since_seen)},
          {"calibration",
           worker.calibration.has_value() ? CalibrationJson(*worker.calibration) : Json(nullptr)},
          {"doubted_by", worker.doubted_by},
          {"row_deviation", deviation.has_value() ? Json(*deviation) : Json(nullptr)},
          {"slots", std::move(slots)}};
}

}  // namespace burnish
