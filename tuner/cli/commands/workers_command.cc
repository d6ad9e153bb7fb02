// tuner workers: the farm as its tracker sees it.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/cli/calibration_text.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
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
      std::string job = slot.job_id.empty() ? "idle" : slot.job_id;
      if (slot.paused_for > absl::ZeroDuration()) {
        job = absl::StrCat("paused for ", FormatPeriod(slot.paused_for));
      }
      table.AddRow({worker.id, worker.host, RowText(RowDeviation(workers, worker)),
                    StateText(worker), absl::StrCat(FormatPeriod(worker.since_seen), " ago"),
                    slot.kind,
                    slot.device_keys.empty() ? "any" : absl::StrJoin(slot.device_keys, ","), job,
                    absl::StrCat(slot.done_count), absl::StrCat(slot.fault_count)});
    }
  }
  return table.ToText(columns);
}

class WorkersCommand : public Command {
 public:
  std::string name() const override { return "workers"; }
  std::string summary() const override { return "lists a farm's workers, or drains one"; }
  std::string example() const override {
    return "tuner workers --tracker farm:7171\n"
           "tuner workers drain node-3 --tracker farm:7171";
  }
  void AddOptions(CommandOptions& options) override {
    options.Positional("ACTION", &action_, false,
                       "list (if nothing is said), drain or undrain: a drained worker finishes "
                       "what it has and gets no more");
    options.Suggest("ACTION", {"list", "drain", "undrain"});
    options.Positional("ID", &id_, false, "the worker to drain");
    options.Setting("tracker");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    const std::string tracker = context.settings().Get("tracker");
    if (tracker.empty()) {
      return MakeError(ErrorCode::kUsage, "no tracker is named", "tuner workers",
                       "--tracker ADDR, or BURNISH_TRACKER; `submit` without one starts its own");
    }
    const FarmClient farm(tracker);
    if (action_.empty() || action_ == "list") return List(context, farm);
    if (action_ != "drain" && action_ != "undrain") {
      return MakeError(ErrorCode::kUsage, absl::StrCat("unknown action \"", action_, "\""),
                       "tuner workers", "list, drain or undrain");
    }
    if (id_.empty()) {
      return MakeError(ErrorCode::kUsage, absl::StrCat(action_, " needs a worker's id"),
                       "tuner workers", "tuner workers lists them");
    }
    RETURN_IF_ERROR(farm.Drain(id_, action_ == "undrain", context.FindDrainRight(id_)));
    if (context.json()) {
      context.out()
          << Json({{"schema", 1}, {"worker", id_}, {"drained", action_ == "drain"}}).dump() << "\n";
    }
    return absl::OkStatus();
  }

 private:
  absl::Status List(Context& context, const FarmClient& farm) {
    ASSIGN_OR_RETURN(const std::vector<FarmWorker> workers, farm.ListWorkers());
    if (!context.json()) {
      context.out() << WorkersText(workers, context.table_columns());
      return absl::OkStatus();
    }
    Json json = {{"schema", 1}, {"workers", Json::array()}};
    for (const FarmWorker& worker : workers) {
      Json slots = Json::array();
      const std::optional<double> deviation = RowDeviation(workers, worker);
      for (const FarmSlot& slot : worker.slots) slots.push_back(SlotJson(slot));
      json["workers"].push_back(
          {{"id", worker.id},
           {"host", worker.host},
           {"state", worker.state},
           {"seen_s", absl::ToDoubleSeconds(worker.since_seen)},
           {"calibration",
            worker.calibration.has_value() ? CalibrationJson(*worker.calibration) : Json(nullptr)},
           {"doubted_by", worker.doubted_by},
           {"row_deviation", deviation.has_value() ? Json(*deviation) : Json(nullptr)},
           {"slots", slots}});
    }
    context.out() << json.dump() << "\n";
    return absl::OkStatus();
  }

  std::string action_, id_;
};

}  // namespace

std::unique_ptr<Command> MakeWorkersCommand() { return std::make_unique<WorkersCommand>(); }

}  // namespace burnish
